import { describe, expect, test } from "vitest";
import { createLineSplitter, type Line } from "../../../src/server/transports/line-transports.ts";
import { fc } from "../../support/property.ts";

describe("the line splitter", () => {
	test("splits at line feeds only: U+2028 and U+2029 are part of their line", () => {
		expect(texts(["a\u2028b\u2029c\nd\n"])).toEqual(["a\u2028b\u2029c", "d"]);
	});

	test("a carriage return before the line feed goes, one inside stays", () => {
		expect(texts(["a\r\nb\rc\n"])).toEqual(["a", "b\rc"]);
	});

	test("empty lines are left out", () => {
		expect(texts(["\n\r\n\na\n\n"])).toEqual(["a"]);
	});

	test("what comes after the last line feed is a line when the stream ends", () => {
		expect(texts(["a\nb"])).toEqual(["a", "b"]);
	});

	test("a line of exactly the limit is taken, also with a carriage return; one byte more is too long", () => {
		expect(texts(["abcd\nabcd\r\nabcde\nx\n"], 4)).toEqual(["abcd", "abcd", "too_long", "x"]);
	});

	test("an endless line is reported once, when it becomes too long, and skipped up to its end", () => {
		const splitter = createLineSplitter(10);
		expect(splitter.push(Buffer.from("x".repeat(9)))).toEqual([]);
		expect(splitter.push(Buffer.from("x".repeat(9)))).toEqual([{ kind: "too_long" }]);
		for (let i = 0; i < 100; i++) expect(splitter.push(Buffer.from("x".repeat(9)))).toEqual([]);
		expect(show(splitter.push(Buffer.from("x\nok\n")))).toEqual(["ok"]);
	});

	test("a line that was handed out does not change when more arrives", () => {
		const splitter = createLineSplitter(100);
		const chunk = Buffer.from("first\n");
		const lines = splitter.push(chunk);
		chunk.fill(0x78);
		splitter.push(Buffer.from("second\n"));
		expect(show(lines)).toEqual(["first"]);
	});

	test("lines are the same however the stream is cut into chunks", () => {
		const character = fc.constantFrom("a", "é", "😀", "\n", "\r", "\u2028");
		fc.assert(
			fc.property(
				fc.array(character, { maxLength: 60 }),
				fc.array(fc.nat(7), { maxLength: 60 }),
				fc.integer({ min: 1, max: 12 }),
				(characters, cuts, limit) => {
					const bytes = Buffer.from(characters.join(""));
					const splitter = createLineSplitter(limit);
					const found: Line[] = [];
					let at = 0;
					for (const cut of cuts) {
						found.push(...splitter.push(bytes.subarray(at, at + cut)));
						at += cut;
					}
					found.push(...splitter.push(bytes.subarray(at)), ...splitter.end());
					expect(show(found)).toEqual(naive(bytes, limit));
				},
			),
		);
	});
});

function naive(bytes: Buffer, limit: number): string[] {
	return bytes
		.toString("latin1")
		.split("\n")
		.map((line) => line.replace(/\r$/, ""))
		.filter((line) => line !== "")
		.map((line) =>
			line.length > limit ? "too_long" : Buffer.from(line, "latin1").toString("utf8"),
		);
}

function texts(chunks: string[], limit = 1000): string[] {
	const splitter = createLineSplitter(limit);
	const found = chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk)));
	return show([...found, ...splitter.end()]);
}

function show(lines: Line[]): string[] {
	return lines.map((line) =>
		line.kind === "line" ? Buffer.from(line.bytes).toString("utf8") : "too_long",
	);
}
