import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { csvText } from "../../src/usage/index.ts";
import { SavedBook } from "../../src/usage/saved-book.ts";
import { NOTHING } from "../../src/usage/sums.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { ClaudeWriter } from "../importers/claude-writer.ts";
import { tempDir } from "../support/temp.ts";

describe("strata usage", () => {
	test("begins with a summary: cost, tokens, hit rate, misses by cause; then table and dearest", async () => {
		const machine = await aMachine();
		const { status, out, err } = await machine.run();
		expect({ status, err }).toEqual({ status: 0, err: "" });
		const [cost, tokens, misses, cause] = out.split("\n");
		expect(cost).toMatch(
			/^\$0\.\d\d for 4 requests of claude-code, pi, 2026-07-0\d to 2026-07-0\d$/,
		);
		expect(tokens).toBe("Tokens: 49.2k new, 20k from caches (28 % of all prompts), 70 output");
		expect(misses).toMatch(/^Cache misses: 1 miss \$0\.12, \d+ % of the cost$/);
		expect(cause).toBe("  1 miss $0.12: the pause was longer than the cache's TTL");
		expect(out).toMatch(/^day +requests +cost +cached/m);
		expect(out).toContain("The dearest requests:");
		expect(out).toMatch(
			/^ {4}the pause .* \(\$0\.12 by the miss\); the provider says .*_not_found$/m,
		);
	});

	test("--json has totals, groups, rows, dearest requests and files", async () => {
		const machine = await aMachine();
		const { out } = await machine.run("--json", "--by", "agent");
		expect(JSON.parse(out)).toMatchObject({
			by: "agent",
			total: { requests: 4, unpriced: 0, tokens: { read: 20_000, output: 70 } },
			groups: [
				{ name: "claude-code", requests: 3, misses: { expired: { count: 1, tokens: 20_100 } } },
				{ name: "pi", requests: 1, misses: {} },
			],
			rows: expect.arrayContaining([expect.objectContaining({ project: "/w/app" })]),
			dearest: expect.arrayContaining([expect.objectContaining({ reason: "expired" })]),
			...{ files: 2, cached: 0, failed: [], skippedLines: 0 },
		});
		const again = JSON.parse((await machine.run("--json")).out);
		expect(again).toMatchObject({ files: 2, cached: 2, total: JSON.parse(out).total });
	});

	test("--csv has a row for each day, agent, project and model, and no formula", async () => {
		const machine = await aMachine();
		const { status, out } = await machine.run("--csv");
		expect(status).toBe(0);
		const [head, ...rows] = out.trimEnd().split("\n");
		expect(head).toMatch(/^day,agent,project,model,requests,dollars,unpriced,input,read,write/);
		const requests = rows.map((row) => Number(row.split(",")[4]));
		expect(requests.reduce((sum, count) => sum + count, 0)).toBe(4);
		expect(rows[0]).toMatch(
			/^2026-07-0\d,[\w-]+,\/w\/app,anthropic\/claude-[\w-]+,\d,\d+\.\d{6},0,/,
		);
		expect(await machine.run("--csv", "--json")).toMatchObject({ status: 2 });
		const [, hostile] = csvText([
			{ ...NOTHING, day: "2026-07-01", agent: "pi", project: '=HYPER("x",1)', model: "a/b" },
		]);
		expect(hostile).toBe(`2026-07-01,pi,"'=HYPER(""x"",1)",a/b,0,,0,0,0,0,0,0,`);
	});

	test("says what pi-strata saved in pi, from the book of its sessions", async () => {
		const machine = await aMachine();
		expect((await machine.run()).out).not.toContain("Saved by pi-strata");
		const book = await SavedBook.open(machine.env.PI_CODING_AGENT_DIR);
		if (typeof book === "string") throw new Error(book);
		const saved = { readCache: { tokens: 9, dollars: 2 }, pruning: { tokens: 5, dollars: -0.5 } };
		const row = {
			day: "2026-07-01",
			project: "/w",
			model: "m",
			requests: 3,
			dollars: 1,
			unpriced: 0,
		};
		book.add([{ ...row, saved }]);
		book.close();
		expect((await machine.run()).out).toContain(
			"Saved by pi-strata in 3 requests of pi, compared with pi alone: about $1.50 (read cache $2.00, pruning −$0.50)",
		);
		expect((await machine.run("--since", "2026-07-02")).out).not.toContain("Saved by pi-strata");
		expect(JSON.parse((await machine.run("--json")).out).saved).toMatchObject({ requests: 3 });
	});

	test("--agent and --since select, and folders replace the known places", async () => {
		const machine = await aMachine();
		const requests = async (...words: string[]) =>
			JSON.parse((await machine.run("--json", ...words)).out).total.requests;
		expect(await requests("--agent", "pi")).toBe(1);
		expect(await requests("--agent", "pi,claude-code")).toBe(4);
		expect(await requests("--since", "2026-07-02")).toBe(1);
		const folder = tempDir();
		expect(await requests(folder)).toBe(0);
		transcript().save("one.jsonl", folder);
		expect(await requests(folder)).toBe(3);
		expect(await requests(join(folder, "one.jsonl"), folder)).toBe(3);
	});

	test("a wrong option is explained, with status 2; a missing folder with status 1", async () => {
		const machine = await aMachine();
		expect(await machine.run("--by", "modle")).toMatchObject({
			status: 2,
			err: expect.stringContaining('did you mean "model"?'),
		});
		expect(await machine.run("--agent", "claude")).toMatchObject({ status: 2 });
		expect(await machine.run("--since", "soon")).toMatchObject({
			status: 2,
			err: expect.stringContaining("use a number of days (7d) or a date"),
		});
		expect(await machine.run("/no/such/folder")).toMatchObject({
			status: 1,
			err: expect.stringContaining("it does not exist"),
		});
	});

	test("unknown prices are stated, and never guessed", async () => {
		const machine = await aMachine();
		const folder = tempDir();
		const writer = new SessionWriter();
		writer.user("Hello");
		writer.assistant("one", { input: 5000, output: 9 }, { provider: "acme", model: "thinker-1" });
		writer.save("one.jsonl", folder);
		const { out } = await machine.run(folder);
		expect(out).toMatch(/^price unknown for 1 request of pi/);
		expect(out).toContain(
			"Prices unknown: 1 request of acme/thinker-1. They count in no sum of dollars.",
		);
		expect(out).not.toContain("$");
		transcript().save("two.jsonl", folder);
		expect((await machine.run(folder)).out).toMatch(/^\$0\.\d\d\+ for 4 requests/);
	});

	test("files that cannot be read are listed, and names in them cannot control the terminal", async () => {
		const machine = await aMachine();
		const folder = tempDir();
		for (let at = 0; at < 7; at++) writeFileSync(join(folder, `bad${at}.jsonl`), "{}\n");
		const writer = new ClaudeWriter();
		writer.common = { ...writer.common, cwd: "/w/\u001b[31mred" };
		writer.user("Hello");
		writer.text("m1", "one", { write: 9000 }, { cwd: "/w/\u001b[31mred" });
		writer.save("good.jsonl", folder);
		const { status, out } = await machine.run(folder, "--by", "project");
		expect(status).toBe(0);
		expect(out).toContain("7 files could not be read:");
		expect(out).toContain("… and 2 more (--json lists all)");
		expect(out).not.toContain("\u001b");
	});

	test("without any session it says where it looked", async () => {
		const home = tempDir();
		const { status, out } = await machineIn(home).run();
		expect(status).toBe(3);
		expect(out).toMatch(/^No session files in these folders:\n {2}/);
		expect(out.split("\n")).toContain(`  ${join(home, "claude", "projects")}`);
		expect((await machineIn(home).run("--json")).status).toBe(3);
		expect((await machineIn(home).run("--csv")).status).toBe(3);
	});

	test("without requests of the agent that is asked for, nothing was found", async () => {
		const machine = await aMachine();
		expect((await machine.run("--agent", "opencode")).status).toBe(3);
	});
});

describe("the cache of strata usage", () => {
	test("strata clean lists it and deletes it", async () => {
		const home = tempDir();
		const folder = tempDir();
		transcript().save("one.jsonl", folder);
		await machineIn(home).run(folder);
		const { run } = machineIn(home, "clean");
		expect((await run()).out).toMatch(/^usage +\d+ files?, /m);
		expect(await run("--delete", "usage", "--yes")).toMatchObject({ status: 0 });
		expect(existsSync(join(home, "cache", "pi-strata", "usage"))).toBe(false);
	});

	test("if it cannot be used, the command says so and works", async () => {
		const home = tempDir();
		mkdirSync(join(home, "cache", "pi-strata"), { recursive: true });
		writeFileSync(join(home, "cache", "pi-strata", "usage"), "a file");
		const folder = tempDir();
		transcript().save("one.jsonl", folder);
		const { status, out, err } = await machineIn(home).run(folder);
		expect(status).toBe(0);
		expect(out).toContain("for 3 requests of claude-code");
		expect(err).toContain("Not cached: ");
	});
});

describe("strata usage --statusline", () => {
	test("is one line about today", async () => {
		const machine = machineIn(tempDir());
		expect((await machine.run("--statusline")).out).toBe("no requests today");
		const folder = tempDir();
		const writer = transcript(new Date().setHours(0, 0, 0, 0) - 7_300_000);
		writer.atMs = new Date().setHours(0, 0, 0, 0);
		writer.user("Good morning");
		writer.text("today1", "one", { input: 0, read: 20_100, write: 900, output: 20 });
		writer.text("today2", "two", { input: 0, read: 0, write: 21_000, output: 20 });
		writer.save("one.jsonl", folder);
		for (let run = 0; run < 2; run++) {
			const { out } = await machine.run("--statusline", folder);
			expect(out).toBe("$0.15 today · 47 % cached · 1 miss $0.12");
		}
	});

	test("refuses what would change the line", async () => {
		for (const option of ["--json", "--since=7d", "--by=model"]) {
			const { status, err } = await machineIn(tempDir()).run("--statusline", option);
			expect(status).toBe(2);
			expect(err).toContain(`does not take ${option.split("=")[0]}`);
		}
	});

	test("says that a price is unknown", async () => {
		const folder = tempDir();
		const writer = new SessionWriter();
		writer.atMs = new Date().setHours(0, 0, 0, 0);
		writer.user("Hello");
		writer.assistant("one", { input: 5000 }, { provider: "acme", model: "thinker-1" });
		writer.save("one.jsonl", folder);
		const { out } = await machineIn(tempDir()).run("--statusline", folder);
		expect(out).toBe("5k tokens, price unknown, today · 0 % cached · no misses");
	});
});

/** A first request, a second that reads the cache, and one after a long pause. */
function transcript(atMs = new Date(2026, 6, 1, 12).getTime()): ClaudeWriter {
	const writer = new ClaudeWriter();
	writer.atMs = atMs;
	writer.user("Hello");
	writer.text("m1", "one", { input: 0, write: 20_000, output: 10 });
	writer.text("m2", "two", { input: 0, read: 20_000, write: 100, output: 20 });
	writer.atMs += 7_200_000;
	writer.user("Late");
	const more = { diagnostics: { cache_miss_reason: { type: "previous_message_not_found" } } };
	writer.text("m3", "three", { input: 0, write: 20_100, output: 30 }, { more });
	return writer;
}

/** A home with a session of each agent, in the places where the agents keep them. */
async function aMachine() {
	const home = tempDir();
	const [claude, pi] = [join(home, "claude", "projects", "app"), join(home, "pi", "sessions")];
	for (const folder of [claude, pi]) mkdirSync(folder, { recursive: true });
	transcript().save("one.jsonl", claude);
	const writer = new SessionWriter();
	writer.atMs = new Date(2026, 6, 3, 12).getTime();
	writer.user("Hello");
	writer.assistant("one", { cacheWrite: 9000, output: 10 });
	writer.save("two.jsonl", pi);
	return machineIn(home);
}

function machineIn(home: string, command = "usage") {
	const env = {
		CLAUDE_CONFIG_DIR: join(home, "claude"),
		PI_CODING_AGENT_DIR: join(home, "pi"),
		XDG_CACHE_HOME: join(home, "cache"),
	};
	const run = async (...argv: string[]) => {
		const [out, err]: [string[], string[]] = [[], []];
		const status = await main([command, ...argv], {
			...{ cwd: home, env, write: () => {} },
			print: (line) => out.push(line),
			printError: (line) => err.push(line),
		});
		return { status, out: out.join("\n"), err: err.join("\n") };
	};
	return { run, env };
}
