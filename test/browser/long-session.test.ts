/** A session of a thousand messages in every view: the same totals, few elements, nothing that jumps, light and dark. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { DEMO_MODEL } from "../../src/core/demo-model.ts";
import { dollars } from "../../src/dashboard/parts/figures.ts";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { type Said, sessionLines } from "./session-lines.ts";
import { eventually, hasFocus, promptBox, useStrata } from "./strata-server.ts";
import { passFrames } from "./watch-frames.ts";

const TURNS = 200;
const FILES = 5;
const TOKENS = { input: 10, output: 60, cacheRead: 30_000, cacheWrite: 400 };
/** What the demo's model takes for one request. */
const PRICE = (Object.keys(TOKENS) as (keyof typeof TOKENS)[]).reduce(
	(sum, kind) => sum + (TOKENS[kind] * DEMO_MODEL.cost[kind]) / 1e6,
	0,
);
const REQUESTS = TURNS * 2;
/** The views of a session by their tabs, each with a sign that it is drawn. */
const VIEWS = {
	Context: "Pieces of the context",
	Cost: "Turns",
	Changes: `${FILES} files changed`,
	Code: "Index",
	Conversation: "Messages",
} as const;

describe.skipIf(browserPath === undefined)("a session of a thousand messages", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	/** `words`: its first message. */
	async function open(words = "a thousand messages") {
		const first = await strata.openNew();
		// In a sample project of the demo, so that its model and its folder are there.
		const cwd = (await first.page.locator(".session-folder").textContent()) ?? "";
		await first.page.close();
		const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: PRICE };
		const totalTokens = Object.values(TOKENS).reduce((sum, tokens) => sum + tokens);
		const usage = { ...TOKENS, totalTokens, cost };
		strata.writeSession(words, sessionLines(messages(words), { usage }), cwd);
		const tab = await strata.openStored(words);
		await tab.page.getByText(`Done ${TURNS - 1}.`).waitFor();
		return { ...tab, file: join(strata.server.agentDir, `sessions/--sample--/${words}.jsonl`) };
	}

	const tabOf = (page: Page, name: string) =>
		page
			.getByRole("navigation", { name: "Session views" })
			.getByRole("link", { name, exact: true });

	async function show(page: Page, name: keyof typeof VIEWS): Promise<void> {
		await tabOf(page, name).click();
		await page.getByRole("region", { name: VIEWS[name], exact: true }).first().waitFor();
		await passFrames(page);
	}

	test("costs the same in the header, in every view, for pi's command and for a replay", async () => {
		const { page, file, faults } = await open();
		const total = dollars(PRICE * REQUESTS);
		await eventually(() => page.locator(".session-figures").textContent()).toContain(total);
		await eventually(() => page.locator(".bill").last().textContent()).toContain(
			`2 requests, ${REQUESTS - 1}–${REQUESTS}`,
		);
		expect(await page.locator(".bill").last().textContent()).toContain(dollars(PRICE * 2));
		const head = (await page.locator(".session-figures").textContent()) ?? "";
		const [, tokens = "?"] = /^(\S+) tokens/.exec(head) ?? [];
		await show(page, "Context");
		const inUse = page.locator(".figure", { hasText: "In use" });
		await eventually(() => inUse.textContent()).toMatch(new RegExp(`In use(≈ )?${tokens}`));
		await show(page, "Cost");
		const figure = page.locator(".figure", { hasText: "Total" }).first();
		await eventually(() => figure.textContent()).toContain(`${total}${REQUESTS} requests`);
		await show(page, "Conversation");
		await promptBox(page).fill("/strata cost ");
		await page.keyboard.press("Enter");
		await page.getByText(`${total} for ${REQUESTS} requests`).waitFor();

		const printed: string[] = [];
		const print = (line: string) => void printed.push(line);
		const terminal = { cwd: strata.server.folder, env: {}, print, printError: print, write: print };
		expect(await main(["replay", file, "--json"], terminal), printed.join("\n")).toBe(0);
		const { requests, policies } = JSON.parse(printed.join("\n"));
		const billed = policies.find(({ name }: { name: string }) => name === "billed");
		expect(requests).toBe(REQUESTS);
		expect(dollars(billed.dollars)).toBe(
			dollars(PRICE * REQUESTS - (TOKENS.output * DEMO_MODEL.cost.output * REQUESTS) / 1e6),
		);
		expect(faults).toEqual([]);
	});

	test.each([
		{ width: 1280, height: 800, colorScheme: "light" },
		{ width: 360, height: 700, colorScheme: "dark" },
	] as const)(
		"in $colorScheme, $width px wide: few elements, accessible, and nothing jumps",
		async ({ colorScheme, ...viewport }) => {
			const { page, faults } = await open();
			await page.setViewportSize(viewport);
			await page.emulateMedia({ colorScheme });
			// The window's own change of size moves everything once.
			await passFrames(page);
			const names = Object.keys(VIEWS) as (keyof typeof VIEWS)[];
			await watchShifts(page);
			const elements: Record<string, number> = {};
			for (const name of names) {
				await show(page, name);
				elements[name] = await page.locator("main *").count();
				await expectAccessible(page);
			}
			for (const name of names) expect(elements[name], name).toBeLessThan(4_000);

			// Shown for the second time, the answers are there already.
			for (const name of names) await show(page, name);
			const shifts = await page.evaluate(
				() => (globalThis as unknown as { shifts: string[] }).shifts,
			);
			expect(shifts).toEqual([]);
			expect(faults).toEqual([]);
		},
	);

	test("its pieces are pinned, dropped, restored and shown; the box has history and files; pi's commands work", async () => {
		// pi keeps more than this session has, and would find nothing to compact.
		const settings = JSON.stringify({ compaction: { keepRecentTokens: 2_000 } });
		writeFileSync(join(strata.server.agentDir, "settings.json"), settings);
		const { page, faults } = await open("a thousand more");
		await eventually(() => hasFocus(promptBox(page))).toBe(true);
		const shown = () => promptBox(page).inputValue();
		await page.keyboard.press("ArrowUp");
		await eventually(shown).toBe(`thanks ${TURNS - 1}`);
		await page.keyboard.press("ArrowUp");
		await eventually(shown).toBe(`step ${TURNS - 1}`);
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await eventually(shown).toBe("");
		await page.keyboard.type("look at @disc");
		const files = page.getByRole("listbox", { name: "Files" });
		await files
			.getByRole("option", { name: /discount\.ts/ })
			.first()
			.waitFor();
		await page.keyboard.press("Enter");
		await eventually(shown).toBe("look at @src/discount.ts ");
		await promptBox(page).fill("/name a long one");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "a long one" }).waitFor();

		await show(page, "Context");
		const dialog = page.getByRole("dialog");
		const pieces = page.getByRole("region", { name: VIEWS.Context, exact: true });
		await page.getByRole("button", { name: "Largest first" }).click();
		const piece = pieces.getByRole("button", { name: 'read(path="src/part-3.ts")' }).first();
		const row = pieces.getByRole("row").filter({ has: page.getByText(/pinned|from the next/) });
		const act = async (name: string) => {
			await piece.click();
			await dialog.getByRole("button", { name, exact: true }).click();
			await dialog.waitFor({ state: "detached" });
		};
		await act("Pin");
		await row.getByText("pinned").waitFor();
		await act("Unpin");
		await eventually(() => row.count()).toBe(0);
		await act("Drop");
		await row.getByText("a stub from the next request on").waitFor();
		await act("Keep it");
		await row.getByText("pinned").waitFor();
		await piece.click();
		await dialog.getByRole("link", { name: "Show in the conversation" }).click();
		const jumped = page.locator(".list-row:has(> .found-mark.is-current)");
		await jumped.getByText("src/part-3.ts").first().waitFor();
		await eventually(() => hasFocus(promptBox(page))).toBe(true);

		await page.keyboard.type("/compact");
		await page.keyboard.press("Enter");
		await page.getByText(/^Compacted from .* tokens/).waitFor();
		expect(faults).toEqual([]);
	});
});

/** Records what moves by itself from now on. */
function watchShifts(page: Page): Promise<void> {
	return page.evaluate(() => {
		const shifts: string[] = [];
		Object.assign(globalThis, { shifts });
		interface Shift extends PerformanceEntry {
			readonly value: number;
			readonly sources: readonly { readonly node: Node | null }[];
		}
		new PerformanceObserver((list) => {
			for (const { value, sources } of list.getEntries() as Shift[]) {
				const moved = sources.map(({ node }) => node?.textContent?.slice(0, 40));
				shifts.push(`${value.toFixed(4)} ${location.hash} ${moved.join(" | ")}`);
			}
		}).observe({ type: "layout-shift" });
	});
}

/** Prompts, reads, edits of a few files, and answers: five messages a turn. */
function messages(words: string): Said[] {
	return Array.from({ length: TURNS }, (_, at): Said[] => {
		const path = `src/part-${at % FILES}.ts`;
		const patch = `--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-const a = ${at};\n+const b = ${at};\n four\n`;
		const isEdit = at % 2 === 1;
		return [
			{ role: "user", text: at === 0 ? words : `step ${at}` },
			{ role: "assistant", text: "", call: { name: isEdit ? "edit" : "read", path } },
			isEdit
				? { role: "toolResult", text: "Done.", details: { diff: "", patch } }
				: { role: "toolResult", text: "const a = 1;\nconst b = 2;\n".repeat(at % 30) },
			{ role: "assistant", text: `Done ${at}.\n\n\`\`\`ts\nconst x = ${at};\n\`\`\`\n` },
			{ role: "user", text: `thanks ${at}` },
		];
	}).flat();
}
