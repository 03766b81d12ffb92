import {
	appendFileSync,
	readFileSync,
	renameSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { linesOfEntries, watchSessionFile } from "../../src/core/session-file-watch.ts";
import { tempDir } from "../support/temp.ts";

const entry = (id: string, text = "a text: ä") => ({ type: "message", id, text });
const HEADER = { type: "session", id: "header" };

/** A file that is in step with two entries. */
function start() {
	const file = join(tempDir(), "session.jsonl");
	const entries = [HEADER, entry("a"), entry("b")];
	writeFileSync(file, linesOfEntries(entries));
	const watch = watchSessionFile(file);
	expect(watch.check(entries)).toEqual({ kind: "in-step" });
	const append = (...added: object[]) => appendFileSync(file, linesOfEntries(added as never));
	return { file, entries, watch, append };
}

describe("a session file", () => {
	test("is in step with entries that were appended to both", () => {
		const { watch, entries, append } = start();
		entries.push(entry("c"), entry("d"));
		append(...entries.slice(-2));
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
	});

	test("is in step with an entry that pi has changed since", () => {
		const { watch, entries, append } = start();
		append(entry("c"));
		entries.push(entry("c", "another text"));
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
	});

	test("is in step where nothing but blank lines follows", () => {
		const { watch, file, entries, append } = start();
		appendFileSync(file, "\n \n");
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
		expect(watchSessionFile(file).check(entries)).toEqual({ kind: "in-step" });
		entries.push(entry("c"));
		append(entry("c"));
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
	});

	test("does not exist for a while", () => {
		const file = join(tempDir(), "session.jsonl");
		const watch = watchSessionFile(file);
		expect(watch.check([HEADER])).toEqual({ kind: "unwritten" });
		expect(watch.isSeen).toBe(false);
		writeFileSync(file, "");
		expect(watch.check([HEADER])).toMatchObject({ kind: "behind", missing: 1 });
	});

	test.each([0, 1, 20, 60, 75])(
		"is behind by what a failed append left out (%i bytes)",
		(bytes) => {
			const { watch, file, entries } = start();
			entries.push(entry("c"), entry("d"));
			const whole = Buffer.from(linesOfEntries(entries.slice(-2)));
			appendFileSync(file, whole.subarray(0, bytes));
			const state = watch.check(entries);
			expect(state.kind).toBe("behind");
			if (state.kind === "behind") appendFileSync(file, state.rest);
			expect(watch.check(entries)).toEqual({ kind: "in-step" });
			expect(readFileSync(file, "utf8")).toBe(linesOfEntries(entries));
		},
	);

	test("lacks an entry in the middle, what was cut off, or everything", () => {
		const { watch, file, entries, append } = start();
		entries.push(entry("c"), entry("d"));
		append(entry("d"));
		expect(watch.check(entries)).toEqual({ kind: "lacking", missing: 1 });
		truncateSync(file, 30);
		expect(watch.check(entries).kind).toBe("behind");
		rmSync(file);
		expect(watch.check(entries)).toEqual({ kind: "lacking", missing: 5 });
	});

	test("may be replaced by one that holds the same", () => {
		const { watch, file, entries } = start();
		writeFileSync(`${file}.new`, linesOfEntries(entries));
		renameSync(`${file}.new`, file);
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
	});

	test("shows another writer, before and between and behind its own entries", () => {
		for (const added of [["x"], ["x", "c"], ["c", "x"]]) {
			const { watch, entries, append } = start();
			if (added.includes("c")) entries.push(entry("c"));
			append(...added.map((id) => entry(id)));
			const foreign = { kind: "foreign", entries: 1, garbled: 0, missing: 0 };
			expect(watch.check(entries)).toEqual(foreign);
		}
	});

	test("shows an entry that was glued to a half of another", () => {
		const { watch, file, entries, append } = start();
		entries.push(entry("c"), entry("d"));
		appendFileSync(file, linesOfEntries([entry("c")]).slice(0, 20));
		append(entry("d"));
		expect(watch.check(entries)).toMatchObject({ kind: "foreign", entries: 0, garbled: 1 });
	});

	test("names the lines that were garbled when it was opened, and goes on", () => {
		const file = join(tempDir(), "session.jsonl");
		const before = linesOfEntries([HEADER, entry("a")]);
		writeFileSync(file, `${before}{"type":"mess\n\n${linesOfEntries([entry("c")])}`);
		const entries = [HEADER, entry("a"), entry("c")];
		const watch = watchSessionFile(file);
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
		const from = Buffer.byteLength(before);
		expect(watch.garbled).toMatchObject([{ number: 3, from, to: from + 13 }]);
		entries.push(entry("d"));
		appendFileSync(file, linesOfEntries([entry("d")]));
		expect(watch.check(entries)).toEqual({ kind: "in-step" });
		// It would be written again without them.
		entries.push(entry("e"), entry("f"));
		appendFileSync(file, linesOfEntries([entry("f")]));
		expect(watch.check(entries).kind).toBe("foreign");
	});
});
