/** Results of tools as a game plays them: made from a seed, quicker than the generators of a property. */
import type { CallResult } from "../../src/birth/index.ts";

/** A number below the given one. */
export type Random = (below: number) => number;

export function randomFrom(seed: number): Random {
	let state = seed | 0;
	return (below) => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
	};
}

export function pick<Value>(random: Random, values: readonly Value[]): Value {
	return values[random(values.length)] as Value;
}

const ESC = "\u001b";
const MOVES = ["\r", "\b", ..."ABCDEFGJK"].flatMap((move) =>
	move.length === 1 && move >= "A" ? [`${ESC}[${move}`, `${ESC}[2${move}`] : [move],
);
const COLOURS = [`${ESC}[32m`, `${ESC}[0m`, `${ESC}[1m`];
const ODD = ["\t", "\0", "日本", "📦", "\ud800", "\udc00x", "\f", "\u2028", "\u0085", ESC, "\r"];
const LOOKALIKES = [
	"[strata: lines 1-6 of the output of `read a` above, unchanged]",
	"[strata: lines ",
	"[strata: 3 more lines equal to the line above]",
	"[strata: as a terminal shows it]",
	" [strata: lines 1-6 of the output of `read a` above, unchanged]",
	"x [strata: lines 1-2 of the output of `bash make` above, unchanged]",
];
const UNITS = ["", " ms", "%", " kB", "/40", " of 40", ".5", ":05:06", "-11-16", "x", " B/s"];
const WORDS = ["compiling ", "GET /a ", "v", "warning ", "日本 ", "at "];

function codeLine(random: Random): string {
	return `\tconst value${random(40)} = await compute("${random(12)}", options);`;
}

function numberedLines(random: Random): string[] {
	const parts = Array.from({ length: 1 + random(3) }, () => ({
		word: pick(random, WORDS),
		unit: pick(random, UNITS),
		from: random(random(3) === 0 ? 3000 : 20),
		step: random(4) - 1,
		isFree: random(6) === 0,
	}));
	return Array.from({ length: 2 + random(30) }, (_, line) =>
		// Now and then the same characters in another order.
		(random(40) === 0 ? parts.toReversed() : parts)
			.map(({ word, unit, from, step, isFree }) => {
				const number = isFree ? random(100) : Math.abs(from + step * line);
				return word + number + (random(80) === 0 ? pick(random, UNITS) : unit);
			})
			.join(""),
	);
}

function drawnLines(random: Random): string[] {
	const signs = pick(random, [["\r"], COLOURS, [...MOVES, ...COLOURS], [...COLOURS, "\r"], ODD]);
	const words = ["10 %", "progress", " ", "done", "error: a", "abc def ".repeat(3)];
	return Array.from({ length: 1 + random(8) }, () =>
		Array.from({ length: random(8) }, () => pick(random, random(2) === 0 ? signs : words)).join(""),
	);
}

function partOf(random: Random, earlier: readonly string[]): string[] {
	switch (random(10)) {
		case 0:
			return numberedLines(random);
		case 1:
			return drawnLines(random);
		case 2: {
			const line = pick(random, [
				"waiting for the server",
				"",
				"}",
				"error: again",
				codeLine(random),
			]);
			return Array(1 + random(40)).fill(line);
		}
		case 3:
			return random(4) === 0 ? [pick(random, LOOKALIKES)] : [pick(random, ODD).repeat(20)];
		case 4:
		case 5:
			return Array.from({ length: 4 + random(25) }, () => codeLine(random));
		default: {
			// A part of an earlier result, and now and then one of its lines is another.
			const lines = earlier.length === 0 ? [] : pick(random, earlier).split("\n");
			const copy = lines.slice(random(15)).slice(0, 5 + random(60));
			if (random(3) === 0 && copy.length > 0) copy[random(copy.length)] = "another line";
			return copy;
		}
	}
}

const CALLS = [
	{ tool: "read", input: { path: "a" } },
	{ tool: "read", input: { path: "b" } },
	{ tool: "bash", input: { command: "make" } },
	{ tool: "bash", input: { command: "npm test" } },
	{ tool: "now", input: {} },
];

/** The next result of a conversation. One in thirty is no text. */
export function randomResult(random: Random, id: string, earlier: readonly string[]): CallResult {
	const parts = Array.from({ length: random(5) }, () => partOf(random, earlier));
	const text = parts.flat().join(random(30) === 0 ? "\r\n" : "\n") + (random(3) === 0 ? "\n" : "");
	return {
		id,
		...pick(random, CALLS),
		text: random(30) === 0 ? undefined : text,
		isError: random(12) === 0,
		isLoud: random(12) === 0,
		...(random(2) === 0 && { path: `~/blobs/${id}.txt` }),
	};
}
