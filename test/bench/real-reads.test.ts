import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { claudeCodeEvents } from "../../bench/real-reads/claude-code.ts";
import { countReads } from "../../bench/real-reads/count.ts";
import { piEvents } from "../../bench/real-reads/pi.ts";
import type { Entry } from "../../bench/real-reads/session.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { tempDir } from "../support/temp.ts";

const SHOWN = "     1→one\n     2→two\n     3→three";

describe("reads of a Claude Code session", () => {
	test("a line is in view while the newest text of its number is the same", () => {
		const transcript = new Transcript();
		transcript.read("a.ts", SHOWN);
		transcript.read("a.ts", "     2→two\n     3→THREE");
		transcript.read("a.ts", "     1→one\n     2→zero\n     3→two");
		const counts = countReads({ events: claudeCodeEvents(transcript.lines) });
		// Of the second read line 2, of the third line 1: its line 3 is an old line that moved.
		expect(counts).toMatchObject({ reads: 3, rereads: 2, whollyInView: 0 });
		expect(counts.inViewBytes).toBe(bytesOf("     2→two\n") + bytesOf("     1→one\n"));
	});

	test("a tab stands for the arrow, and a reminder behind the text is no line", () => {
		const transcript = new Transcript();
		transcript.read("a.ts", "1\tone\n2\ttwo");
		const again = "1\tone\n2\ttwo\n\n<system-reminder>Take care.</system-reminder>";
		transcript.read("a.ts", again);
		const counts = countReads({ events: claudeCodeEvents(transcript.lines) });
		expect(counts).toMatchObject({
			whollyInView: 1,
			whollyInViewBytes: bytesOf(again),
			inViewBytes: 12,
			rereadBytes: bytesOf(again),
		});
	});

	test.each([
		["a compaction", (transcript: Transcript) => transcript.compact()],
		["a result that became a stub", (transcript: Transcript) => transcript.clear("call1")],
	])("nothing is in view after %s", (_, lose) => {
		const transcript = new Transcript();
		transcript.read("a.ts", SHOWN);
		lose(transcript);
		transcript.read("a.ts", SHOWN);
		const counts = countReads({ events: claudeCodeEvents(transcript.lines) });
		expect(counts).toMatchObject({ reads: 2, rereads: 1, inViewBytes: 0 });
	});

	test("reads of one answer do not see each other", () => {
		const transcript = new Transcript();
		transcript.read("a.ts", SHOWN, { answer: "m1" });
		transcript.read("a.ts", SHOWN, { answer: "m1" });
		const counts = countReads({ events: claudeCodeEvents(transcript.lines) });
		expect(counts).toMatchObject({ reads: 2, inViewBytes: 0 });
	});

	test("sub-agents, abandoned branches, repeated lines and failed reads do not count", () => {
		const transcript = new Transcript();
		const root = transcript.add({ type: "user", message: { content: "Go" } });
		transcript.read("a.ts", SHOWN);
		transcript.read("b.ts", SHOWN, { isSidechain: true });
		transcript.leaf = root; // the user went back
		transcript.read("c.ts", "File does not exist.", { is_error: true });
		transcript.read("a.ts", SHOWN);
		transcript.lines.push(...transcript.lines.slice(-2));
		const counts = countReads({ events: claudeCodeEvents(transcript.lines) });
		expect(counts).toMatchObject({ reads: 1, rereads: 0, inViewBytes: 0 });
	});
});

describe("reads of a pi session", () => {
	test("lines count from the offset on, without what pi says behind them", () => {
		const { lines } = piSession((writer, read) => {
			read({ path: "a.ts" }, "one\ntwo\nthree\n\n[9 more lines in file. Use offset=4 to continue]");
			read({ path: "a.ts", offset: 2, limit: 2 }, "two\nthree");
			writer.entry("compaction", { summary: "so far" });
			read({ path: "a.ts", offset: 2, limit: 2 }, "two\nthree");
		});
		const counts = countReads({ events: piEvents(lines) });
		expect(counts).toMatchObject({ reads: 3, rereads: 2, whollyInView: 1, inViewBytes: 9 });
	});
});

describe("npm run bench -- real-reads", () => {
	test("prints the shares of each agent, and leaves out other files", () => {
		const folder = tempDir();
		const transcript = new Transcript();
		transcript.read("a.ts", SHOWN);
		transcript.read("a.ts", SHOWN);
		mkdirSync(join(folder, "claude"));
		writeFileSync(join(folder, "claude", "a.jsonl.gz"), gzipSync(transcript.text()));
		const { text } = piSession((_, read) => read({ path: "a.ts" }, "one"));
		writeFileSync(join(folder, "pi.jsonl"), `${text}\n{"cut off`);
		writeFileSync(join(folder, "other.jsonl"), '{"type":"session_meta","payload":{}}\n');
		const before = readFileSync(resultFile, "utf8");
		const { status, stdout } = bench("--traces", folder);
		expect(status).toBe(0);
		expect(stdout).toMatch(/Claude Code: read bytes in view, of all read bytes' +│ 50 /);
		expect(stdout).toMatch(/Claude Code: read bytes in view, of re-read bytes' +│ 100 /);
		expect(stdout).toMatch(/pi: read bytes in view, of all read bytes' +│ 0 /);
		expect(stdout).toContain("1 of 3 files are of another kind");
		expect(readFileSync(resultFile, "utf8")).toBe(before);
	});

	test("measures nothing without a folder or sessions, and refuses if the figures are to be stored", {
		tags: "slow",
	}, () => {
		const folder = tempDir();
		for (const [words, why] of [
			[[], "give --traces <folder>"],
			[["--traces", folder], `${folder} has no session of Claude Code or pi`],
		] as const) {
			expect(bench(...words).stdout).toContain(`skipped: all: ${why}`);
			const refused = bench("--write", ...words);
			expect(refused.status).toBe(3);
			expect(refused.stderr).toContain(why);
		}
	});
});

const resultFile = fileURLToPath(new URL("../../bench/results/real-reads.json", import.meta.url));

function bench(...words: string[]) {
	const script = fileURLToPath(new URL("../../bench/real-reads.ts", import.meta.url));
	const { STRATA_TRACES: _, ...env } = process.env;
	return spawnSync(process.execPath, [script, ...words], { encoding: "utf8", env });
}

/** Lines as Claude Code writes them: one block each. */
class Transcript {
	readonly lines: Entry[] = [];
	leaf: string | null = null;
	private calls = 0;

	add(line: Entry): string {
		const uuid = `u${this.lines.length}`;
		this.lines.push({ uuid, parentUuid: this.leaf, ...line });
		this.leaf = uuid;
		return uuid;
	}

	read(path: string, text: string, options: { answer?: string } & Entry = {}): void {
		const id = `call${++this.calls}`;
		const { answer = `m${id}`, is_error, ...fields } = options;
		const call = { type: "tool_use", id, name: "Read", input: { file_path: path } };
		this.add({ type: "assistant", message: { id: answer, content: [call] }, ...fields });
		const result = { type: "tool_result", tool_use_id: id, content: text, is_error };
		this.add({ type: "user", message: { content: [result] }, ...fields });
	}

	compact(): void {
		const before = this.leaf;
		this.leaf = null;
		this.add({ type: "system", subtype: "compact_boundary", logicalParentUuid: before });
	}

	clear(id: string): void {
		const microcompactMetadata = { compactedToolIds: [id] };
		this.add({ type: "system", subtype: "microcompact_boundary", microcompactMetadata });
	}

	text(): string {
		return this.lines.map((line) => JSON.stringify(line)).join("\n");
	}
}

function piSession(
	fill: (writer: SessionWriter, read: (input: object, text: string) => void) => void,
): { lines: Entry[]; text: string } {
	const writer = new SessionWriter();
	let calls = 0;
	fill(writer, (input, text) => {
		const id = `c${++calls}`;
		writer.assistant([writer.call(id, "read", input)], { input: 10 });
		writer.result(id, "read", text);
	});
	return { lines: writer.lines.map((line) => JSON.parse(line)), text: writer.lines.join("\n") };
}

function bytesOf(text: string): number {
	return Buffer.byteLength(text);
}
