import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { Book, trafficFolder } from "../../src/traffic/index.ts";
import { Recorder } from "../../src/traffic/recorder.ts";
import { tempDir } from "../support/temp.ts";
import { StandIn, says, step, TOOLS } from "../traffic/stand-in.ts";

async function run(agentDir: string, ...argv: string[]) {
	const out: string[] = [];
	const err: string[] = [];
	const status = await main(argv, {
		cwd: agentDir,
		env: { PI_CODING_AGENT_DIR: agentDir },
		print: (line) => out.push(line),
		write: (text) => out.push(text),
		printError: (line) => err.push(line),
	});
	return { status, out: out.join("\n"), err: err.join("\n") };
}

/** A folder with a book: a conversation with one miss, and one of two days ago. */
async function withBook() {
	const agentDir = tempDir();
	const folder = trafficFolder({ PI_CODING_AGENT_DIR: agentDir });
	const recorder = await Recorder.open({ folder, keepDays: 30, keepTexts: false });
	const provider = new StandIn();
	provider.nowMs = Date.now() - 2 * 86_400_000;
	const requestHeaders = { "x-claude-code-session-id": "old" };
	await recorder.add(provider.exchange({ messages: [says("old")] }, { requestHeaders }));
	provider.nowMs = Date.now() - 60_000;
	const messages = [says("question"), ...step("a", 4000, "/w/long.ts")];
	await recorder.add(provider.exchange({ messages: messages.slice(0, 1) }));
	await recorder.add(provider.exchange({ messages }));
	const tools = [...TOOLS, "Web"];
	await recorder.add(provider.exchange({ tools, messages: [...messages, ...step("b")] }));
	recorder.close();
	return agentDir;
}

describe("strata traffic", () => {
	test("without a book says that there is nothing, and writes nothing", async () => {
		const agentDir = tempDir();
		const { status, out } = await run(agentDir, "traffic");
		expect([status, out]).toEqual([3, "No request went through strata's proxy in this time."]);
		const json = await run(agentDir, "traffic", "--json");
		expect(json).toMatchObject({ status: 3, out: '{\n  "conversations": []\n}' });
		expect((await run(agentDir, "traffic", "5")).status).toBe(3);
	});

	test("lists conversations, the latest first, and those of a time", async () => {
		const agentDir = await withBook();
		const { status, out } = await run(agentDir, "traffic");
		const lines = out.split("\n");
		expect(status).toBe(0);
		expect(lines).toHaveLength(5);
		expect(lines[1]).toMatch(
			/^ 2 +claude-code +claude-opus-5 +3 .*the tools changed, first tool Web$/,
		);
		expect(lines[2]).toMatch(/^ 1 .* 2 d ago$/);
		expect(lines[4]).toMatch(/^\$0\.\d+, \d+ % from cache, 1 miss$/);
		const { conversations } = JSON.parse(
			(await run(agentDir, "traffic", "--json", "--since", "1d")).out,
		);
		expect(conversations).toMatchObject([
			{ id: 2, requests: 3, misses: 1, lastMiss: { cause: "tools" } },
		]);
	});

	test("shows each request of a conversation, and what fills its window", async () => {
		const agentDir = await withBook();
		const { out } = await run(agentDir, "traffic", "2");
		expect(out).toMatch(
			/^claude-code, claude-opus-5: 3 requests, \$0\.\d+, \d+ % from cache, 1 miss /,
		);
		expect(out).toMatch(/tokens paid again \(\$0\.\d+\): the tools changed, first tool Web$/m);
		expect(out).toMatch(/^ +\d+ % +[\d,]+ +results of Read$/m);
		expect(out).toMatch(/^ +by file:\n +\d+ % +[\d,]+ +\/w\/long\.ts$/m);
		expect(out).not.toContain("secret ");
		const report = JSON.parse((await run(agentDir, "traffic", "2", "--json")).out);
		expect(report.steps.map(({ step }: { step: string }) => step)).toEqual([
			"start",
			"next",
			"next",
		]);
		expect(report.window[0]).toMatchObject({ what: "results", tool: "Read", path: "/w/long.ts" });
	});

	test("refuses what it does not understand", async () => {
		const agentDir = tempDir();
		expect(await run(agentDir, "traffic", "x")).toMatchObject({ status: 2 });
		expect(await run(agentDir, "traffic", "--since", "soon")).toMatchObject({
			status: 2,
			err: expect.stringContaining("--since soon: give a time such as 12h or 7d"),
		});
		expect(await run(agentDir, "traffic", "9")).toMatchObject({
			status: 3,
			err: "strata traffic: there is no conversation 9; see strata traffic",
		});
	});

	test("does not read the book of a newer version", async () => {
		const agentDir = tempDir();
		const folder = trafficFolder({ PI_CODING_AGENT_DIR: agentDir });
		mkdirSync(folder, { recursive: true });
		const { DatabaseSync } = await import("node:sqlite");
		const database = new DatabaseSync(join(folder, "book.sqlite"));
		database.exec("PRAGMA user_version = 99");
		database.close();
		await expect(Book.openForReading(folder)).rejects.toThrow("written by a newer pi-strata");
		expect((await run(agentDir, "traffic")).status).toBe(1);
	});

	test("clean lists the book, and deletes it", async () => {
		const agentDir = await withBook();
		expect((await run(agentDir, "clean")).out).toMatch(/^traffic +\d+ files/m);
		await run(agentDir, "clean", "--delete", "traffic", "--yes");
		expect((await run(agentDir, "traffic")).out).toContain("No request");
	});
});
