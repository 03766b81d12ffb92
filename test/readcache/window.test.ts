import { describe, expect, test } from "vitest";
import { linesOf } from "../../src/core/lines.ts";
import { continuationLine, windowOf } from "../../src/readcache/text-file.ts";
import { fc, runs } from "../support/property.ts";
import { LIMITS, plain, type Range, textOf } from "./cached-session.ts";

const { maxLines, maxBytes } = LIMITS;

/** What we expect pi to answer, made from the window; `undefined` when it can show none of the lines. */
function expected(
	text: string,
	{ offset, limit }: Range,
): { text: string; bytes: number } | undefined {
	const lines = linesOf(Buffer.from(text));
	const start = offset ?? 1;
	const end = Math.min(lines.count, limit === undefined ? lines.count : start + limit - 1);
	const window = windowOf(lines, { start, end }, LIMITS);
	if (window.kind === "nothing") return undefined;
	const shown = lines.slice(start, window.end).toString();
	const more = () => {
		if (window.cutBy) {
			const range = { start, end: window.end };
			return `\n\n${continuationLine(range, lines.count, window.cutBy, LIMITS)}`;
		}
		const left = lines.count - end;
		return left > 0 ? `\n\n[${left} more lines in file. Use offset=${end + 1} to continue.]` : "";
	};
	return { text: shown + more(), bytes: window.bytes };
}

async function expectPiToAnswer(text: string, range: Range = {}): Promise<void> {
	const read = plain("/nowhere");
	const result = await read({ toolCallId: "a", path: "a", ...range }, Buffer.from(text));
	const answer = expected(text, range);
	if (!answer) {
		expect(textOf(result)).toMatch(/^\[Line \d+ is .*, exceeds 50\.0KB limit\./);
		return;
	}
	expect(textOf(result)).toBe(answer.text);
	const { truncation } = (result.details ?? {}) as { truncation?: { outputBytes: number } };
	if (truncation) expect(answer.bytes).toBe(truncation.outputBytes);
}

describe("the window is what pi shows", () => {
	test.each<[string, string]>([
		["an empty file", ""],
		["a lone newline", "\n"],
		["nothing but newlines, one line too many", "\n".repeat(maxLines + 1)],
		["just as many lines as fit", "x\n".repeat(maxLines)],
		["one line more than fits", "x\n".repeat(maxLines + 1)],
		["one line more than fits, without a newline after it", `${"x\n".repeat(maxLines)}x`],
		["just as many bytes as fit", "x".repeat(maxBytes)],
		["one byte more than fits in one line", "x".repeat(maxBytes + 1)],
		["just as many bytes as fit before the final newline", `${"x".repeat(maxBytes)}\n`],
		[
			"a final newline as the byte too many, after several lines",
			`a\n${"x".repeat(maxBytes - 2)}\n`,
		],
		["a second line that does not fit", `a\n${"x".repeat(maxBytes)}`],
		[
			"both limits reached at once",
			`${"x".repeat(maxBytes - (maxLines - 1))}${"\n".repeat(maxLines)}`,
		],
		["characters of several bytes across the limit", "😀".repeat(100).concat("\n").repeat(200)],
		["a byte order mark", `\uFEFF${"x\n".repeat(maxLines + 5)}`],
		["line ends of Windows", "x\r\n".repeat(maxLines + 5)],
	])("of %s", async (_name, text) => {
		await expectPiToAnswer(text);
	});

	test("of any text around its limits, with any range", { tags: "slow" }, async () => {
		const lineCount = fc.oneof(
			fc.integer({ min: 1, max: 6 }),
			fc.integer({ min: maxLines - 3, max: maxLines + 3 }),
			fc.integer({ min: 1, max: 2 * maxLines }),
		);
		const total = fc.oneof(
			fc.integer({ min: maxBytes - 20, max: maxBytes + 20 }),
			fc.integer({ min: 0, max: 3 * maxBytes }),
		);
		const character = fc.constantFrom("x", "é", "漢", "😀", "\r");
		const file = fc
			.tuple(lineCount, total, character, fc.nat(3), fc.option(fc.constantFrom(0, -2, -1, 1, 2)))
			.map(([count, bytes, letter, emptyEnds, longFirst]) => {
				const perLine = Math.max(0, Math.floor(bytes / count) - 1);
				const fill = (size: number) => letter.repeat(Math.floor(size / Buffer.byteLength(letter)));
				const lines = Array.from({ length: count }, () => fill(perLine));
				const missing = Math.max(0, bytes - Buffer.byteLength(lines.join("\n")));
				lines[count - 1] += "y".repeat(Math.min(missing, maxBytes));
				if (longFirst !== null) lines[0] = "z".repeat(maxBytes + longFirst);
				return lines.join("\n") + "\n".repeat(emptyEnds);
			});
		const number = fc.option(
			fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 2 * maxLines })),
		);
		const limit = fc.oneof(number, fc.integer({ min: maxLines - 2, max: maxLines + 2 }));
		await fc.assert(
			fc.asyncProperty(file, number, limit, async (text, offset, lines) => {
				const count = text.split("\n").length;
				await expectPiToAnswer(text, {
					...(offset !== null && { offset: ((offset - 1) % count) + 1 }),
					...(lines !== null && { limit: lines }),
				});
			}),
			{ numRuns: runs(300) },
		);
	});
});
