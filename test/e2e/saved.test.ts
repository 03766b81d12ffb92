/** What pi says about money: in `/strata`, its footer, at the end of a run and in the book of all sessions. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import strata from "../../src/extension/index.ts";
import { createViewHandlers } from "../../src/server/sessions/view-handlers.ts";
import { money } from "../../src/text/figures.ts";
import { SavedBook } from "../../src/usage/saved-book.ts";
import { openDemo } from "../support/demo-session.ts";
import { type LoopbackScriptStep, startLoopbackAnthropic } from "../support/loopback-anthropic.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const COST = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };

async function start(settings: object = {}, folder = tempDir()) {
	const loop = await startLoopbackAnthropic({ cache: { minTokens: 64 } });
	atEnd(() => loop.close());
	writeFileSync(join(folder, "strata.json"), JSON.stringify({ economy: settings }));
	writeFileSync(join(folder, "a.txt"), "a line of text\n".repeat(400));
	const notices: string[] = [];
	const words: (string | undefined)[] = [];
	const session = await openLoopbackSession({
		loop,
		folder,
		model: { cost: COST },
		extensions: [{ name: "strata", factory: strata }],
		mode: "tui",
		uiContext: {
			notify: (message) => void notices.push(message),
			setStatus: (key, text) => void (key === "strata" && words.push(text)),
		},
	});
	return { folder, loop, session, notices, words };
}

const reads = (id: string): LoopbackScriptStep => ({
	content: [{ type: "tool_use", id, name: "read", input: { path: "a.txt" } }],
});

async function reported(session: AgentSession, command: string): Promise<string> {
	await session.prompt(command);
	const entry = session.sessionManager
		.getEntries()
		.findLast((found) => found.type === "custom" && found.customType === "strata-report");
	return (entry as unknown as { data: { text: string } }).data.text;
}

describe("a run that read a file twice", () => {
	test("ends with a line and a word, which the model never sees", async () => {
		const { loop, session, notices, words } = await start();
		loop.script([reads("t1"), reads("t2"), "Done.", "Yes."]);
		await session.prompt("read it twice");
		expect(words[0]).toBe("strata");
		expect(words.at(-1)).toMatch(/^strata [\d.]+k?, saved 1\.\dk$/);
		const [line] = notices.filter((notice) => notice.startsWith("strata: "));
		expect(line).toMatch(
			/^strata: this run \$0\.\d+, saved about \$0\.\d+; session \$0\.\d+, saved about \$0\.\d+$/,
		);
		await session.prompt("sure?");
		const sent = JSON.stringify(loop.requests.map(({ body }) => body));
		expect(sent).not.toContain("saved about");
		expect(sent).not.toContain("this run");
	});

	test("is what /strata begins with, for this session, today and in all", async () => {
		const first = await start();
		first.loop.script([reads("t1"), reads("t2"), "Done."]);
		await first.session.prompt("read it twice");
		const second = await start({}, first.folder);
		second.loop.script([reads("t1"), reads("t2"), "Done."]);
		await second.session.prompt("read it twice");
		const [head, , row] = (await reported(second.session, "/strata")).split("\n");
		const amounts = [...(head ?? "").matchAll(/\$(\d+\.\d+) saved/g)].map(([, one]) => Number(one));
		const [own = 0, today, all] = amounts;
		expect(own).toBeGreaterThan(0);
		expect(today).toBeCloseTo(2 * own, 2);
		expect(all).toBe(today);
		expect(row).toMatch(/^ {2}read cache +\$0\.\d+, 1\.\dk tokens +\$0\.\d+, 3k tokens/);
	});

	test("is in the book once, also if its session goes on", async () => {
		const { loop, session, folder } = await start();
		loop.script([reads("t1"), "Done.", "Yes."]);
		await session.prompt("read it");
		await session.prompt("sure?");
		const book = await SavedBook.open(folder);
		if (typeof book === "string") throw new Error(book);
		atEnd(() => book.close());
		const { requests, dollars } = book.sums();
		expect(requests).toBe(3);
		const report = await reported(session, "/strata cost");
		expect(report).toContain(`$${dollars.toFixed(3)} for 3 requests`);
		expect(report).toMatch(/by turn.*\n {2}1 {2}\$0\.\d+ {2}2 requests {2}read it\n {2}2 /);
	});

	test("leaves no line if the setting is off", async () => {
		const { loop, session, notices } = await start({ runLine: false });
		loop.script(["Hello."]);
		await session.prompt("hello");
		expect(notices).toEqual([]);
	});
});

test("a budget warns at 80 % and at 100 %, once each, and stops nothing", {
	tags: "slow",
}, async () => {
	const { loop, session, notices } = await start({ dailyBudget: 0.02, runLine: false });
	loop.script(Array.from({ length: 12 }, () => "word ".repeat(40)));
	for (let at = 0; at < 12; at++) await session.prompt("and now?");
	const warnings = notices.filter((notice) => notice.includes("Budget"));
	expect(warnings).toHaveLength(2);
	expect(warnings[1]).toMatch(/^pi-strata: Budget: \$0\.02\d of \$0\.020 spent today \(1\d\d %\)/);
	expect(loop.requests).toHaveLength(12);
	expect(await reported(session, "/strata")).toMatch(/^Budget: \$0\.\d+ of \$0\.020 spent today/m);
});

test("/strata cost, the server and strata replay count the same", { tags: "slow" }, async () => {
	const session = await openDemo("json");
	await session.prompt("Why do orders of 50.00 get no discount?");
	await session.prompt("Now look at the logs.");
	const report = await reported(session, "/strata cost");

	const { get_cost } = createViewHandlers(tempDir());
	const { totals } = get_cost({ session } as never);
	const file = join(tempDir(), "session.jsonl");
	const manager = session.sessionManager;
	const lines = [manager.getHeader(), ...manager.getEntries()].map((line) => JSON.stringify(line));
	writeFileSync(file, `${lines.join("\n")}\n`);
	const printed: string[] = [];
	const status = await main(["replay", file, "--json"], {
		cwd: tempDir(),
		env: {},
		print: (line) => void printed.push(line),
		write: () => {},
		printError: (line) => void printed.push(line),
	});
	expect(status, printed.join("\n")).toBe(0);
	const replayed = JSON.parse(printed.join("\n"));
	const billed = replayed.policies.find(({ name }: { name: string }) => name === "billed");

	const { requests, read, write, input, cost, outputDollars = 0 } = totals;
	const prompt = (read + write + input).toLocaleString("en-US");
	expect(report).toContain(`${requests} requests, ${prompt} prompt tokens`);
	const plain = Math.round(cost.tokens).toLocaleString("en-US");
	expect(report).toContain(`cost in plain input tokens: ${plain},`);
	const dollars = ((cost.dollars ?? 0) + outputDollars).toFixed(2);
	expect(report).toContain(`$${dollars} for ${requests} requests`);
	expect(replayed.requests).toBe(requests);
	expect(billed).toMatchObject({ read, write, input });
	expect(billed.cost).toBeCloseTo(cost.tokens, 6);
	expect(billed.dollars).toBeCloseTo(cost.dollars ?? 0, 9);

	const [, lost] =
		/pruning of old results +−(\$[\d.]+)/.exec(await reported(session, "/strata")) ?? [];
	expect(lost).toBe(money(-(totals.saved?.pruning?.dollars ?? 0)));
	const pruning = await reported(session, "/kota pruning");
	expect(pruning).toContain(
		`pruning has cost ${lost} more than it has saved so far (made-up prices)`,
	);
});
