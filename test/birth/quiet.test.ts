import { describe, expect, test } from "vitest";
import { defaultBirth, quiet } from "../../src/birth/index.ts";
import { rendered } from "../../src/birth/terminal.ts";
import { fc, runs } from "../support/property.ts";
import { screenOf } from "./emulator.ts";

const settings = defaultBirth.quiet;
const ESC = "\u001b";

/** Ends that no fold touches. */
const tail = Array.from(
	{ length: settings.tail },
	(_, line) => `end ${"abcdefghijklmnopqrst"[line]}`,
);

function quietOf(lines: readonly string[], path?: string): string[] | undefined {
	const shown = quiet([...lines, ...tail].join("\n"), settings, path)?.split("\n");
	if (!shown) return undefined;
	expect(shown.slice(-tail.length)).toEqual(tail);
	return shown.slice(0, -tail.length);
}

describe("rendering", () => {
	test.each([
		["progress by carriage returns", "10 %\r50 %\r100 %\ndone", "100 %\ndone"],
		["what a shorter text leaves", "downloading\rready\n", "readyoading\n"],
		["erasing a line", `downloading 📦\r${ESC}[Kready\n${ESC}[2Kx`, "ready\nx"],
		["colours", `${ESC}[1;31mred${ESC}[0m and ${ESC}[38;5;3mmore${ESC}[m`, "red and more"],
		["backspaces", "12%\b\b\b34%", "34%"],
		["a title and a bell", `${ESC}]0;title\u0007text\u0007${ESC}]2;x${ESC}\\`, "text"],
		["a link", `${ESC}]8;;https://a.b/c${ESC}\\here${ESC}]8;;${ESC}\\.`, "here."],
		["a hidden cursor", `${ESC}[?25ltext${ESC}[?25h${ESC}(B`, "text"],
		["lines that are drawn again", `a: 1\nb: 1\n${ESC}[2Aa: 2\nb: 2\n`, "a: 2\nb: 2\n"],
		["erasing below", `one\ntwo\nthree${ESC}[2F${ESC}[Jlast`, "last"],
		["progress before such a line end", "10 %\r50 %\r\nnext\r\n", "50 %\r\nnext\r\n"],
		["columns", `abc${ESC}[1Gx${ESC}[5Gy${ESC}[2Dz`, "xbczy"],
		["line ends of Windows", `a\r\n${ESC}[32mb${ESC}[0m\r\n`, "a\r\nb\r\n"],
	])("shows %s as a terminal does", (_, text, shown) => {
		expect(rendered(text)).toBe(shown);
	});

	test.each([
		["an unknown sequence", `${ESC}[5n`],
		["another screen", `${ESC}[?1049htext`],
		["a cleared screen", `a${ESC}[2Jb`],
		["a cursor at an absolute place", `a${ESC}[3;4Hb`],
		["a sequence that does not end", `a${ESC}[12`],
		["an escape in a sequence", `a${ESC}[${ESC}[0mK`],
		["a title with a line end", `${ESC}]0;a\nb\u0007`],
		["a move above the text", `a\n${ESC}[2Ab`],
		["a move below the text", `a\n${ESC}[1Bb`],
		["a move far to the right", `a${ESC}[99999Cb`],
		["an overwritten wide character", "日本\rab"],
		["an overwritten tab", "a\tb\rc"],
		["a backspace over an emoji", "📦\b"],
		["a form feed", "a\rb\fc"],
		["a saved cursor", `a${ESC}7b${ESC}8`],
		["an overwritten error", "Error: no space left\rdone                 "],
		["an erased warning", `warning: old\n${ESC}[1A${ESC}[Jdone`],
	])("leaves a text with %s alone", (_, text) => {
		expect(rendered(text)).toBeUndefined();
		expect(quiet(`${text}\n${"x".repeat(300)}\r${"y".repeat(300)}\n`, settings)).toBeUndefined();
	});

	test("keeps a problem that is drawn again", () => {
		expect(rendered(`error: a\n12 %\n${ESC}[2Aerror: a\n99 %\n`)).toBe("error: a\n99 %\n");
	});

	test.each([
		["all moves", "ABCDEFGJK"],
		["moves within lines", "CDGK"],
	])("agrees with a terminal on random output with %s", (_, letters) => {
		const piece = fc.oneof(
			fc.constantFrom("a", "bc", "def ", " ", "\r", "\n", "\b", "\r\r"),
			fc
				.tuple(fc.constantFrom("", "0", "1", "2", "3"), fc.constantFrom(...letters))
				.map(([number, letter]) => `${ESC}[${number}${letter}`),
		);
		fc.assert(
			fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
				// `\r\n` is one line end to us: it keeps its `\r`, which the terminal does not show.
				const text = pieces.join("").replaceAll(/\r+\n/g, "\n");
				const shown = rendered(text);
				if (shown !== undefined) expect(shown).toBe(screenOf(text));
			}),
			{ numRuns: runs(2500) },
		);
	});

	test("takes linear time on hostile output", { tags: "slow" }, () => {
		const overwritten = `${"a".repeat(9000)}${"\bx\b".repeat(100_000)}`;
		expect(rendered(overwritten)).toHaveLength(9000);
		expect(rendered(`${ESC}]0;`.repeat(100_000))).toBeUndefined();
		expect(
			rendered(`${"a\n".repeat(1000)}${`${ESC}[999A${ESC}[999B`.repeat(10_000)}`),
		).toBeDefined();
		expect(rendered(`${"progress\r".repeat(200_000)}`)).toBe("progress");
	});
});

describe("equal lines", () => {
	test("are folded with their count", () => {
		const waiting = "waiting for the server to start";
		expect(quietOf(["begin", ...Array(40).fill(waiting), "ready"])).toEqual([
			"begin",
			waiting,
			"[strata: 39 more lines equal to the line above]",
			"ready",
		]);
	});

	test("stay if they are few, or if a fold is not shorter", () => {
		expect(quietOf(Array(3).fill("x".repeat(200)))).toBeUndefined();
		expect(quietOf([...Array(20).fill(""), ...Array(40).fill("}")])).toBeUndefined();
	});

	test("name the exact output in the first fold", () => {
		const lines = ["a", "b"].flatMap((name) => Array(40).fill(`waiting for server ${name}`));
		expect(quietOf(lines, "~/blobs/1.txt")).toEqual([
			"waiting for server a",
			"[strata: 39 more lines equal to the line above; exact output: read ~/blobs/1.txt]",
			"waiting for server b",
			"[strata: 39 more lines equal to the line above]",
		]);
	});
});

describe("lines that are equal up to numbers", () => {
	const steps = (count: number, line: (step: number) => string) =>
		Array.from({ length: count }, (_, step) => line(step + 1));

	test("are folded between the first and the last, with the numbers that vary", () => {
		expect(quietOf(steps(120, (step) => `Compiling module ${step} of 120`))).toEqual([
			"Compiling module 1 of 120",
			"[strata: 118 more lines like those around it, with 2 to 119]",
			"Compiling module 120 of 120",
		]);
		expect(
			quietOf(steps(50, (step) => `wrote block ${500 - step * 10} at offset ${step}`)),
		).toEqual([
			"wrote block 490 at offset 1",
			"[strata: 48 more lines like those around it, with 480 to 10 in steps of 10, 2 to 49]",
			"wrote block 0 at offset 50",
		]);
	});

	test("may have times, sizes and shares in any order", () => {
		const lines = steps(
			30,
			(step) => `12:00:${10 + step} built in ${(step * 7) % 31} ms, ${step % 5} kB`,
		);
		expect(quietOf(lines)).toEqual(
			[
				lines[0],
				"[strata: 28 more lines like those around it, with between 12:00:12 and 12:00:39, between 0 ms and 30 ms, between 0 kB and 4 kB]",
				lines[29],
			].map((line) => line?.replace("between 0 ms and 30 ms", rangeOfTimes(lines))),
		);
	});

	test.each([
		["other numbers that vary freely", (step: number) => `src/main.ts:${step * step}: call()`],
		["numbers with a point", (step: number) => `epoch ${step} loss 0.${(step * 37) % 100}`],
		["no words", (step: number) => `${step} ${step * 2} ${step * 3} | ${step}`],
		["more digits than letters", (step: number) => `row ${1000 + step} 123456789`],
		["other words", (step: number) => `module ${"abcdefgh"[step % 8]} ${step}`],
		["numbers in a path", (step: number) => `removed /data/${(step * 37) % 100}/${step}/file`],
		[
			"more numbers than can be said",
			(step: number) => `copying ${step} then ${step} and also ${step} and finally ${step}`,
		],
	])("stay with %s", (_, line) => {
		expect(quietOf(steps(100, line))).toBeUndefined();
	});

	test("stay if they are few", () => {
		expect(
			quietOf(steps(7, (step) => `${"a long line of words ".repeat(5)}${step}`)),
		).toBeUndefined();
	});

	function rangeOfTimes(lines: readonly string[]): string {
		const all = lines.slice(1, -1).map((line) => Number(/(\d+) ms/.exec(line)?.[1]));
		return `between ${Math.min(...all)} ms and ${Math.max(...all)} ms`;
	}
});

describe("what is never folded", () => {
	const waiting = Array(30).fill("waiting for the server to start");

	test.each([
		"error: it broke",
		"WARNING",
		"1 test failed",
		"thread panicked",
		"Exception in main",
		"Traceback (most recent call last):",
		"exit status 1",
		"Process exited with code 0",
	])("a line such as %j", (line) => {
		expect(quietOf(Array(50).fill(line))).toBeUndefined();
		const numbered = Array.from({ length: 50 }, (_, step) => `${line} (at step ${step})`);
		expect(quietOf(numbered)).toBeUndefined();
	});

	test("the two lines before and after such a line", () => {
		expect(quietOf([...waiting, "error: it broke", ...waiting])).toEqual([
			waiting[0],
			"[strata: 27 more lines equal to the line above]",
			waiting[0],
			waiting[0],
			"error: it broke",
			waiting[0],
			waiting[0],
			"[strata: 28 more lines equal to the line above]",
		]);
	});

	test("the last lines", () => {
		const shown = quiet(Array(100).fill(waiting[0]).join("\n"), settings)?.split("\n");
		expect(shown).toEqual([
			waiting[0],
			"[strata: 79 more lines equal to the line above]",
			...Array(20).fill(waiting[0]),
		]);
	});

	test("a text that has a line like ours, also after rendering", () => {
		expect(quietOf(["[strata: mine]", ...waiting])).toBeUndefined();
		expect(quietOf([`${ESC}[1m[strata: mine]${ESC}[0m`, ...waiting])).toBeUndefined();
	});
});

test("a rendered text says where the exact output is", () => {
	const text = `${Array.from({ length: 100 }, (_, step) => `${step} %`).join("\r")}\ndone`;
	expect(quiet(text, settings)).toBe("99 %\ndone");
	expect(quiet(text, settings, "~/1.txt")).toBe(
		"[strata: as a terminal shows it; exact output: read ~/1.txt]\n99 %\ndone",
	);
	expect(quiet(text, settings, "~/1\n.txt")).toBeUndefined();
});

test("an output that saves less than 25 tokens stays as it is", () => {
	expect(quiet("10 %\r100 %\n", settings)).toBeUndefined();
});
