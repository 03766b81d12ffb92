/** Cost by turn, day, project and model; what was saved; the server's history. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { dollarsAligned } from "../../src/dashboard/parts/figures.ts";
import { groupUsage, usageTotal } from "../../src/dashboard/views/usage/usage-rows.ts";
import { createClient } from "../../src/protocol/client.ts";
import type { Data } from "../../src/protocol/index.ts";
import { USAGE_COLUMNS } from "../../src/text/csv.ts";
import { dayOf, SavedBook } from "../../src/usage/saved-book.ts";
import { SESSION_ID } from "../dashboard/views/sample-answers.ts";
import type { ViewServer } from "../dashboard/views/view-server.ts";
import { writeAgentFiles } from "../importers/agent-files.ts";
import { browserPath, expectAccessible, openTab } from "../support/browser.ts";
import { atEnd } from "../support/temp.ts";
import { eventually, hasFocus, startStrata } from "./strata-server.ts";
import { cells, figures, useViews } from "./view-pages.ts";

/** What the fake server answers about some days. */
function usageOf({ answers }: ViewServer, days?: number): Data<"UsageReport"> {
	const answer = answers.get_usage as unknown as (sent: object) => Data<"UsageReport">;
	return answer({ ...(days !== undefined && { days }) });
}

async function downloaded(page: Page, click: () => Promise<void>) {
	const [file] = await Promise.all([page.waitForEvent("download"), click()]);
	const text = readFileSync(await file.path(), "utf8");
	return { name: file.suggestedFilename(), lines: text.trimEnd().split("\r\n") };
}

describe.skipIf(browserPath === undefined)("what it costs", () => {
	const pages = useViews();

	test("is shown by day, project, model and agent, with one total", async () => {
		const { page, server, faults } = await pages.open("usage");
		const { rows } = usageOf(server, 30);
		const total = usageTotal(rows);
		await eventually(() => figures(page)).toMatchObject({ "Cache misses": String(total.misses) });
		for (const by of ["day", "project", "model", "agent"] as const) {
			const name = `${by[0]?.toUpperCase()}${by.slice(1)}`;
			await page.getByRole("button", { name, exact: true }).click();
			const groups = groupUsage(rows, by);
			const format = dollarsAligned([...groups, total].map(({ dollars }) => dollars));
			const text = ({ dollars, unpriced }: (typeof groups)[number]) =>
				dollars === undefined ? "unknown" : `${format(dollars)}${unpriced > 0 ? "+" : ""}`;
			const shown = async () => (await cells(page, `Cost by ${by}`)).map(([, cost]) => cost);
			await eventually(shown, by).toEqual(groups.slice(0, 31).map(text));
			const foot = page
				.getByRole("region", { name: `Cost by ${by}` })
				.locator("tfoot td")
				.first();
			expect(await foot.textContent()).toBe(text(total));
		}
		await page.getByRole("button", { name: "7 days" }).click();
		const asked = () => server.sent.filter(({ type }) => type === "get_usage").at(-1);
		await eventually(asked).toMatchObject({ days: 7 });
		expect(faults).toEqual([]);
	});

	test("is saved as CSV, with the columns of strata usage --csv", async () => {
		const { page, server, faults } = await pages.open("usage");
		const { name, lines } = await downloaded(page, () =>
			page.getByRole("button", { name: "Download CSV" }).click(),
		);
		expect(name).toBe("strata-usage-30d.csv");
		expect(lines[0]).toBe(USAGE_COLUMNS.join(","));
		expect(lines).toHaveLength(usageOf(server, 30).rows.length + 1);
		expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d,pi,/);
		expect(faults).toEqual([]);
	});

	test("is reached and read by keyboard alone", async () => {
		const { page, faults } = await pages.open("sessions");
		await page.keyboard.press("Control+K");
		await page.keyboard.type("usage");
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: "Cost by day" }).waitFor();
		const model = page.getByRole("button", { name: "Model", exact: true });
		for (let at = 0; at < 60 && !(await hasFocus(model)); at++) await page.keyboard.press("Tab");
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: "Cost by model" }).waitFor();
		expect(await model.getAttribute("aria-pressed")).toBe("true");
		expect(faults).toEqual([]);
	});

	test("warns from 80 % of the daily budget on, in Usage and in Cost", async () => {
		const server = await pages.start();
		const answer = server.answers.get_saved as unknown as (sent: object) => Data<"Saved">;
		const spent = (dollars: number) => {
			const given = answer({ days: 30 });
			server.answers.get_saved = { ...given, today: { ...given.today, dollars } };
		};
		const expected: [number, string, boolean][] = [
			[1, "Budget: $1.00 of $5.00 spent today (20 %).", false],
			[4.2, "(84 %). The budget is nearly used up.", true],
			[5.5, "(110 %). The budget is used up; nothing is stopped.", true],
		];
		for (const [dollars, words, isWarning] of expected) {
			spent(dollars);
			for (const view of ["usage", "cost"] as const) {
				const { page, context } = await pages.open(view, { server });
				const line = page.locator("p", { hasText: "spent today" });
				await eventually(() => line.textContent(), view).toContain(words);
				expect(await page.locator(".notice", { hasText: "spent today" }).count()).toBe(
					isWarning ? 1 : 0,
				);
				await context.close();
			}
		}
	});

	test("by turn leads to the message, and is saved as CSV", async () => {
		const { page, server, faults } = await pages.open("cost");
		const { turns = [] } = server.answers.get_cost as Data<"Cost">;
		const format = dollarsAligned(turns.map(({ dollars }) => dollars));
		const last = turns.at(-1);
		const row = async () => (await cells(page, "Turns"))[0];
		await eventually(row).toEqual([
			...[String(last?.turn), last?.prompt, "31–36"],
			...[expect.stringMatching(/k$/), "97 %", "0", format(last?.dollars ?? 0), "$0.0100"],
		]);
		const saved = await cells(page, "Saved against pi alone");
		expect(saved.map(([name]) => name)).toEqual([
			"Read cache",
			"Shorter new results (birth)",
			"Pruning of old results",
		]);
		expect(saved[0]).toEqual([
			...["Read cache", "$0.310048.2k tokens", "$0.610048k tokens", "$24.401.9M tokens"],
		]);
		const turnsPart = page.getByRole("region", { name: "Cost by turn" });
		const { lines } = await downloaded(page, () =>
			turnsPart.getByRole("button", { name: "Download CSV" }).click(),
		);
		expect(lines).toHaveLength(turns.length + 1);
		await page.getByRole("link", { name: String(last?.prompt) }).click();
		await eventually(() => page.evaluate(() => location.hash)).toBe(
			`#/sessions/${SESSION_ID}/conversation/${last?.entryId}`,
		);
		expect(faults).toEqual([]);
	});

	test("on the real server is that of the session files and of the book", async () => {
		writeAgentFiles(String(process.env.HOME));
		const server = await startStrata(pages.folder, { economy: { dailyBudget: 2 } });
		atEnd(() => server.stop());
		const book = await SavedBook.open(server.agentDir);
		if (typeof book === "string") throw new Error(book);
		const day = dayOf(Date.now());
		const saved = { readCache: { tokens: 12_000, dollars: 0.75 } };
		const cost = { requests: 9, dollars: 1.9, unpriced: 0 };
		book.add([{ day, project: "/w", model: "a/b", ...cost, saved }]);
		book.close();
		const { page, faults } = await openTab(pages.browser, server.url);
		await page.getByText("Connected").waitFor();
		await page.evaluate(() => location.assign("#/usage"));
		await eventually(() => cells(page, "Saved against pi alone")).toEqual([
			["Read cache", "$0.750012k tokens", "$0.750012k tokens"],
		]);
		await page.getByText("Budget: $1.90 of $2.00 spent today (95 %).").waitFor();
		await page.getByRole("button", { name: "All", exact: true }).click();
		await page.getByRole("button", { name: "Agent", exact: true }).click();
		const agents = async () =>
			(await cells(page, "Cost by agent")).map(([agent]) => agent).toSorted();
		await eventually(agents).toEqual(["claude-code", "codex", "gemini-cli", "opencode"]);
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("the server's history is there after a restart, which counts from zero", async () => {
		const server = await startStrata(pages.folder);
		atEnd(() => server.stop());
		const client = createClient({ url: server.url });
		for (let at = 0; at < 40; at++) await client.request("list_sessions", {});
		await client.close();
		await server.stop();
		await server.start();
		const { page, faults } = await openTab(pages.browser, server.url);
		await page.getByText("Connected").waitFor();
		await page.evaluate(() => location.assign("#/server"));
		const history = page.getByRole("region", { name: "History", exact: true });
		const drawn = history.locator("figure", { has: page.locator("svg path, svg rect") });
		await eventually(() => drawn.count()).toBe(4);
		for (const period of ["Hour", "Day", "Week"]) {
			await history.getByRole("button", { name: period, exact: true }).click();
			await eventually(() => drawn.count()).toBe(4);
		}
		await history.getByRole("button", { name: "As a table" }).click();
		const rows = () => cells(page, "History of the server");
		const done = async () => (await rows()).reduce((sum, [, count]) => sum + Number(count), 0);
		await eventually(done).toBeGreaterThanOrEqual(40);
		expect((await rows()).some(([time]) => time?.endsWith(", start"))).toBe(true);
		const finished = page.locator(".counts", { hasText: "finished" });
		expect(Number(/(\d+)$/.exec((await finished.textContent()) ?? "")?.[1])).toBeLessThan(40);
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});
});
