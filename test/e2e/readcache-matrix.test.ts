/** The test matrix of the read cache's specification (§21), by number, in real pi sessions. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { createPagingSystem } from "../../src/paging/system.ts";
import { unifiedDiff } from "../../src/readcache/diff/unified.ts";
import { sdk } from "../support/pi-sdk.ts";
import { type PiHarness, startPi } from "../support/pi-session.ts";
import {
	type Expected,
	expectReading,
	nextId,
	numbered,
	ownAnswer,
	type Reading,
	readCall,
	readingOf,
	sha256,
	startReads,
	storedObjects,
	storeFolder,
} from "../support/read-session.ts";
import { tempDir } from "../support/temp.ts";

// Everything runs as it is; case 19 learns from it when a diff begins.
vi.mock("../../src/readcache/diff/unified.ts", { spy: true });

const V1 = numbered(60);
const V2 = V1.replace("line 7\n", "line seven\n");
const OTHER = numbered(60, "row");

/** A session in which `a.txt` is V1. */
async function start(options: Parameters<typeof startReads>[0] = {}) {
	const { pi, read } = await startReads(options);
	const path = pi.write("a.txt", V1);
	const expectA = (reading: Reading, expected: Omit<Expected, "pathKey">) =>
		expectReading(reading, { pathKey: path, ...expected });
	return { pi, read, path, expectA };
}

const unchanged = (lines: number) => `[readcache: unchanged, ${lines} lines]`;
const DIFF_V1_V2 = `[readcache: 1 lines changed of 61]
--- a/a.txt
+++ b/a.txt
@@ -4,7 +4,7 @@
 line 4
 line 5
 line 6
-line 7
+line seven
 line 8
 line 9
 line 10
`;

const isUnchanged = { mode: "unchanged", text: unchanged(61), file: V1, base: V1 } as const;
const isFirst = { mode: "full", text: V1, file: V1 } as const;
const isDiff = { mode: "diff", text: DIFF_V1_V2, file: V2, base: V1 } as const;

describe("core behavior", () => {
	test("1. first full read", async () => {
		const { pi, read, expectA } = await start();
		const reading = await read("a.txt");
		expectA(reading, isFirst);
		expect(reading.text).toBe((await ownAnswer(pi, "a.txt")).text);
	});

	test("2. unchanged full read marker", { tags: "slow" }, async () => {
		const { pi, read, expectA } = await start();
		const first = await read("a.txt");
		expectA(await read("a.txt"), isUnchanged);
		expect(pi.seenTextOf(first.toolCallId)).toBe(V1);
		expectA(await read("./a.txt"), isUnchanged);
	});

	test("3. changed full read diff", async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt");
		pi.write("a.txt", V2);
		expectA(await read("a.txt"), isDiff);
	});

	test("4. changed full read fallback when diff not useful", { tags: "slow" }, async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt");
		pi.write("a.txt", OTHER);
		expectA(await read("a.txt"), { mode: "full_fallback", text: OTHER, file: OTHER, base: V1 });
		expectA(await read("a.txt"), { ...isUnchanged, file: OTHER, base: OTHER });
	});
});

describe("range behavior", () => {
	const part = { offset: 10, limit: 5 };
	const range: [number, number] = [10, 14];
	const SLICE = "line 10\nline 11\nline 12\nline 13\nline 14";

	test("5. first range read full slice", async () => {
		const { pi, read, expectA } = await start();
		const text = `${SLICE}\n\n[47 more lines in file. Use offset=15 to continue.]`;
		expect((await ownAnswer(pi, "a.txt", part)).text).toBe(text);
		expectA(await read("a.txt", part), { mode: "full", text, file: V1, range });
	});

	test("6. unchanged same range marker", async () => {
		const { read, expectA } = await start();
		await read("a.txt", part);
		const text = "[readcache: unchanged in lines 10-14 of 61]";
		const expected = { mode: "unchanged_range", text, file: V1, base: V1, range } as const;
		expectA(await read("a.txt", part), expected);
		expectA(await read("a.txt:10-14"), expected);
	});

	test("7. file changed outside range -> unchanged_range marker", async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt", part);
		pi.write("a.txt", V2);
		const text = "[readcache: unchanged in lines 10-14; changes exist outside this range]";
		const expected = { mode: "unchanged_range", text, file: V2, base: V1, range } as const;
		expectA(await read("a.txt", part), expected);
	});

	test("8. file changed affecting range -> full range fallback", async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt", part);
		const file = V1.replace("line 12\n", "line twelve\n");
		pi.write("a.txt", file);
		const { text } = await ownAnswer(pi, "a.txt", part);
		expect(text).toContain("line twelve");
		expectA(await read("a.txt", part), { mode: "full_fallback", text, file, base: V1, range });
	});

	test("9. insertion before range causing shift -> treated as range changed", async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt", part);
		const file = `inserted\n${V1}`;
		pi.write("a.txt", file);
		const { text } = await ownAnswer(pi, "a.txt", part);
		expect(text).toMatch(/^line 9\n/);
		expectA(await read("a.txt", part), { mode: "full_fallback", text, file, base: V1, range });
	});

	test("10. malformed range rejected", async () => {
		const { pi, read } = await start();
		for (const path of ["a.txt:5-2", "a.txt:0-3", "a.txt:0"]) {
			const { isError, text, meta } = await read(path);
			expect({ isError, meta }).toEqual({ isError: true, meta: undefined });
			expect(text).toContain(`Invalid line range in "${path}"`);
		}
		for (const path of ["a.txt:foo", "a.txt:-3", "a.txt:1-2-3", "missing.txt:1-2"]) {
			const own = await ownAnswer(pi, path);
			expect(own.text).toMatch(/^ENOENT/);
			expect(await read(path)).toMatchObject({ isError: true, text: own.text, meta: undefined });
		}
	});
});

describe("tree/branch behavior", () => {
	test("11. read on branch A then `/tree` to branch B -> no stale base leakage", async () => {
		const { pi, read, expectA } = await start();
		await pi.run("start", ["ready"]);
		const fork = leafOf(pi);
		await read("a.txt");
		const branchA = leafOf(pi);

		await pi.navigate(fork);
		expectA(await read("a.txt"), isFirst);
		pi.write("a.txt", OTHER);
		await read("a.txt");

		await pi.navigate(branchA);
		pi.write("a.txt", V2);
		expectA(await read("a.txt"), isDiff);

		await pi.navigate(branchA, { summary: "the file became V2" });
		pi.write("a.txt", V1);
		expectA(await read("a.txt"), isUnchanged);
	});

	test("12. `/tree` to pre-compaction point -> replay uses historical state correctly", async () => {
		const { pi, read, expectA } = await start();
		const anchor = await read("a.txt");
		const before = leafOf(pi);
		pi.write("a.txt", OTHER);
		await pi.compact();
		expectA(await read("a.txt"), { mode: "full", text: OTHER, file: OTHER });

		await pi.navigate(before);
		pi.write("a.txt", V1);
		expectA(await read("a.txt"), isUnchanged);
		expect(pi.seenTextOf(anchor.toolCallId)).toBe(V1);
	});

	test("13. latest compaction on path -> replay starts at boundary logic", async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt");
		await pi.compact();
		const anchor = await read("a.txt");
		expectA(anchor, isFirst);
		expectA(await read("a.txt"), isUnchanged);

		await pi.compact(); // keeps as little as pi can: the marker's turn, without its anchor
		const again = await read("a.txt");
		expect(pi.seenTextOf(anchor.toolCallId)).toBeUndefined();
		expectA(again, isFirst);
	});

	test("13. (b) an anchor kept by firstKeptEntryId still counts, a kept marker without its anchor does not", async () => {
		const { pi, read, expectA } = await start();
		const dropped = await read("a.txt");
		await pi.run("middle", ["ok"]);
		const middle = pi.session.getUserMessagesForForking().at(-1)?.entryId ?? "";
		const marker = await read("a.txt");
		expectA(marker, isUnchanged);

		compactKeeping(pi, middle);
		const anchor = await read("a.txt");
		expectA(anchor, isFirst);
		expect(pi.seenTextOf(dropped.toolCallId)).toBeUndefined();
		expect(pi.seenTextOf(marker.toolCallId)).toBe(unchanged(61));

		compactKeeping(pi, pi.session.getUserMessagesForForking().at(-1)?.entryId ?? "");
		expectA(await read("a.txt"), isUnchanged);
		expect(pi.seenTextOf(marker.toolCallId)).toBeUndefined();
		expect(pi.seenTextOf(anchor.toolCallId)).toBe(V1);
	});

	test("14. `/fork` then read -> independent branch replay state", { tags: "slow" }, async () => {
		const { pi, read, expectA } = await start({ persist: true });
		await read("a.txt");
		const original = pi.session.sessionFile;
		await pi.fork(leafOf(pi));
		expect(pi.session.sessionFile).not.toBe(original);
		expectA(await read("a.txt"), isUnchanged);
		pi.write("a.txt", V2);
		expectA(await read("a.txt"), isDiff);

		await pi.resume(original);
		expectA(await read("a.txt"), isDiff);
		pi.write("a.txt", V1);
		await pi.fork(pi.session.getUserMessagesForForking()[0]?.entryId ?? "", "before");
		expectA(await read("a.txt"), isFirst);
	});

	test("15. session switch/resume -> correct replay with no sidecar dependence", async () => {
		const { pi, read, expectA } = await start({ persist: true });
		await read("a.txt");
		const first = pi.session.sessionFile;
		await pi.newSession();
		expectA(await read("a.txt"), isFirst);

		await pi.resume(first);
		expectA(await read("a.txt"), isUnchanged);
		rmSync(storeFolder(pi), { recursive: true });
		await pi.restart();
		expectA(await read("a.txt"), isUnchanged);
	});
});

describe("robustness", () => {
	test("16. missing base object hash -> fallback full, no crash", async () => {
		const { pi, read, expectA } = await start();
		await read("a.txt");
		await pi.command("/readcache-status"); // waits for the store
		expect(storedObjects(storeFolder(pi)).size).toBe(1);
		rmSync(join(storeFolder(pi), "objects"), { recursive: true });
		pi.write("a.txt", V2);
		expectA(await read("a.txt"), { mode: "full_fallback", text: V2, file: V2, base: V1 });
		expectA(await read("a.txt"), { ...isUnchanged, file: V2, base: V2 });
	});

	test("17. object write collision under concurrency -> no corruption", {
		tags: "slow",
	}, async () => {
		const cwd = tempDir();
		const sessions = await Promise.all([1, 2, 3].map(() => startReads({ cwd })));
		const file = numbered(1500);
		writeFileSync(join(cwd, "a.txt"), file);
		const folder = join(cwd, ".pi", "readcache");
		const children = [1, 2].map(() => storeInProcess(folder, join(cwd, "a.txt")));
		await Promise.all(sessions.map(({ read }) => read("a.txt")));
		expect(await Promise.all(children)).toEqual([0, 0]);
		await Promise.all(sessions.map(({ pi }) => pi.command("/readcache-status")));

		expect([...storedObjects(folder)]).toEqual([[`sha256-${sha256(file)}.txt`, file]]);
		const changed = file.replace("line 7\n", "line seven\n");
		writeFileSync(join(cwd, "a.txt"), changed);
		for (const { read } of sessions) {
			expect((await read("a.txt")).meta).toMatchObject({ mode: "diff", baseHash: sha256(file) });
		}
	});

	test("18. metadata missing/invalid in old entries -> ignored safely", {
		tags: "slow",
	}, async () => {
		const { pi, read, expectA } = await start({ persist: true });
		const { meta } = await read("a.txt");
		const sound = readFileSync(pi.session.sessionFile ?? "", "utf8");
		for (const readcache of [
			undefined,
			null,
			7,
			"v1",
			[],
			{ ...meta, v: 2 },
			{ ...meta, mode: "unknown" },
			{ ...meta, mode: "unchanged" }, // without a base
			{ ...meta, servedHash: "abc" },
			{ ...meta, servedHash: sha256(OTHER) },
			{ ...meta, pathKey: 5 },
			{ ...meta, scopeKey: "r:9:1" },
			{ ...meta, totalLines: -1 },
			{ ...meta, rangeStart: 1.5 },
			{ ...meta, rangeEnd: 1e9 },
			{ ...meta, bytes: "many" },
			{ ...meta, shown: [0, 99] },
			{ ...meta, shown: "all" },
		]) {
			const entries = sound
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line));
			const entry = entries.find(({ message }) => message?.role === "toolResult");
			entry.message.details = { readcache };
			const file = join(pi.agentDir, `${nextId()}.jsonl`);
			writeFileSync(file, entries.map((each) => `${JSON.stringify(each)}\n`).join(""));
			await pi.resume(file);
			expectA(await read("a.txt"), isFirst);
			expectA(await read("a.txt"), isUnchanged);
		}
	});

	test("19. signal abort during diff -> clean abort", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		const lines = Array.from({ length: 12_000 }, (_, index) => `line ${index}`);
		pi.write("big.txt", lines.join("\n"));
		for (let offset = 1; offset <= lines.length; offset += 2000) await read("big.txt", { offset });
		const changed = lines.map((line, index) => (index % 100 === 50 ? "changed" : line));
		pi.write("big.txt", changed.join("\n"));

		const diffEnded = abortInNextDiff(pi);
		const id = nextId();
		await pi.run("again", [readCall("big.txt", id)]);
		await diffEnded;
		const result = pi.toolResults().find(({ toolCallId }) => toolCallId === id);
		expect(result).toMatchObject({ isError: true, text: "Operation aborted" });
		expect(result?.details ?? {}).not.toHaveProperty("readcache");

		// An answer that never came is no view: the file is read afresh, and then known again.
		const own = await ownAnswer(pi, "big.txt");
		expect(await read("big.txt")).toMatchObject({ text: own.text, meta: { mode: "full" } });
		expect((await read("big.txt")).meta).toMatchObject({ mode: "unchanged_range" });
	});

	test("20. image/binary reads delegated to baseline", { tags: "slow" }, async () => {
		const { pi, read, expectA } = await start();
		const png =
			"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
		const files: [string, Buffer][] = [
			["dot.png", Buffer.from(png, "base64")],
			["image-without-ending", Buffer.from(png, "base64")],
			["nul.txt", Buffer.from("a\0b\n")],
			["latin1.txt", Buffer.from("caf\u00e9\n", "latin1")],
			["binary.bin", Buffer.from([0, 1, 2, 0xff, 0xfe, 10, 0x80])],
		];
		for (const [name, bytes] of files) {
			pi.write(name, bytes);
			const own = await ownAnswer(pi, name);
			for (let time = 1; time <= 2; time++) {
				const id = nextId();
				await pi.run("read", [readCall(name, id), "done"]);
				const stored = pi.lastContext().find((m) => m.role === "toolResult" && m.toolCallId === id);
				expect(stored).toMatchObject({ content: own.content, isError: false });
				expect(readingOf(pi, id).details).toEqual(own.details);
			}
		}
		expect(existsSync(storeFolder(pi))).toBe(false);

		await read("a.txt");
		pi.write("a.txt", Buffer.from("\0"));
		await read("a.txt");
		pi.write("a.txt", V1);
		expectA(await read("a.txt"), isFirst); // the model's newest view was the binary one
	});
});

describe("compatibility", () => {
	test("21. UI truncation indicators still work", async () => {
		const { pi, read } = await start();
		pi.write("lines.txt", numbered(3000));
		pi.write("bytes.txt", `${"x".repeat(99)}\n`.repeat(1000));
		for (const name of ["lines.txt", "bytes.txt"]) {
			const own = await ownAnswer(pi, name);
			const { text, details } = await read(name);
			expect(text).toBe(own.text);
			expect(details).toMatchObject({ ...own.details, readcache: { mode: "full" } });
			expect(details).toHaveProperty("truncation.truncated", true);
		}
	});

	test("22. output shape accepted by built-in renderer", { tags: "slow" }, async () => {
		const { pi, read } = await start({ mode: "tui" });
		pi.write("long.txt", numbered(3000));
		const readings = [await read("a.txt"), await read("a.txt"), await read("a.txt:5-9")];
		readings.push(await read("long.txt"), await read("long.txt"), await read("gone.txt"));
		pi.write("a.txt", V2);
		readings.push(await read("a.txt"));
		const modes = ["full", "unchanged", "unchanged_range", "full", "unchanged_range"];
		expect(readings.map(({ meta }) => meta?.mode)).toEqual([...modes, undefined, "diff"]);

		for (const reading of readings) {
			const drawn = draw(pi, pi.session.getToolDefinition("read") as never, reading);
			expect(drawn).toEqual(draw(pi, sdk.createReadToolDefinition(pi.cwd) as never, reading));
			for (const line of reading.text?.trimEnd().split("\n") ?? []) expect(drawn).toContain(line);
		}
	});

	test("23. no requirement to change system prompt/tool instructions", async () => {
		const tools = ["read", "bash", "edit", "write"];
		const { pi } = await start({ tools });
		const plain = await startPi({ tools, cwd: pi.cwd });
		await pi.run("hi", ["hello"]);
		await plain.run("hi", ["hello"]);
		const [prompt, own] = [pi, plain].map((each) => JSON.stringify(each.lastContext()[0]));
		expect(prompt).toContain("- read: Read file contents");
		expect(prompt).toContain("Use read to examine files instead of cat or sed.");
		const stable = (text = "") => text.replace(/"timestamp":\d+/, "");
		// Paging adds one line about itself; the read cache nothing.
		const pagingGuideline = createPagingSystem().readGuideline ?? "";
		const added = JSON.stringify(`- ${pagingGuideline}\n`).slice(1, -1);
		expect(prompt).toContain(added);
		expect(stable(prompt?.replace(added, ""))).toBe(stable(own));

		const [ours, theirs] = [pi, plain].map(toolInfo);
		const withLine = (tool: { promptGuidelines?: string[] } | undefined) => ({
			...tool,
			promptGuidelines: [...(tool?.promptGuidelines ?? []), pagingGuideline],
		});
		expect(ours).toEqual(withLine(theirs));
		expect(theirs).toHaveProperty("parameters.properties.offset");
		const definition = pi.session.getToolDefinition("read") ?? {};
		const piDefinition = sdk.createReadToolDefinition(pi.cwd);
		// The renderers say what a call did; the model sees none of it.
		const names = ["execute", "prepareArguments", "renderCall", "renderResult"];
		const replaced = Object.fromEntries(names.map((name) => [name, expect.any(Function)]));
		expect(definition).toEqual({ ...withLine(piDefinition), ...replaced });
	});
});

describe("refresh/invalidation behavior", () => {
	const part = { offset: 10, limit: 5 };
	const invalidation = (pathKey: string, scopeKey: string) => ({
		customType: "pi-readcache",
		data: { v: 1, kind: "invalidate", pathKey, scopeKey, at: expect.any(Number) },
	});
	const invalidations = (pi: PiHarness) =>
		pi.reports.filter(({ customType }) => customType === "pi-readcache");

	test("24. `/readcache-refresh` appends `custom` invalidation entry and next read is baseline full/slice", {
		tags: "slow",
	}, async () => {
		const { pi, read, path, expectA } = await start();
		await read("a.txt");
		await pi.command("/readcache-refresh a.txt");
		expect(invalidations(pi)).toMatchObject([invalidation(path, "full")]);
		expectA(await read("a.txt"), isFirst);
		expectA(await read("a.txt"), isUnchanged);

		await pi.command("/readcache-refresh a.txt 10-14");
		expect(invalidations(pi).at(-1)).toMatchObject(invalidation(path, "r:10:14"));
		expect((await read("a.txt", { offset: 20, limit: 5 })).meta?.mode).toBe("unchanged_range");
		const { text } = await ownAnswer(pi, "a.txt", part);
		expectA(await read("a.txt", part), { mode: "full", text, file: V1, range: [10, 14] });
		expectA(await read("a.txt"), isUnchanged);
	});

	test("25. `readcache_refresh` tool (if enabled) has same semantics as command", async () => {
		const { pi, read, path, expectA } = await start();
		await read("a.txt");
		await refreshByTool(pi, { path: "a.txt" });
		expect(invalidations(pi)).toMatchObject([invalidation(path, "full")]);
		expectA(await read("a.txt"), isFirst);

		await refreshByTool(pi, { path: "a.txt", ...part });
		expect(invalidations(pi).at(-1)).toMatchObject(invalidation(path, "r:10:14"));
		expect((await read("a.txt", { offset: 20, limit: 5 })).meta?.mode).toBe("unchanged_range");
		const { text } = await ownAnswer(pi, "a.txt", part);
		expectA(await read("a.txt", part), { mode: "full", text, file: V1, range: [10, 14] });
	});

	test("26. after restart/resume, invalidation still applies on branch replay", {
		tags: "slow",
	}, async () => {
		const { pi, read, expectA } = await start({ persist: true });
		await read("a.txt");
		const before = leafOf(pi);
		await pi.command("/readcache-refresh a.txt");
		await pi.restart();
		expectA(await read("a.txt"), isFirst);

		await pi.command("/readcache-refresh a.txt:10-14");
		await pi.resume();
		const { text } = await ownAnswer(pi, "a.txt", part);
		expectA(await read("a.txt", part), { mode: "full", text, file: V1, range: [10, 14] });

		await pi.navigate(before); // to where nobody had asked for it
		expectA(await read("a.txt"), isUnchanged);
	});

	test("27. invalidating `full` scope also invalidates all range scopes for that path", async () => {
		const { pi, read, expectA } = await start();
		const later = { offset: 30, limit: 2 };
		for (const range of [part, later, {}]) await read("a.txt", range);
		await pi.command("/readcache-refresh a.txt");
		const { text } = await ownAnswer(pi, "a.txt", part);
		expectA(await read("a.txt", part), { mode: "full", text, file: V1, range: [10, 14] });
		const other = await ownAnswer(pi, "a.txt", later);
		expectA(await read("a.txt", later), {
			mode: "full",
			text: other.text,
			file: V1,
			range: [30, 31],
		});
	});
});

function leafOf(pi: PiHarness): string {
	return pi.sessionManager.getLeafId() ?? "";
}

function compactKeeping(pi: PiHarness, firstKeptEntryId: string): void {
	pi.sessionManager.appendCompaction(`before ${firstKeptEntryId}`, firstKeptEntryId, 1000);
	pi.session.refreshContext();
}

async function refreshByTool(pi: PiHarness, args: Record<string, unknown>): Promise<void> {
	const id = nextId();
	await pi.run("refresh", [{ tool: "readcache_refresh", args, id }, "done"]);
	expect(readingOf(pi, id)).toMatchObject({ isError: false });
}

/** Aborts pi as soon as a diff has done its first slice of work; resolves when the diff has ended, too. */
function abortInNextDiff(pi: PiHarness): Promise<unknown> {
	return new Promise((resolve) => {
		vi.mocked(unifiedDiff).mockImplementationOnce((input) => {
			const diff = unifiedDiff(input); // the second call is the real one
			void pi.session.abort();
			diff.then(resolve, resolve);
			return diff;
		});
	});
}

/** Another process that stores the same file over and over; resolves to its exit code. */
function storeInProcess(folder: string, file: string): Promise<number | null> {
	const store = new URL("../../src/readcache/store.ts", import.meta.url).href;
	const config = new URL("../../src/core/config.ts", import.meta.url).href;
	const script = `
		const { createReadCacheStore } = await import(${JSON.stringify(store)});
		const { loadConfig } = await import(${JSON.stringify(config)});
		const { readFileSync } = await import("node:fs");
		const settings = loadConfig({ agentDir: "/none", cwd: "/none" }).config.readcache;
		const bytes = readFileSync(${JSON.stringify(file)});
		for (let i = 0; i < 20; i++) {
			const store = createReadCacheStore({ ...settings, storeDir: ${JSON.stringify(folder)} }, "/");
			const results = await Promise.all([store.put(bytes), store.put(bytes)]);
			if (results.some(({ kind }) => kind === "failed")) throw new Error(JSON.stringify(results));
		}`;
	const cwd = fileURLToPath(new URL("../..", import.meta.url));
	const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
		cwd,
		stdio: ["ignore", "ignore", "inherit"],
	});
	return new Promise((resolve) => void child.once("exit", resolve));
}

type Drawable = {
	renderCall(...args: unknown[]): { render(width: number): string[] };
	renderResult(...args: unknown[]): { render(width: number): string[] };
};

/** The lines that a tool's renderers draw for a reading, opened up, without colours. */
function draw(pi: PiHarness, definition: Drawable, reading: Reading): string[] {
	const { theme } = pi.session.extensionRunner.getUIContext();
	const { isError, details, toolCallId } = reading;
	const args = { path: "a.txt" };
	const state = { expanded: true, isPartial: false, isError, cwd: pi.cwd, args, toolCallId };
	const context = { ...state, state: {}, showImages: false, invalidate: () => {} };
	const result = { content: [{ type: "text", text: reading.text }], details, isError };
	const call = definition.renderCall(args, theme, context).render(200);
	const body = definition.renderResult(result, state, theme, context).render(200);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
	return [...call, ...body].map((line) => line.replace(/\u001b\[[0-9;]*m/g, "").trimEnd());
}

function toolInfo(pi: PiHarness) {
	const info = pi.session.getAllTools().find(({ name }) => name === "read");
	return { ...info, sourceInfo: undefined };
}
