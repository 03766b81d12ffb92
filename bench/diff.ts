/** The time of a diff of a large file, how long it blocks the event loop, and how far it is from minimal. */
import { diffInterned } from "../src/readcache/diff/line-diff.ts";
import { type Change, internLines } from "../src/readcache/diff/lines.ts";
import { runInSlices, type Steps } from "../src/readcache/diff/slices.ts";
import { unifiedDiff } from "../src/readcache/diff/unified.ts";
import { createRandom, edited, fileOf, sourceLines } from "./readcache/sample-text.ts";
import { type Line, median, report, rounded, sized, timed } from "./support.ts";

const lineCount = sized(12_000, 400);
const manyLines = sized(200_000, 2_000);
const runs = sized(15, 2);

interface Case {
	name: string;
	base: string[];
	current: string[];
}

const random = createRandom(42);
const file = sourceLines(lineCount, random);
const halves = Array.from({ length: lineCount }, (_, i) => `line ${i % (lineCount / 2)}`);
const letters = () => Array.from({ length: lineCount }, () => (random() < 0.5 ? "a" : "b"));
const equal = Array.from({ length: manyLines }, () => "the same");
const many = Array.from({ length: manyLines }, (_, i) => `line ${i % (manyLines / 4)}`);

const cases: Case[] = [
	{ name: "7 edits", base: file, current: edited(file, 7 / lineCount, random) },
	{ name: "1 % edited", base: file, current: edited(file, 0.01, random) },
	{ name: "10 % edited", base: file, current: edited(file, 0.1, random) },
	{ name: "50 % edited", base: file, current: edited(file, 0.5, random) },
	{ name: "all re-indented", base: file, current: file.map((line) => `  ${line}`) },
	{
		name: "block moved",
		base: file,
		current: [...file.slice(lineCount / 3), ...file.slice(0, lineCount / 3)],
	},
	{ name: "disjoint", base: file, current: file.map((_, i) => `other ${i}`) },
	{ name: "no unique lines, 10 % edited", base: halves, current: edited(halves, 0.1, random) },
	{ name: "no unique lines, shuffled", base: halves, current: shuffled(halves) },
	{ name: "two-letter alphabet", base: letters(), current: letters() },
	{ name: "reversed", base: file, current: file.toReversed() },
	{ name: "nested anchors", ...nestedAnchors() },
	{ name: "200,000: equal lines, 1 % edited", base: equal, current: edited(equal, 0.01, random) },
	{ name: "200,000: each 4 times, shuffled", base: many, current: shuffled(many) },
];

const lines: Line[] = [];
for (const { name, base, current } of cases) {
	const texts = { base: fileOf(base), current: fileOf(current) };
	const input = { path: "file.ts", ...texts, maxBytes: 0.9 * Buffer.byteLength(texts.current) };
	// The first run is cold for the first case only: the engine has compiled the code by then.
	const gated = await measure(() => unifiedDiff(input));
	const whole = await measure(() => runInSlices(changesOf(base, current)));
	const edits = whole.value.reduce((sum, c) => sum + c.baseCount + c.currentCount, 0);
	lines.push({
		case: name,
		unit: "ms",
		value: gated.median,
		digits: 2,
		baseline: { name: "counting the lines", value: await countingMs(base, current) },
		from: {
			outcome: gated.value.kind === "diff" ? "diff" : gated.value.reason,
			"first ms": rounded(gated.first),
			"longest stall ms": rounded(gated.longestStall),
			"changes only, median ms": rounded(whole.median),
			"its longest stall ms": rounded(whole.longestStall),
			edits,
			...(base.length <= 20_000 && { "minimal edits": minimalEdits(base, current) }),
			runs,
		},
	});
}
report(lines);

function* changesOf(base: string[], current: string[]): Steps<Change[]> {
	return yield* diffInterned(yield* internLines({ base, current }));
}

/** Times a task `runs` times, with a chain of immediates in parallel: the largest gap between them is the stall. */
async function measure<T>(task: () => Promise<T>) {
	const times: number[] = [];
	let longestStall = 0;
	let lastTurn = 0;
	let running = true;
	const turn = () => {
		const now = performance.now();
		longestStall = Math.max(longestStall, now - lastTurn);
		lastTurn = now;
		if (running) setImmediate(turn);
	};
	let value: T | undefined;
	for (let run = 0; run < runs; run++) {
		await new Promise((resolve) => setImmediate(resolve));
		lastTurn = performance.now();
		running = true;
		setImmediate(turn);
		const start = performance.now();
		value = await task();
		times.push(performance.now() - start);
		running = false;
		await new Promise((resolve) => setImmediate(resolve));
	}
	return {
		value: value as T,
		first: times[0] as number,
		median: median(times),
		longestStall,
	};
}

/** One pass over every line of both, which is the least any diff does. */
async function countingMs(base: string[], current: string[]): Promise<number> {
	const times: number[] = [];
	for (let run = 0; run < runs; run++) {
		const counts = new Map<string, number>();
		const count = () => {
			for (const side of [base, current]) {
				for (const line of side) counts.set(line, (counts.get(line) ?? 0) + 1);
			}
		};
		times.push(await timed(count));
	}
	return median(times);
}

function shuffled(lines: string[]): string[] {
	const result = [...lines];
	for (let i = result.length - 1; i > 0; i--) {
		const j = Math.floor(random() * (i + 1));
		[result[i], result[j]] = [result[j] as string, result[i] as string];
	}
	return result;
}

/** Each line occurs twice until the anchor between its two places is found: one level of recursion per four lines. */
function nestedAnchors() {
	const levels = Array.from({ length: lineCount / 4 }, (_, i) => lineCount / 4 - i);
	const side = (noise: string) =>
		levels.flatMap((n) => [`level ${n}`, `${noise} ${n}`, `level ${n + 1}`, `${noise} again ${n}`]);
	return { base: side("old"), current: side("new") };
}

/** Removed plus added lines of the shortest edit script, by the bit-parallel length of the common subsequence. */
function minimalEdits(base: string[], current: string[]): number {
	const words = Math.ceil(base.length / 32);
	const places = new Map<string, Uint32Array>();
	base.forEach((line, i) => {
		const bits = places.get(line) ?? new Uint32Array(words);
		bits[i >> 5] = (bits[i >> 5] as number) | (1 << (i & 31));
		places.set(line, bits);
	});
	const free = new Uint32Array(words).fill(0xffffffff);
	for (const line of current) {
		const bits = places.get(line);
		if (!bits) continue;
		let carry = 0;
		for (let w = 0; w < words; w++) {
			const row = free[w] as number;
			const hits = (row & (bits[w] as number)) >>> 0;
			const sum = row + hits + carry;
			carry = sum > 0xffffffff ? 1 : 0;
			free[w] = (sum >>> 0) | (row & ~hits);
		}
	}
	let common = 0;
	for (let i = 0; i < base.length; i++) {
		if ((((free[i >> 5] as number) >>> (i & 31)) & 1) === 0) common++;
	}
	return base.length + current.length - 2 * common;
}
