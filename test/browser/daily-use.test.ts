/** What people do all day: see what happened, find a number, act on the context. On the demo's session. */
import { globSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { DEMO_MODEL } from "../../src/core/demo-model.ts";
import { dollars } from "../../src/dashboard/parts/figures.ts";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { type Said, sessionLines } from "./session-lines.ts";
import { eventually, promptBox, useStrata } from "./strata-server.ts";

describe.skipIf(browserPath === undefined)("daily use", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	/** A session with both runs of the demo, which edit a file, read files again and prune results. */
	async function openDone() {
		const tab = await strata.openNew();
		const { page } = tab;
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await page.getByText("Done: orders of exactly").waitFor();
		await page.getByRole("button", { name: "Send the second prompt" }).click();
		await page.getByText("Every 37th order was slow").waitFor();
		await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
		return tab;
	}

	const view = (page: Page, name: string) =>
		page
			.getByRole("navigation", { name: "Session views" })
			.getByRole("link", { name, exact: true })
			.click();
	const toTop = (page: Page) =>
		page.locator(".conversation .list").evaluate((list) => list.scrollTo(0, 0));
	const folded = (page: Page, text: string | RegExp) =>
		page.locator(".fold-head", { hasText: text });

	/** The file of the session that was written last. */
	function newestSession(): string {
		const files = globSync(join(strata.server.agentDir, "sessions", "*", "*.jsonl"));
		return files.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0] ?? "";
	}

	/** What `strata replay` says that a session cost. */
	async function replayOf(file: string): Promise<{ requests: number; billed: number }> {
		const printed: string[] = [];
		const print = (line: string) => void printed.push(line);
		const terminal = { cwd: strata.server.folder, env: {}, print, printError: print, write: print };
		expect(await main(["replay", file, "--json"], terminal), printed.join("\n")).toBe(0);
		const { requests, policies } = JSON.parse(printed.join("\n"));
		const billed = policies.find(({ name }: { name: string }) => name === "billed");
		return { requests, billed: billed.dollars };
	}

	test("the folded line of a call says what it did", async () => {
		const { page, faults } = await openDone();
		await folded(page, /read logs\/day-6\.log · unchanged, 321 lines not sent/)
			.first()
			.waitFor();
		// The stubs are known from the entries, which are loaded after the run.
		await toTop(page);
		await folded(page, /edit src\/discount\.ts · \+1 −1/).waitFor();
		await folded(page, /read src\/discount\.ts · .*changed lines? sent, of 41/).waitFor();
		await folded(page, /read docs\/handbook\.pdf · pages? .* of .* · now a stub/).waitFor();
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("a call that is unfolded at the lower edge comes into view", async () => {
		const { page, faults } = await openDone();
		const last = folded(page, /read src\/discount\.ts · 41 lines/).last();
		await last.click();
		const row = page.locator(".list-row", { has: last });
		await row.locator(".fold-body").waitFor();
		const below = async () => {
			const [own, list] = await Promise.all([
				row.boundingBox(),
				page.locator(".conversation .list").boundingBox(),
			]);
			if (!own || !list) return undefined;
			const lower = own.y + own.height - list.y - list.height;
			return { above: list.y - own.y, isAllInView: lower <= 1 || own.y - list.y <= 1 };
		};
		await eventually(below).toMatchObject({ isAllInView: true });
		expect((await below())?.above).toBeLessThanOrEqual(1);
		expect(faults).toEqual([]);
	});

	test("an edit is an inline diff in colours, which can be copied", async () => {
		const { page, context, faults } = await openDone();
		await context.grantPermissions(["clipboard-read", "clipboard-write"]);
		await toTop(page);
		await folded(page, /edit src\/discount\.ts/).click();
		const diff = page.locator(".diff").first();
		await diff.locator(".diff-line.is-removed", { hasText: "total > DISCOUNT_FROM" }).waitFor();
		await diff.locator(".diff-line.is-added", { hasText: "total >= DISCOUNT_FROM" }).waitFor();
		await eventually(() => diff.locator(".syntax-keyword").allTextContents()).toContain("return");
		await page.getByRole("button", { name: "Copy the diff" }).click();
		await page.getByText("Copied", { exact: true }).waitFor();
		const copied = await page.evaluate(() => navigator.clipboard.readText());
		expect(copied).toContain("+\treturn total >= DISCOUNT_FROM;");
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("one diff shows all that the session changed", async () => {
		const { page, faults } = await openDone();
		await view(page, "Changes");
		await page.getByRole("heading", { name: "1 file changed" }).waitFor();
		await page.locator(".diff-line.is-added", { hasText: "total >= DISCOUNT_FROM" }).waitFor();
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("header, Conversation, Context, Cost, /strata cost and strata replay show the same totals, made up as they are", async () => {
		const { page, faults } = await openDone();
		// Each turn's bill is that of all its requests, and together they are the total.
		const bill = page.locator(".bill");
		const last = (await bill.last().textContent()) ?? "";
		expect(last).toMatch(/7 requests, 8–14.*made up/);
		await toTop(page);
		await eventually(() => bill.first().textContent()).toMatch(/7 requests, 1–7/);
		const first = (await bill.first().textContent()) ?? "";
		const sum = [first, last].reduce((all, text) => all + Number(/\$([\d.]+)/.exec(text)?.[1]), 0);
		const figures = page.locator(".session-figures");
		const shown = async () => Number(/\$([\d.]+)/.exec((await figures.textContent()) ?? "")?.[1]);
		await eventually(shown).toBeCloseTo(sum, 3);
		const head = (await figures.textContent()) ?? "";
		const [, tokens, share] = /^(\S+) tokens, (\d+ %)/.exec(head) ?? [];
		const [, total] = /(\$[\d.]+)/.exec(head) ?? [];
		expect(head).toContain("made up");

		await view(page, "Context");
		const inUse = page.locator(".figure", { hasText: "In use" });
		await eventually(() => inUse.textContent()).toContain(`${tokens}${share} of 56k tokens`);
		const byKind = page.getByRole("region", { name: "Window contents by kind" });
		await byKind.getByRole("rowheader", { name: "Free", exact: true }).waitFor();
		await byKind.getByRole("rowheader", { name: "Kept free by pi" }).waitFor();
		await page.getByText("pi compacts here").waitFor();
		const pieces = page.getByRole("region", { name: "Pieces of the context" });
		await pieces.getByRole("button", { name: "kota_search", exact: true }).waitFor();

		await view(page, "Cost");
		await page.getByRole("heading", { name: "What was saved" }).waitFor();
		const cost = page.locator(".figure", { hasText: "Total" }).first();
		await eventually(() => cost.textContent()).toContain(`${total}14 requests`);
		const soFar = page.getByRole("region", { name: "So far" });
		await soFar.getByText("made up").waitFor();
		await expectAccessible(page);

		// A command of pi and a replay count the same requests and the same cost.
		await page.getByRole("link", { name: "Replay under other policies" }).click();
		await page.getByText("14 requests", { exact: true }).waitFor();
		const billed = page.getByRole("row").filter({ hasText: "actual bill" });
		const replayed = (await billed.textContent()) ?? "";
		await page.goBack();
		await view(page, "Conversation");
		await promptBox(page).fill("/strata cost ");
		await page.keyboard.press("Enter");
		const printed = page.getByText(/14 requests, 16\d,\d{3} prompt tokens/);
		await printed.waitFor();
		const [, plain = ""] =
			/plain input tokens: ([\d,]+)/.exec((await printed.textContent()) ?? "") ?? [];
		const paid = (Number(plain.replaceAll(",", "")) * DEMO_MODEL.cost.input) / 1e6;
		expect(replayed).toContain(`100.0 %${dollars(paid)}`);
		const [, whole = ""] =
			/\$([\d.]+) for 14 requests/.exec((await printed.textContent()) ?? "") ?? [];
		expect(Math.abs(Number(whole) - sum)).toBeLessThan(0.005);
		const offline = await replayOf(newestSession());
		expect(offline.requests).toBe(14);
		expect(dollars(offline.billed)).toBe(dollars(paid));
		expect(faults).toEqual([]);
	});

	test("a session of a thousand messages whose folder is gone is read, with effects, bills and changes", async () => {
		const said = Array.from({ length: 250 }, (_, at): Said[] => [
			{ role: "user", text: at === 0 ? "a thousand messages" : `step ${at}` },
			{ role: "assistant", text: "", call: { name: "read", path: `src/part-${at}.ts` } },
			{ role: "toolResult", text: "const a = 1;\nconst b = 2;\n" },
			{ role: "assistant", text: `Done ${at}.` },
		]).flat();
		const gone = join(strata.server.folder, "gone");
		mkdirSync(gone);
		strata.writeSession("thousand", sessionLines(said), gone);
		rmSync(gone, { recursive: true });
		const { page, faults } = await strata.open();
		await page.getByRole("button", { name: "Open a stored session" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "a thousand messages" }).click();
		await page.getByText("Read-only.").waitFor();
		await page.getByText(/Opened read-only: .*folder/).waitFor();
		await page.getByText("Done 249.").waitFor();
		await folded(page, /read src\/part-249\.ts · 2 lines/).click();
		await eventually(() => page.locator(".syntax-keyword").count()).toBeGreaterThan(0);
		await page.getByText(/2 requests, 499–500/).waitFor();
		await expectAccessible(page);
		await toTop(page);
		await page.getByText("a thousand messages").first().waitFor();
		expect(await promptBox(page).count()).toBe(0);
		expect(faults).toEqual([]);
	});

	test("a piece leads to its message; results are pinned, dropped and restored; files join the working set", async () => {
		const { page, faults } = await openDone();
		await view(page, "Context");
		const pieces = page.getByRole("region", { name: "Pieces of the context" });
		const dialog = page.getByRole("dialog");
		const order = page.getByRole("button", { name: 'read(path="src/order.ts")' });
		const day = pieces.getByRole("button", { name: 'read(path="logs/day-3.log")' });

		// All 51 pieces are there: no button leads to the last one.
		expect(await page.getByRole("button", { name: /^Show more/ }).count()).toBe(0);
		await order.click();
		await dialog.getByRole("button", { name: "Pin", exact: true }).click();
		await page.getByText(/^Pinned .*: read\(path="src\/order\.ts"\)/).waitFor();
		await pieces.getByRole("row").filter({ has: order }).getByText("pinned").waitFor();

		await day.click();
		await dialog.getByRole("button", { name: "Drop" }).click();
		await page.getByText(/the next request has a stub in its place/).waitFor();
		await pieces.getByText("a stub from the next request on").waitFor();
		await day.click();
		await dialog.getByRole("button", { name: "Keep it" }).click();
		await page.getByText(/Restored .*: the next request has its full text again/).waitFor();
		await pieces.getByText("a stub from the next request on").waitFor({ state: "detached" });

		await order.click();
		await dialog.getByRole("button", { name: "Add to the working set" }).click();
		await page.getByText(/Added src\/order\.ts\. The working set has 1 file/).waitFor();

		await order.click();
		await expectAccessible(page);
		await dialog.getByRole("link", { name: "Show in the conversation" }).click();
		const row = page.locator(".list-row:has(> .found-mark.is-current)");
		await row.getByText("src/order.ts").first().waitFor();
		await promptBox(page).waitFor();
		expect(faults).toEqual([]);
	});
});
