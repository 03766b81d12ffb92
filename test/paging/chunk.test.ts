import { describe, expect, test } from "vitest";
import { Chunker, MIN_CHUNK_CHARS } from "../../src/paging/chunk.ts";
import { fc, runs } from "../support/property.ts";
import { arbitraryDocument } from "./arbitrary-document.ts";

function chunksOf(text: string, sizeOf: (chunk: number) => number): string[] {
	const chunker = new Chunker(text);
	const chunks: string[] = [];
	for (let start = 0; start < text.length; ) {
		const end = chunker.end(start, sizeOf(chunks.length));
		expect(end).toBeGreaterThan(start);
		chunks.push(text.slice(start, end));
		start = end;
	}
	return chunks;
}

/** The first chunk of a text, for tests of where it is cut. */
function firstChunk(text: string, maxChars: number): string {
	return text.slice(0, new Chunker(text).end(0, maxChars));
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

function expectWholeCharacters(text: string, chunks: string[]): void {
	const clusters = [...segmenter.segment(text)];
	let cluster = 0;
	let cut = 0;
	for (const chunk of chunks) {
		cut += chunk.length;
		while (cluster < clusters.length && endOf(clusters[cluster]) <= cut) cluster++;
		const around = clusters[cluster];
		if (!around || around.index === cut) continue;
		expect(around.segment.length, `cut ${cut} goes through a cluster`).toBeGreaterThan(64);
		expect(text.slice(cut - 1, cut + 1)).not.toMatch(/^[\ud800-\udbff][\udc00-\udfff]$/);
	}
}

function endOf(cluster: Intl.SegmentData | undefined): number {
	return cluster ? cluster.index + cluster.segment.length : 0;
}

const size = fc.oneof(
	fc.integer({ min: MIN_CHUNK_CHARS, max: 80 }),
	fc.integer({ min: MIN_CHUNK_CHARS, max: 2000 }),
);

describe("the laws of chunks", () => {
	test("joined they are the text, each is within the limit, and none cuts a character or CRLF", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(arbitraryDocument(), fc.array(size, { minLength: 1 }), (text, sizes) => {
				const sizeOf = (chunk: number) => sizes[chunk % sizes.length] as number;
				const chunks = chunksOf(text, sizeOf);
				expect(chunks.join("")).toBe(text);
				for (const [index, chunk] of chunks.entries()) {
					expect(chunk.length).toBeGreaterThan(0);
					expect(chunk.length).toBeLessThanOrEqual(sizeOf(index));
				}
				for (const [index, chunk] of chunks.entries()) {
					const next = chunks[index + 1];
					expect(chunk.endsWith("\r") && next?.startsWith("\n")).not.toBe(true);
				}
				expectWholeCharacters(text, chunks);
			}),
			{ numRuns: runs(300) },
		);
	});

	test.each([
		["flags", "🇩🇪", 4],
		["flags after half a flag", "🇩🇪", 4, "x🇫"],
		["families", "👨‍👩‍👧‍👦", 11],
		["jamo", "\u1112\u1161\u11ab", 3],
		["Indic conjuncts", "क्षि", 4],
		["skin tones", "👍🏽", 4],
	])(
		"a run of %s longer than any window is cut between them",
		(_, cluster, length, before = "") => {
			expect(cluster.length).toBe(length);
			const text = before + cluster.repeat(9001);
			for (const maxChars of [64, 65, 66, 67, 999, 8000]) {
				expectWholeCharacters(
					text,
					chunksOf(text, () => maxChars),
				);
			}
		},
	);

	test.each([
		["letters", "x".repeat(50_000)],
		["marks on one letter", `e${"\u0301".repeat(50_000)}`],
		["joined emoji", "👨\u200d".repeat(20_000)],
		["surrogates of the wrong order", "\udc4d\ud83d".repeat(20_000)],
	])("an endless row of %s is cut all the same", (_, text) => {
		for (const maxChars of [64, 65, 8000]) {
			const chunks = chunksOf(text, () => maxChars);
			expect(chunks.join("")).toBe(text);
			expectWholeCharacters(text, chunks);
			expect(chunks.length).toBeLessThanOrEqual(Math.ceil(text.length / (maxChars - 1)));
		}
	});

	test("a cluster of 64 units fits the smallest chunk", () => {
		const cluster = `e${"\u0301".repeat(63)}`;
		expect(chunksOf(`ab${cluster}cd`, () => 64)).toEqual(["ab", cluster, "cd"]);
	});

	test("a cut through an overlong cluster does not halve the flags behind it", () => {
		// The prepended signs make one cluster with the first flag, which the limit would cut in half.
		const text = "\u0600".repeat(199) + "🇩🇪".repeat(40);
		expectWholeCharacters(
			text,
			chunksOf(text, () => 67),
		);
	});

	test("a limit or a start that cannot be is refused", () => {
		const chunker = new Chunker("text");
		for (const maxChars of [63, 64.5, 0, -1, Number.NaN]) {
			expect(() => chunker.end(0, maxChars)).toThrow(RangeError);
		}
		for (const start of [-1, 0.5, 5, Number.NaN]) {
			expect(() => chunker.end(start, 64)).toThrow(RangeError);
		}
	});
});

describe("the place of the cut", () => {
	// 100 characters: the last quarter begins behind the 75th.
	const head = `${"h".repeat(78)}`;
	const tail = "t".repeat(100);

	test.each([
		["a blank line", "\n\n", "x\n- x. x "],
		["a blank line with spaces in it", "\n \t\n", "x\nx. x "],
		["a blank line of CRLFs", "\r\n\r\n", "x\r\nx. x "],
		["the line before a list item", "\n", "- x\nx. x "],
		["the line before a numbered item", "\n", "1. x\nx. x "],
		["the line before a quoted table row", "\n", "> | x\nx. x "],
		["the line before a heading", "\n", "## x\nx. x "],
		["a line", "\n", "xx. x "],
		["a sentence", ". ", "x x "],
		["a sentence in quotes", '?" ', "x x "],
		["a sentence without a space", "。」", "x x "],
		["a space", " ", "x-x,x"],
		["an ideographic space", "\u3000", "xxx"],
	])("is behind %s, whatever lesser boundary comes later", (_, boundary, lesser) => {
		expect(firstChunk(`${head}${boundary}${lesser}${tail}`, 100)).toBe(head + boundary);
	});

	test("is the last of equal boundaries", () => {
		expect(firstChunk(`${head}\nx\nx\n${tail}`, 100)).toBe(`${head}\nx\nx\n`);
		expect(firstChunk(`${head} x x ${tail}`, 100)).toBe(`${head} x x `);
		expect(firstChunk(`${head}\n\n\n\n${tail}`, 100)).toBe(`${head}\n\n\n\n`);
	});

	test("is at the limit itself if that is a boundary, and not before the last quarter", () => {
		expect(firstChunk(`${"x".repeat(99)}\n${tail}`, 100)).toBe(`${"x".repeat(99)}\n`);
		expect(firstChunk(`${"x".repeat(75)}\n${tail}`, 100)).toBe(`${"x".repeat(75)}\n`);
		expect(firstChunk(`${"x".repeat(74)}\n${tail}`, 100)).toHaveLength(100);
	});

	test("is not between a table's head and its dashes", () => {
		const rows = "| a |\n| b |\n|---|\n| c";
		expect(firstChunk(head + rows.replace("| b", "\n| b") + tail, 100)).toBe(`${head}| a |\n\n`);
		expect(firstChunk(`${head}x\n| b |\n|---|${tail}`, 100)).toBe(`${head}x\n`);
	});

	test("is not behind a no-break space, nor between a space and its accent", () => {
		expect(firstChunk(`${head} x\u00a0x \u0301${tail}`, 100)).toBe(`${head} `);
	});

	test("is not at a blank line within code while there is any line outside of it", () => {
		const code = "```\na\n\nb\n```\n";
		expect(firstChunk(`${head}\n${code}${tail}`, 90)).toBe(`${head}\n`);
		expect(firstChunk(`${head}\n${code}${tail}`, 100)).toBe(`${head}\n${code}`);
	});

	test("is at a line of code when all of the last quarter is code", () => {
		const code = `\`\`\`\n${"c".repeat(80)}\nx\n\ny. y${tail}\n\`\`\`\n`;
		expect(firstChunk(code, 100)).toBe(`\`\`\`\n${"c".repeat(80)}\nx\n\n`);
	});

	test("knows in any later chunk whether it begins in code", () => {
		const text = `~~~\n${"code\n\n".repeat(100)}~~~\n\n${"text\n\n".repeat(100)}`;
		const chunks = chunksOf(text, () => 64);
		let start = 0;
		for (const chunk of chunks) {
			const inText = start > text.lastIndexOf("~~~");
			if (inText && start + 64 < text.length) expect(chunk).toMatch(/\n\n$/);
			expect(chunk).toMatch(/\n$/);
			start += chunk.length;
		}
	});
});
