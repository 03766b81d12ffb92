import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Check } from "typebox/value";
import { describe, expect, test } from "vitest";
import { main } from "../../../src/cli/main.ts";
import type { Data } from "../../../src/protocol/index.ts";
import { serverCommands } from "../../../src/protocol/server-commands.ts";
import type { Call } from "../../../src/server/engine/call.ts";
import { ServerUsage } from "../../../src/server/usage/server-usage.ts";
import { usageView } from "../../../src/server/usage/usage-view.ts";
import { dayOf, SavedBook, savedFolder } from "../../../src/usage/saved-book.ts";
import { writeAgentFiles } from "../../importers/agent-files.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

const { signal } = new AbortController();

/** A server's part in usage. `owner`: who owns the session files of pi; absent if nobody does. */
function setUp({ owner }: { owner?: string } = {}) {
	const home = tempDir();
	const agentDir = join(home, "agent");
	mkdirSync(agentDir);
	const env = { HOME: home, PI_CODING_AGENT_DIR: agentDir, XDG_CACHE_HOME: join(home, "cache") };
	const usage = new ServerUsage({
		...{ agentDir, cwd: home, env },
		isSoleOwner: (principal) => owner === undefined || owner === principal,
		storedFile: async (principal, path) =>
			existsSync(path) && (owner === undefined || owner === principal) ? { path } : undefined,
	});
	atEnd(() => usage.close());
	const { get_usage, get_saved } = usage.handlers;
	return {
		...{ home, agentDir, env },
		async usage(days?: number, principal = "ann"): Promise<Data<"UsageReport">> {
			const command = { type: "get_usage" as const, ...(days && { days }) };
			const { data } = await get_usage({ command, principal, signal } as Call<"get_usage">);
			if (!data || !Check(serverCommands.get_usage.data, data)) throw new Error("a wrong shape");
			return data;
		},
		async saved(days?: number, principal = "ann") {
			const command = { type: "get_saved" as const, ...(days && { days }) };
			const { data } = await get_saved({ command, principal, signal } as Call<"get_saved">);
			expect(Check(serverCommands.get_saved.data, data)).toBe(true);
			return data;
		},
	};
}

describe("usage over the protocol", { tags: "slow" }, () => {
	test("has the rows of strata usage, the latest days first", async () => {
		const { usage, home, agentDir, env } = setUp();
		writeAgentFiles(home, agentDir);
		const { rows, truncated, files, failed } = await usage();
		expect({ truncated, files, failed }).toEqual({ truncated: false, files: 6, failed: 0 });
		const out: string[] = [];
		const status = await main(["usage", "--json"], {
			...{ cwd: home, env, isTty: false, columns: 80 },
			print: (line: string) => void out.push(line),
			printError: (line: string) => void out.push(line),
		} as never);
		expect(status).toBe(0);
		const printed = JSON.parse(out.join("\n"));
		const total = (pick: (row: Data<"UsageRow">) => number) =>
			rows.reduce((sum, row) => sum + pick(row), 0);
		expect(rows).toHaveLength(printed.rows.length);
		expect(total(({ requests }) => requests)).toBe(printed.total.requests);
		expect(total(({ read }) => read)).toBe(printed.total.tokens.read);
		expect(total(({ dollars = 0 }) => dollars)).toBeCloseTo(printed.total.dollars, 9);
		const days = rows.map(({ day }) => day);
		expect(days).toEqual(days.toSorted().reverse());
		expect(new Set(rows.map(({ agent }) => agent)).size).toBe(5);
	});

	test("leaves out pi's sessions of another principal, and nothing of other agents", async () => {
		const { usage, home, agentDir } = setUp({ owner: "ann" });
		writeAgentFiles(home, agentDir);
		const agents = async (principal: string) =>
			new Set((await usage(undefined, principal)).rows.map(({ agent }) => agent));
		expect(await agents("ann")).toContain("pi");
		const bens = await agents("ben");
		expect(bens).not.toContain("pi");
		expect(bens).toContain("claude-code");
	});

	test("is empty without session files, and for days without requests", async () => {
		const { usage, home, agentDir } = setUp();
		const nothing = { rows: [], truncated: false, files: 0, failed: 0, unpricedModels: [] };
		expect(await usage()).toEqual(nothing);
		writeAgentFiles(home, agentDir);
		expect((await usage(1)).rows).toEqual([]);
	});
});

test("an answer that would be too long has whole days, the latest", () => {
	const row = (day: string, model: string) => ({
		...{ day, agent: "pi" as const, project: "/w", model, requests: 1, unpriced: 1 },
		...{ read: 0, write: 0, input: 1, output: 1, misses: 0 },
	});
	const rows = [row("2026-01-01", "a"), row("2026-01-02", "a"), row("2026-01-02", "b")];
	const all = { rows: [...rows, row("2026-01-03", "a")], unpricedModels: [], files: 1, failed: 0 };
	const sent = (max: number) => usageView(all, max).rows.map(({ day }) => day.slice(-1));
	expect(sent(4)).toEqual(["3", "2", "2", "1"]);
	expect(sent(3)).toEqual(["3", "2", "2"]);
	expect(sent(2)).toEqual(["3"]);
	expect(usageView(all, 3).truncated).toBe(true);
});

describe("savings over the protocol", () => {
	test("are those of the book: today, in all and by day, with the budget", async () => {
		const { saved, agentDir } = setUp();
		writeFileSync(join(agentDir, "strata.json"), '{"economy":{"dailyBudget":5}}');
		const book = await SavedBook.open(agentDir);
		if (typeof book === "string") throw new Error(book);
		const row = (day: string, dollars: number) => ({
			...{ day, project: "/secret", model: "a/b", requests: 1, dollars, unpriced: 0 },
			saved: { readCache: { tokens: 100, dollars: 0.5 } },
		});
		book.add([row("2020-01-01", 1), row(dayOf(Date.now()), 4)]);
		book.close();
		const answer = await saved();
		expect(answer).toMatchObject({
			today: { requests: 1, dollars: 4, saved: { readCache: { tokens: 100, dollars: 0.5 } } },
			all: { requests: 2, dollars: 5, saved: { readCache: { tokens: 200, dollars: 1 } } },
			days: [{ day: dayOf(Date.now()), dollars: 4 }],
			budget: 5,
		});
		expect(JSON.stringify(answer)).not.toContain("secret");
		expect((await saved(3660)).days.map(({ day }) => day)[0]).toBe("2020-01-01");
	});

	test("are not shown to a principal if another one has sessions", async () => {
		const { saved, agentDir } = setUp({ owner: "ann" });
		const book = await SavedBook.open(agentDir);
		if (typeof book === "string") throw new Error(book);
		const today = { day: dayOf(Date.now()), project: "/w", model: "a/b", requests: 1 };
		book.add([{ ...today, dollars: 4, unpriced: 0, saved: {} }]);
		book.close();
		expect(await saved(undefined, "ann")).toMatchObject({ all: { dollars: 4 } });
		const bens = await saved(undefined, "ben");
		expect(bens).toMatchObject({ today: { requests: 0 }, all: { requests: 0 }, days: [] });
		expect(bens.problem).toContain("other principals");
	});

	test("without a book there is nothing, and none is made", async () => {
		const { saved, agentDir } = setUp();
		const nothing = { requests: 0, dollars: 0, unpriced: 0, saved: {} };
		expect(await saved()).toEqual({ today: nothing, all: nothing, days: [] });
		expect(existsSync(savedFolder(agentDir))).toBe(false);
	});

	test("a book that cannot be used is named without its folder", async () => {
		const { saved, agentDir } = setUp();
		mkdirSync(savedFolder(agentDir), { recursive: true });
		writeFileSync(join(savedFolder(agentDir), "foreign"), "");
		const { problem, days } = await saved();
		expect(days).toEqual([]);
		expect(problem).toBeTruthy();
		expect(problem).not.toContain(agentDir);
	});
});
