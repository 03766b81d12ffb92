import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { readSessionFile } from "../support/read-session-file.ts";
import { tempDir } from "../support/temp.ts";
import { billsOf } from "./billed.ts";

describe("a session file", () => {
	test("of format 1 is a line of entries, named by their position", async () => {
		const file = save(
			'{"type":"session","id":"s"}',
			'{"type":"message","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"a"}}',
			'{"type":"message","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"b"}}',
			'{"type":"compaction","timestamp":"2026-01-01T00:00:02Z","summary":"s","firstKeptEntryIndex":2}',
		);
		const { version, entries } = await readSessionFile(file);
		expect(version).toBe(1);
		expect(entries.map(({ parent }) => parent)).toEqual([-1, 0, 1]);
		expect(entries[2]).toMatchObject({ type: "compaction", firstKeptId: entries[1]?.id });
	});

	test("of format 2 has messages of hooks, which are messages of extensions today", async () => {
		const writer = new SessionWriter({ version: 2 });
		writer.entry("message", { message: { role: "hookMessage", content: "from a hook" } });
		const { version, entries } = await readSessionFile(writer.save());
		expect(version).toBe(2);
		expect(entries[0]).toMatchObject({ type: "message", blocks: [{ kind: "note" }] });
	});

	test("has an edit from the request on that showed it, before the edit was stored", async () => {
		const writer = new SessionWriter();
		const usage = { input: 10, cacheWrite: 1000 };
		writer.user("read it");
		writer.assistant([writer.call("c1", "read", { path: "a" })], usage);
		const target = writer.result("c1", "read", "x".repeat(4000));
		writer.assistant("one", usage);
		const content = [{ type: "text", text: "(Pruned) read: 4,000 chars." }];
		const edits = [[target, content], [7], "damaged", [target, "no list"]];
		writer.entry("custom", { customType: "strata-shown-edits", data: { v: 1, edits } });
		writer.entry("custom", {
			customType: "strata-shown-edits",
			data: { v: 1, edits: [[target, content]] },
		});
		writer.assistant("two", usage);
		writer.entry("context_edit", { targetId: target, replacement: { content } });
		writer.user("on");
		writer.assistant("three", usage);
		const steps = [...(await writer.replay()).steps()];
		const isReplaced = steps.map(({ blocks }) =>
			blocks.some(({ label }) => label === "replaced content"),
		);
		expect(isReplaced).toEqual([false, false, true, true]);
		expect(steps.map(({ changes }) => changes.has("edit"))).toEqual([false, false, true, false]);
	});

	test("knows a recorded edit of one branch from a stored one of another", async () => {
		const writer = new SessionWriter();
		const usage = { input: 10, cacheWrite: 1000 };
		writer.user("read it");
		writer.assistant([writer.call("c1", "read", { path: "a" })], usage);
		const target = writer.result("c1", "read", "x".repeat(4000));
		const answered = writer.assistant("one", usage);
		const content = [{ type: "text", text: "(Pruned) read: 4,000 chars." }];
		const data = { v: 1, edits: [[target, content]] };
		writer.entry("custom", { customType: "strata-shown-edits", data });
		writer.leaf = answered;
		writer.entry("context_edit", { targetId: target, replacement: { content } });
		writer.assistant("two", usage);
		const steps = [...(await writer.replay()).steps()];
		const labels = steps.at(-1)?.blocks.map(({ label }) => label);
		expect(labels).toContain("replaced content");
	});

	test("with a stub that was undone has the first text again, which may still be cached", async () => {
		const writer = new SessionWriter();
		const usage = { input: 10, cacheWrite: 1000 };
		writer.user("read it");
		writer.assistant([writer.call("c1", "read", { path: "a" })], usage);
		const target = writer.result("c1", "read", "x".repeat(4000));
		writer.assistant("one", usage);
		const edit = (text: string) =>
			writer.entry("context_edit", {
				targetId: target,
				replacement: { content: [{ type: "text", text }] },
			});
		edit("(Pruned) read: 4,000 chars.");
		writer.assistant("two", usage);
		edit("x".repeat(4000));
		writer.assistant("three", usage);
		const steps = [...(await writer.replay()).steps()];
		const hashes = steps.map(({ blocks }) => blocks.map(({ hash }) => hash));
		const at = steps[1]?.blocks.findIndex(({ label }) => label.startsWith("result of")) ?? -1;
		expect(at).toBeGreaterThan(0);
		expect(hashes[2]?.[at]).not.toBe(hashes[1]?.[at]);
		expect(hashes[3]?.[at]).toBe(hashes[1]?.[at]);
	});

	test("keeps hashes and sizes, never the text", async () => {
		const writer = new SessionWriter();
		writer.user("a secret of the user");
		const session = await readSessionFile(writer.save());
		expect(JSON.stringify(session)).not.toContain("secret");
	});

	test("damaged lines are skipped and counted, and what follows them stays in the conversation", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.raw('{"type":"message","id":"lost","parentId":"e0"'); // cut off
		writer.leaf = "lost";
		writer.user("b");
		writer.raw("17").raw('"text"').raw("null").raw("").raw("  ");
		const { entries, skipped } = await readSessionFile(writer.save());
		expect(entries.map(({ id, parent }) => [id, parent])).toEqual([
			["e0", -1],
			["e1", 0],
		]);
		expect(skipped).toEqual({ damaged: 4, tooLong: 0, relinked: 1, surplus: 0 });
	});

	test("a last line that was cut off in the middle counts as damaged", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.user("b");
		const file = writer.save();
		truncateSync(file, writer.lines.join("\n").length - 20);
		const { entries, skipped } = await readSessionFile(file);
		expect(entries).toHaveLength(1);
		expect(skipped.damaged).toBe(1);
	});

	test("lines beyond the longest allowed are passed over and counted", async () => {
		const writer = new SessionWriter();
		writer.user("x".repeat(5000));
		writer.user("short");
		const { entries, skipped } = await readSessionFile(writer.save(), { maxLineBytes: 1000 });
		expect(entries).toHaveLength(1);
		expect(skipped).toMatchObject({ tooLong: 1, relinked: 1 });
	});

	test("in format 1 a line that is too long still counts as a position", async () => {
		const message = (text: string) =>
			JSON.stringify({ type: "message", message: { role: "user", content: text } });
		const file = save(
			'{"type":"session","id":"s"}',
			message("x".repeat(5000)),
			message("kept"),
			'{"type":"compaction","summary":"s","firstKeptEntryIndex":2}',
		);
		const { entries } = await readSessionFile(file, { maxLineBytes: 1000 });
		expect(entries[2]).toMatchObject({ type: "compaction", firstKeptId: entries[1]?.id });
	});

	test("entries beyond the most allowed are counted, not kept", async () => {
		const writer = new SessionWriter();
		for (let i = 0; i < 10; i++) writer.user("x");
		const { entries, skipped } = await readSessionFile(writer.save(), { maxEntries: 4 });
		expect(entries).toHaveLength(4);
		expect(skipped.surplus).toBe(6);
	});

	test("parents that form a circle are taken to be the lines above", async () => {
		const user = (id: string, parentId: string | null) =>
			JSON.stringify({ type: "message", id, parentId, message: { role: "user", content: id } });
		const file = save(
			'{"type":"session","version":3,"id":"s"}',
			user("a", "c"),
			user("b", "b"),
			user("c", "a"),
		);
		const { entries, skipped } = await readSessionFile(file);
		expect(entries.map(({ parent }) => parent)).toEqual([-1, 0, 0]);
		expect(skipped.relinked).toBe(2);
	});

	test("a line of zeros that a crash left behind is one damaged line, not a binary file", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.raw("\u0000".repeat(100));
		writer.user("b");
		const { entries, skipped } = await readSessionFile(writer.save());
		expect(entries).toHaveLength(2);
		expect(skipped.damaged).toBe(1);
	});

	test("with a byte order mark and Windows line ends is read like any other", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		const file = save(`\uFEFF${writer.lines.join("\r\n")}\r`);
		expect(await readSessionFile(file)).toMatchObject({
			entries: [{ type: "message" }],
			skipped: { damaged: 0 },
		});
	});

	test("an entry nested deeper than can be written again is damaged, the others are kept", async () => {
		const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
		const call = `{"type":"toolCall","id":"x","name":"read","arguments":${deep}}`;
		const writer = new SessionWriter();
		writer.user("a");
		writer.raw(
			`{"type":"message","id":"d","parentId":"e0","message":{"role":"assistant","content":[${call}]}}`,
		);
		writer.user("b");
		const { entries, skipped } = await readSessionFile(writer.save());
		expect(entries.map(({ parent }) => parent)).toEqual([-1, 0]);
		expect(skipped.damaged).toBe(1);
	});

	test("keeps no more of names than anybody reads, and no entry with a name beyond all measure", async () => {
		const long = "x".repeat(100_000);
		const writer = new SessionWriter();
		const call = writer.call("t", "read", { path: long });
		writer.assistant([call, { ...call, name: long }], {}, { provider: long, model: long });
		writer.result("t", long, "text");
		writer.entry("thinking_level_change", { thinkingLevel: long });
		writer.entry("context_edit", { targetId: long });
		writer.entry("message", { id: long, message: { role: "user", content: "a" } });
		const { entries, skipped } = await readSessionFile(writer.save());
		expect(JSON.stringify(entries).length).toBeLessThan(30_000);
		expect(skipped).toMatchObject({ damaged: 1 });
	});

	test("content blocks beyond the most allowed are counted as entries that were not kept", async () => {
		const writer = new SessionWriter();
		const content = Array.from({ length: 10 }, () => ({ type: "text", text: "a" }));
		for (let i = 0; i < 5; i++) writer.entry("message", { message: { role: "user", content } });
		const { entries, skipped } = await readSessionFile(writer.save(), { maxBlocks: 25 });
		expect(entries).toHaveLength(3);
		expect(skipped.surplus).toBe(2);
	});

	test("lines that are split between two pieces of a large file are put together again", async () => {
		const writer = new SessionWriter();
		const texts = Array.from({ length: 30 }, (_, i) => `${i}é`.repeat(40_000));
		for (const text of texts) writer.user(text);
		const seen: number[] = [];
		const { entries, skipped } = await readSessionFile(writer.save(), {
			onProgress: (bytes, ofBytes) => seen.push(bytes / ofBytes),
		});
		expect(entries).toHaveLength(30);
		expect(skipped.damaged).toBe(0);
		expect(seen.length).toBeGreaterThan(1);
		expect(seen.at(-1)).toBe(1);
	});
});

describe("what is not a session is refused with its name and the reason:", () => {
	test.each([
		["an empty file", "", "is empty"],
		["binary content", "\u0000\u0001\u0002", "is binary"],
		["text", "hello\nworld\n", "none of its lines is JSON"],
		["other JSON", '{"a":1}\n', "none of its first lines is from pi"],
		["a first line without end", "x".repeat(1_100_000), "longer than 1 MiB"],
		["a later format", '{"type":"session","version":4}\n', "session format 4; only formats 1 to 3"],
		["a nonsense format", '{"type":"session","version":"x"}\n', 'session format "x"'],
		["a hostile format", '{"type":"session","version":"\u009b2J"}\n', 'session format "2J"'],
		[
			"a format nested beyond measure",
			`{"type":"session","version":${"[".repeat(200_000)}${"]".repeat(200_000)}}\n`,
			"session format of another kind",
		],
	])("%s", async (_, content, reason) => {
		const file = join(tempDir(), "session.jsonl");
		writeFileSync(file, content);
		const failure = await readSessionFile(file).catch((error: Error) => error.message);
		expect(failure).toContain(file);
		expect(failure).toContain(reason);
	});

	test("a file of a gigabyte without a line", async () => {
		const file = join(tempDir(), "huge.jsonl");
		writeFileSync(file, "");
		truncateSync(file, 1024 ** 3); // takes no room on the disk
		await expect(readSessionFile(file)).rejects.toThrow("is binary");
	});

	test("a missing file, and a folder", async () => {
		const folder = tempDir();
		const missing = join(folder, "missing.jsonl");
		await expect(readSessionFile(missing)).rejects.toThrow(
			`cannot read ${missing}: there is no such file`,
		);
		await expect(readSessionFile(folder)).rejects.toThrow("it is not a file");
	});
});

function save(...lines: string[]): string {
	const file = join(tempDir(), "session.jsonl");
	writeFileSync(file, `${lines.join("\n")}\n`);
	return file;
}

describe("copies of pi's requests", () => {
	const base = () => {
		const writer = new SessionWriter({ version: 3, id: "main" });
		writer.user("a");
		writer.assistant("b", { input: 7, cacheWrite: 5000 }, { timestamp: writer.atMs + 3000 });
		return writer;
	};

	test("a fork repeats entries with their ids, which count once", async () => {
		const fork = base();
		fork.lines[0] = '{"type":"session","version":3,"id":"fork","parentSession":"main.jsonl"}';
		fork.user("c");
		fork.assistant("d", { input: 3, cacheRead: 5000 });
		const seen = new Set<string>();
		expect(billsOf(await readSessionFile(base().save()), seen)).toEqual([[7, 0, 5000]]);
		expect(billsOf(await readSessionFile(fork.save()), seen)).toEqual([[3, 5000, 0]]);
	});

	test("the transcript of a sub-agent repeats its session without ids", async () => {
		const run = base();
		run.entry("session_info", { name: "subagent-scout-r1-0" });
		const records = run.lines.flatMap((line) => {
			const { message, timestamp } = JSON.parse(line);
			const record = { recordType: "message", runId: "r1", agent: "scout", timestamp, message };
			return message ? [JSON.stringify(record)] : [];
		});
		const transcript = await readSessionFile(save(...records));
		const session = await readSessionFile(run.save());
		expect(session.subagent).toBe("subagent-scout-r1-0");
		expect(transcript).toMatchObject({ agent: "pi", subagent: "r1" });
		expect(billsOf(transcript)).toEqual([[7, 0, 5000]]);
		const seen = new Set<string>();
		expect(billsOf(session, seen)).toEqual([[7, 0, 5000]]);
		expect(billsOf(transcript, seen)).toEqual([]);
	});

	test("the provider's id of an answer identifies it whatever else differs", async () => {
		const seen = new Set<string>();
		const counts = [];
		for (const hours of [0, 1]) {
			const writer = new SessionWriter();
			writer.atMs += hours * 3_600_000;
			writer.user("a");
			writer.assistant("b", { cacheWrite: 5000 }, { responseId: "msg_1" });
			counts.push(billsOf(await readSessionFile(writer.save()), seen).length);
		}
		expect(counts).toEqual([1, 0]);
	});
});
