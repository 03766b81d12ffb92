/** The read cache as a guest of pi: settings, commands, other extensions, other callers. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { estimateTokens } from "../../src/core/tokens.ts";
import { sdk } from "../support/pi-sdk.ts";
import { BIRTH_OFF, type PiHarness } from "../support/pi-session.ts";
import {
	extension,
	nextId,
	numbered,
	ownAnswer,
	type Range,
	readingOf,
	reportTexts,
	sha256,
	startReads,
	storedObjects,
	storeFolder,
} from "../support/read-session.ts";
import { tempDir } from "../support/temp.ts";

const V1 = numbered(60);
const V2 = V1.replace("line 7\n", "line seven\n");
const UNCHANGED = "[readcache: unchanged, 61 lines]";

async function start(options: Parameters<typeof startReads>[0] = {}) {
	const { pi, read } = await startReads(options);
	pi.write("a.txt", V1);
	return { pi, read };
}

/** Runs a command and returns its report. */
async function ask(pi: PiHarness, line: string): Promise<string> {
	const before = reportTexts(pi).length;
	await pi.command(line);
	const [text, ...more] = reportTexts(pi).slice(before);
	expect(more).toEqual([]);
	return text ?? "";
}

describe("another extension that owns `read`", () => {
	const owner = extension("owner", (api) => {
		const own = sdk.createReadToolDefinition(process.cwd());
		api.registerTool({
			...own,
			execute: async () => ({ content: [{ type: "text", text: "owned" }], details: undefined }),
		});
	});

	test("and was loaded first keeps it: we step back and say so", async () => {
		const { pi, read } = await start({ before: [owner] });
		expect(pi.errors.splice(0)).toMatchObject([
			{ event: "load", error: expect.stringContaining('Tool "read" conflicts') },
		]);
		expect(await read("a.txt")).toMatchObject({ text: "owned", meta: undefined });
		expect(await read("a.txt")).toMatchObject({ text: "owned", meta: undefined });
		expect(await ask(pi, "/strata")).toMatch(
			/^off {2}read cache {2}another extension owns the read tool: .*owner/m,
		);
		expect(await ask(pi, "/readcache-status")).toContain("in view: no file");
		expect(await ask(pi, "/readcache-refresh a.txt")).toContain("a.txt");
		expect(existsSync(storeFolder(pi))).toBe(false);
	});

	test("and was loaded after us gets nothing", { tags: "slow" }, async () => {
		const { pi, read } = await start({ after: [owner] });
		expect(pi.errors.splice(0)).toHaveLength(1);
		await read("a.txt");
		expect((await read("a.txt")).text).toBe(UNCHANGED);
		expect(await ask(pi, "/strata")).toMatch(/^on {3}read cache/m);
	});
});

describe("the setting readcache.mode", () => {
	test("off leaves every read to pi", { tags: "slow" }, async () => {
		const { pi, read } = await start({ agentDir: tempDir(), settings: { mode: "off" } });
		for (const range of [{}, {}, { offset: 5, limit: 5 }]) {
			const own = await ownAnswer(pi, "a.txt", range);
			expect(await read("a.txt", range)).toMatchObject({ text: own.text, meta: undefined });
		}
		expect(await read("a.txt:5-9")).toMatchObject({ isError: true, meta: undefined });
		expect(await ask(pi, "/strata")).toContain("off  read cache  readcache.mode is off");
		expect(await ask(pi, "/readcache-status")).toMatch(/^read cache: off, about 0 tokens saved/);
		expect(existsSync(storeFolder(pi))).toBe(false);
	});

	test("shadow serves pi's bytes and counts what would have been saved, and whether rightly", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start({ agentDir: tempDir(), settings: { mode: "shadow" } });
		pi.write("long.txt", numbered(3000));
		const steps: [string, Range, string?][] = [
			["a.txt", {}],
			["a.txt", {}],
			["a.txt", { offset: 10, limit: 5 }],
			["a.txt", {}, V2],
			["a.txt", {}],
			["long.txt", {}],
			["long.txt", {}],
			["long.txt", { offset: 2001 }],
			["long.txt", {}],
		];
		for (const [path, range, content] of steps) {
			if (content) pi.write(path, content);
			const own = await ownAnswer(pi, path, range);
			const { text, isError, details } = await read(path, range);
			expect({ text, isError }).toEqual({ text: own.text, isError: false });
			expect(details).toMatchObject({ ...own.details, readcache: { mode: "full" } });
		}
		expect(await ask(pi, "/strata")).toMatch(/^on {3}read cache {2}shadow: /m);
		const status = await ask(pi, "/readcache-status");
		expect(status).toMatch(/^read cache: shadow, about 0 tokens saved/);
		expect(status).toContain("answers: full 9, unchanged 0, unchanged_range 0, diff 0");
		expect(status).toMatch(
			/^shadow: would have served unchanged 3, unchanged_range 2, diff 1 and saved about [1-9]\d* tokens; answers that would have been wrong: 0$/m,
		);
	});

	test("with a wrong value is on, with a warning", async () => {
		const { pi, read } = await start({ agentDir: tempDir(), settings: { mode: "maybe" } });
		await read("a.txt");
		expect((await read("a.txt")).text).toBe(UNCHANGED);
		expect(await ask(pi, "/strata")).toMatch(/^warning: .*\/strata\.json: .*mode/m);
	});
});

describe("other settings", () => {
	test("exclude patterns of the user and the project keep files out", async () => {
		const agentDir = tempDir();
		const { pi, read } = await start({ agentDir, settings: { exclude: ["*.secret"] } });
		pi.write(".pi/strata.json", JSON.stringify({ readcache: { exclude: ["private/**"] } }));
		await pi.newSession(); // the project's file is read at the start of a session
		pi.write("x.secret", V1);
		pi.write("private/deep/b.txt", V1);
		for (const path of ["x.secret", "private/deep/b.txt"]) {
			for (let time = 1; time <= 2; time++) {
				expect(await read(path)).toMatchObject({ text: V1, meta: undefined });
			}
			expect(await ask(pi, `/readcache-refresh ${path}`)).toContain("is not cached (excluded)");
		}
		expect(await ask(pi, "/readcache-status")).toContain("4  the file is on the exclude list");
		expect(storedObjects(storeFolder(pi)).size).toBe(0);
	});

	test("storeDir is where versions go", async () => {
		const folder = join(tempDir(), "versions");
		const { pi, read } = await start({ agentDir: tempDir(), settings: { storeDir: folder } });
		await read("a.txt");
		await ask(pi, "/readcache-status");
		expect([...storedObjects(folder).keys()]).toEqual([`sha256-${sha256(V1)}.txt`]);
		expect(existsSync(join(pi.cwd, ".pi"))).toBe(false);
		pi.write("a.txt", V2);
		expect((await read("a.txt")).meta?.mode).toBe("diff");
	});

	test("without storeDir versions go to the git root, for the user alone and ignored by git", async () => {
		const root = tempDir();
		mkdirSync(join(root, ".git"));
		mkdirSync(join(root, "deep", "er"), { recursive: true });
		const { pi, read } = await start({ cwd: join(root, "deep", "er") });
		await read("a.txt");
		await ask(pi, "/readcache-status");
		const folder = join(root, ".pi", "readcache");
		const [name = ""] = storedObjects(folder).keys();
		expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("*\n");
		expect(existsSync(storeFolder(pi))).toBe(false);
		if (process.platform !== "win32") {
			expect(statSync(folder).mode & 0o777).toBe(0o700);
			expect(statSync(join(folder, "objects", name)).mode & 0o777).toBe(0o600);
		}
	});

	test("limits of diffs are obeyed", { tags: "slow" }, async () => {
		for (const settings of [{ maxDiffLines: 59 }, { maxDiffBytes: 100 }, { maxDiffRatio: 0 }]) {
			const { pi, read } = await start({ agentDir: tempDir(), settings });
			await read("a.txt");
			pi.write("a.txt", V2);
			expect(await read("a.txt")).toMatchObject({ text: V2, meta: { mode: "full_fallback" } });
		}
		const { pi, read } = await start({ agentDir: tempDir(), settings: { maxDiffChain: 1 } });
		for (const text of [V1, V2, V1]) {
			pi.write("a.txt", text);
			await read("a.txt");
		}
		const modes = pi.toolResults().map(({ details }) => details as { readcache: { mode: string } });
		expect(modes.map(({ readcache }) => readcache.mode)).toEqual(["full", "diff", "full_fallback"]);

		const small = await start({ agentDir: tempDir(), settings: { maxFileBytes: 100 } });
		for (let time = 1; time <= 2; time++) {
			expect(await small.read("a.txt")).toMatchObject({ text: V1, meta: undefined });
		}
	});
});

describe("/readcache-status", () => {
	test("before any read has nothing to tell", async () => {
		const { pi } = await start();
		expect(await ask(pi, "/readcache-status")).toBe(
			[
				"read cache: on, about 0 tokens saved in the current context",
				"answers: full 0, unchanged 0, unchanged_range 0, diff 0, full_fallback 0",
				"store: 0 file versions, 0.0 KB",
				"in view: no file",
			].join("\n"),
		);
	});

	test("tells answers, savings, the store, the reasons and what is in view", async () => {
		const { pi, read } = await start();
		pi.write("part.txt", V1);
		await read("a.txt");
		await read("a.txt");
		await read("part.txt", { offset: 10, limit: 40 });
		const part = await read("part.txt", { offset: 11, limit: 30 });
		await read("missing.txt");
		pi.write("a.txt", V2);
		const diff = await read("a.txt");
		const bytes = (text = "") => Buffer.byteLength(text);
		const partText = V1.split("\n").slice(10, 40).join("\n");
		const plain = bytes(V1) + bytes(partText) + bytes(V2);
		const saved = plain - bytes(UNCHANGED) - bytes(part.text) - bytes(diff.text);
		expect(await ask(pi, "/readcache-status")).toBe(
			[
				`read cache: on, about ${estimateTokens(saved)} tokens saved in the current context`,
				"answers: full 2, unchanged 1, unchanged_range 1, diff 1, full_fallback 0",
				`store: 2 file versions, ${((bytes(V1) + bytes(V2)) / 1024).toFixed(1)} KB`,
				"pi's own answer was served because:",
				"      2  the file was not in view",
				"      1  no such file",
				"in view:",
				`  ${join(pi.cwd, "a.txt")}  all 61 lines`,
				`  ${join(pi.cwd, "part.txt")}  lines 10-49 of 61`,
			].join("\n"),
		);
	});

	test("speaks of the current context: not of what compaction removed", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await read("a.txt");
		await pi.compact();
		await pi.run("go on", ["ok"]);
		const status = await ask(pi, "/readcache-status");
		expect(status).toContain("about 0 tokens saved");
		expect(status).toContain("in view: no file");
	});

	test("names the reason when another extension changed an earlier text", async () => {
		const hook = extension("hook", (api) => {
			api.on("tool_result", () => ({ content: [{ type: "text" as const, text: "[cut]" }] }));
		});
		const { pi, read } = await start({ after: [hook] });
		await read("a.txt");
		await read("a.txt");
		expect(await ask(pi, "/readcache-status")).toContain(
			"1  another extension changed the earlier result",
		);
	});
});

describe("/readcache-refresh", () => {
	const data = (pi: PiHarness) =>
		pi.reports
			.filter(({ customType }) => customType === "pi-readcache")
			.map((report) => report.data as { pathKey: string; scopeKey: string });

	test.each([
		["a.txt", "a.txt", "full"],
		["  a.txt  ", "a.txt", "full"],
		["a.txt 10-20", "a.txt", "r:10:20"],
		["a.txt 10", "a.txt", "r:10:10"],
		["a.txt:10-20", "a.txt", "r:10:20"],
		["a.txt:10", "a.txt", "r:10:10"],
		["a.txt 50-99", "a.txt", "r:50:99"],
		["a.txt 1-61", "a.txt", "full"],
		["@a.txt", "a.txt", "full"],
		["my file.txt", "my file.txt", "full"],
		["my file.txt 3-4", "my file.txt", "r:3:4"],
		['"my file.txt" 3-4', "my file.txt", "r:3:4"],
		["'my file.txt' 3", "my file.txt", "r:3:3"],
		['"my file.txt"', "my file.txt", "full"],
		['"notes 2024"', "notes 2024", "full"],
		["nul.txt", "nul.txt", "full"],
	])("takes %j", async (args, name, scopeKey) => {
		const { pi } = await start();
		pi.write("my file.txt", V1);
		pi.write("notes 2024", V1);
		pi.write("nul.txt", "\0");
		const answer = await ask(pi, `/readcache-refresh ${args}`);
		expect(answer).toContain("returns the full text");
		expect(data(pi)).toMatchObject([{ pathKey: join(pi.cwd, name), scopeKey }]);
	});

	test.each([
		["", /usage: /],
		["   ", /usage: /],
		["missing.txt", /No such file: missing\.txt/],
		["missing.txt 1-2", /No such file: missing\.txt/],
		["a.txt 20-10", /Invalid line range/],
		["a.txt 0-3", /Invalid line range/],
		["a.txt:5-2", /Invalid line range/],
		["a.txt 62", /only 61 lines/],
		[".", /not cached \(not-a-file\)/],
		[".env", /not cached \(excluded\)/],
	])("refuses %j and leaves nothing in the session", async (args, message) => {
		const { pi, read } = await start();
		pi.write(".env", "X=1");
		await read("a.txt");
		expect(await ask(pi, `/readcache-refresh ${args}`)).toMatch(message);
		expect(data(pi)).toEqual([]);
		expect((await read("a.txt")).text).toBe(UNCHANGED);
	});

	test("of a range blocks that range alone, until it is read again", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await ask(pi, "/readcache-refresh a.txt 10-20");
		const outside = await read("a.txt", { offset: 21, limit: 10 });
		expect(outside.text).toBe("[readcache: unchanged in lines 21-30 of 61]");
		const own = await ownAnswer(pi, "a.txt", { offset: 15, limit: 1 });
		expect((await read("a.txt", { offset: 15, limit: 1 })).text).toBe(own.text);
		expect((await read("a.txt", { offset: 10, limit: 5 })).meta?.mode).toBe("full");
		expect((await read("a.txt")).text).toBe(V1);
		expect((await read("a.txt")).text).toBe(UNCHANGED);
	});
});

describe("the tool readcache_refresh", () => {
	const refresh = async (pi: PiHarness, args: Record<string, unknown>) => {
		const id = nextId();
		await pi.run("refresh", [{ tool: "readcache_refresh", args, id }, "done"]);
		return readingOf(pi, id);
	};

	test("makes the next read a full one, and says so", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		expect(await refresh(pi, { path: "a.txt" })).toMatchObject({
			text: "The next read of a.txt returns the full text.",
			isError: false,
		});
		expect((await read("a.txt")).text).toBe(V1);
		expect((await refresh(pi, { path: "a.txt", offset: 5, limit: 2 })).text).toBe(
			"The next read of a.txt lines 5-6 returns the full text.",
		);
		expect((await refresh(pi, { path: "a.txt", offset: 50 })).text).toContain("lines 50-61");
		expect((await read("a.txt", { offset: 55, limit: 2 })).meta?.mode).toBe("full");
	});

	test("refuses what names no lines of a file", async () => {
		const { pi } = await start();
		for (const args of [
			{ path: "missing.txt" },
			{ path: "." },
			{ path: "a.txt", offset: 0 },
			{ path: "a.txt", limit: -1 },
			{ path: "a.txt", offset: 1.5 },
			{ path: "a.txt", offset: 62 },
		]) {
			expect((await refresh(pi, args)).isError, JSON.stringify(args)).toBe(true);
		}
	});
});

describe("a caller that is not the model", () => {
	const execute = async (pi: PiHarness, id: string, args: { path: string } & Range) => {
		const definition = pi.session.getToolDefinition("read");
		const ctx = pi.session.extensionRunner.createContext();
		const result = await definition?.execute(id, args, undefined, undefined, ctx);
		return result as {
			content: { text: string }[];
			details?: { readcache?: { mode: string } };
			structuredContent?: unknown;
		};
	};

	test("but a script inside another tool gets the plain text, and leaves no trace", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		for (const id of ["x/1", "call_5/12", "a/b/3"]) {
			const { content, details } = await execute(pi, id, { path: "a.txt" });
			expect([content[0]?.text, details?.readcache]).toEqual([V1, undefined]);
		}
		expect((await execute(pi, "x/y", { path: "a.txt" })).content[0]?.text).toBe(UNCHANGED);
		expect((await read("a.txt")).text).toBe(UNCHANGED);
	});

	test("gets everything that pi's own answer has besides its text", async () => {
		const { pi } = await start();
		pi.write("long.txt", numbered(3000));
		for (const path of ["a.txt", "long.txt"]) {
			const own = await sdk
				.createReadToolDefinition(pi.cwd)
				.execute("own", { path }, undefined, undefined, { cwd: pi.cwd } as never);
			const { details, ...rest } = await execute(pi, nextId(), { path });
			const { details: ownDetails, ...ownRest } = own;
			expect(rest).toEqual(ownRest);
			expect(details).toMatchObject({ ...ownDetails, readcache: { mode: "full" } });
			const hasStructure = "structuredContent" in ownRest; // since pi 1.5
			expect("structuredContent" in rest).toBe(hasStructure);
			if (hasStructure) expect(rest.structuredContent).toBe(rest.content[0]?.text);
		}
	});

	test("is served from the session alone when no request was observed", async () => {
		const { pi, read } = await start({ persist: true });
		await read("a.txt");
		await pi.restart();
		const marker = await execute(pi, nextId(), { path: "a.txt" });
		expect(marker.content[0]?.text).toBe(UNCHANGED);
		pi.write("a.txt", V2);
		expect((await execute(pi, nextId(), { path: "a.txt" })).details?.readcache?.mode).toBe("diff");

		pi.editContext(pi.toolResults()[0]?.entryId ?? "", null);
		expect((await execute(pi, nextId(), { path: "a.txt" })).content[0]?.text).toBe(V2);
		await pi.newSession();
		expect((await execute(pi, nextId(), { path: "a.txt" })).content[0]?.text).toBe(V2);
	});
});

test("a second session_shutdown does nothing, and a read after it still works", async () => {
	const { pi, read } = await start();
	await read("a.txt");
	for (let time = 1; time <= 2; time++) {
		await pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
	}
	expect(pi.errors).toEqual([]);
	expect((await read("a.txt")).text).toBe(UNCHANGED);
	await pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
});

test("settings are read again when the session is replaced", async () => {
	const agentDir = tempDir();
	const { pi, read } = await start({ agentDir });
	await read("a.txt");
	const off = { ...BIRTH_OFF, readcache: { mode: "off" } };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(off));
	await pi.session.reload();
	expect(await read("a.txt")).toMatchObject({ text: V1, meta: undefined });
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(BIRTH_OFF));
	await pi.session.reload();
	expect((await read("a.txt")).text).toBe(V1); // the reads in between were not followed
	expect((await read("a.txt")).text).toBe(UNCHANGED);
});
