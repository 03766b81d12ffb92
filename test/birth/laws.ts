import { describe, expect, test } from "vitest";
import { Birth, type CallResult, defaultBirth, expand } from "../../src/birth/index.ts";
import { fc } from "../support/property.ts";
import { expandedByHand } from "./expander.ts";
import { playBirth } from "./game.ts";

/** A result whose name in references is plain: the tool and its one argument. */
type Result = CallResult & { readonly text: string; readonly name: string };

/** Small bounds, so that short conversations reach them. */
const TIGHT = { maxIndexedLines: 120, maxIndexedChars: 6000, maxIndexedResults: 9, maxPlaces: 3 };
const bounds = fc.constantFrom({}, TIGHT, { minLines: 2, minChars: 60, minSavedTokens: 1 });

const line = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.nat(40).map((at) => `\tconst value${at} = await compute("${at}", options);`),
	},
	{
		weight: 2,
		arbitrary: fc.constantFrom("", "}", "\t", "waiting for the server", "10 %\r20 %\r"),
	},
	{ weight: 1, arbitrary: fc.nat(30).map((step) => `compiling module ${step} of the program`) },
	{ weight: 1, arbitrary: fc.string() },
);

/** Copies a part of an earlier result, so that runs are common. */
const copied = fc.record({
	from: fc.nat(),
	start: fc.nat(15),
	count: fc.integer({ min: 5, max: 60 }),
});
const repeated = fc.tuple(line, fc.integer({ min: 1, max: 40 }));
const lookalike = fc.constantFrom(
	"[strata: lines 1-6 of the output of `read a` above, unchanged]",
	"[strata: lines ",
	"[strata: 3 more lines equal to the line above]",
);
const part = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.array(line, { minLength: 4, maxLength: 25 }).map((lines) => ({ lines })),
	},
	{ weight: 8, arbitrary: copied },
	{ weight: 2, arbitrary: repeated.map(([one, count]) => ({ lines: Array(count).fill(one) })) },
	{ weight: 1, arbitrary: lookalike.map((one) => ({ lines: [one] })) },
);

const call = fc.oneof(
	fc
		.constantFrom("a", "b")
		.map((path) => ({ tool: "read", input: { path }, name: `read ${path}` })),
	fc
		.constantFrom("make", "npm test")
		.map((command) => ({ tool: "bash", input: { command }, name: `bash ${command}` })),
);

const conversation = fc
	.array(
		fc.record({
			call,
			parts: fc.array(part, { maxLength: 4 }),
			isError: fc.nat(9).map((chance) => chance === 0),
			isStored: fc.boolean(),
		}),
		{ minLength: 1, maxLength: 14 },
	)
	.map((drafts) => {
		const made: Result[] = [];
		for (const [at, { call, parts, isError, isStored }] of drafts.entries()) {
			const lines = parts.flatMap((one) => {
				if ("lines" in one) return one.lines;
				const source = made[one.from % Math.max(1, made.length)]?.text ?? "";
				return source.split("\n").slice(one.start, one.start + one.count);
			});
			const path = isStored ? { path: `~/blobs/${at}.txt` } : {};
			made.push({ id: `call_${at}`, ...call, text: lines.join("\n"), isError, ...path });
		}
		return made;
	});

function play(
	results: readonly Result[],
	bound: object,
	isVisible?: (at: number, id: string) => boolean,
) {
	const birth = new Birth({
		dedupe: { ...defaultBirth.dedupe, ...bound },
		quiet: defaultBirth.quiet,
	});
	return results.map((result, at) => {
		const short = birth.shorten(result, isVisible && ((id) => isVisible(at, id)));
		birth.add(result, short?.text);
		return short ?? { text: result.text, expanded: result.text };
	});
}

/** A run is a conversation of some seven results. */
export function checkLaws(numRuns: number): void {
	const options = { numRuns };
	describe("whatever the results are", () => laws(options));
}

/** All laws at once, on results with more control characters, numbers and lookalikes. */
export function checkGame(steps: number, firstSeed: number): void {
	test(`no law is violated in ${steps} steps from conversation ${firstSeed} on`, () => {
		const played = playBirth(steps, firstSeed);
		expect(played.steps).toBeGreaterThanOrEqual(steps);
		expect(played.references).toBeGreaterThan(steps / 10);
		expect(played.shortened).toBeGreaterThan(steps / 10);
	});
}

function laws(options: { numRuns: number }): void {
	test("a decision depends on the results up to its own, and is always the same", () => {
		fc.assert(
			fc.property(conversation, bounds, fc.nat(), (results, bound, cut) => {
				const all = play(results, bound);
				const some = results.slice(0, cut % (results.length + 1));
				expect(play(some, bound)).toEqual(all.slice(0, some.length));
			}),
			options,
		);
	});

	test("a process that starts late decides the same from the shown texts", () => {
		fc.assert(
			fc.property(conversation, bounds, fc.nat(), (results, bound, cut) => {
				const all = play(results, bound);
				const late = new Birth({
					dedupe: { ...defaultBirth.dedupe, ...bound },
					quiet: defaultBirth.quiet,
				});
				const at = cut % results.length;
				for (const [index, result] of results.slice(0, at).entries()) {
					late.add(result, all[index]?.text);
				}
				const result = results[at] as Result;
				const short = late.shorten(result) ?? { text: result.text, expanded: result.text };
				expect(short).toEqual(all[at]);
			}),
			options,
		);
	});

	test("every reference is backed by a visible text, and expands to the original", () => {
		fc.assert(
			fc.property(conversation, bounds, fc.nat(), (results, bound, hidden) => {
				// Each result hides some earlier ones, as a compaction or a branch would.
				const isVisible = (at: number, id: string) =>
					(hidden + at * 7 + id.length * Number(id.slice(5))) % 5 !== 0;
				const shown = play(results, bound, isVisible);
				for (const [at, { text, expanded }] of shown.entries()) {
					const result = results[at] as Result;
					if (text === result.text) continue;
					const earlier = results
						.slice(0, at)
						.map((one, index) => ({ ...one, text: shown[index]?.text as string }))
						.filter(({ id }) => isVisible(at, id));
					expect(expandedByHand(text, earlier)).toBe(expanded);
					expect(expand(text, earlier)).toBe(expanded);
					if (result.tool !== "bash") expect(expanded).toBe(result.text);
				}
			}),
			options,
		);
	});

	test("no result gets longer, and errors and texts with lines like ours stay as they are", () => {
		fc.assert(
			fc.property(conversation, bounds, (results, bound) => {
				for (const [at, { text, expanded }] of play(results, bound).entries()) {
					const { text: original, isError } = results[at] as Result;
					const isOurs = original.split("\n").some((one) => one.startsWith("[strata: lines "));
					if (isError || isOurs) expect(text).toBe(original);
					expect(text.length).toBeLessThanOrEqual(expanded.length);
					expect(expanded.length).toBeLessThanOrEqual(original.length);
					const bytes = (one: string) => Buffer.byteLength(one);
					expect(bytes(text)).toBeLessThanOrEqual(bytes(original));
				}
			}),
			options,
		);
	});

	test("no run of lines is left that could have been a reference", () => {
		// Without bounds on places: six equal lines in a row, long enough, of one earlier shown text.
		fc.assert(
			fc.property(conversation, (results) => {
				const shown = play(results, { maxPlaces: 1000 });
				for (const [at, { text }] of shown.entries()) {
					const { text: original } = results[at] as Result;
					if (text === original) continue;
					const left = text
						.split("\n[strata: lines ")
						.map((rest, index) => (index === 0 ? rest : rest.slice(rest.indexOf("\n") + 1)));
					for (const [from, { text: base }] of shown.slice(0, at).entries()) {
						expect(results[from]?.id).toBeDefined();
						for (const gap of left) expect(longRunIn(gap, base)).toBeUndefined();
					}
				}
			}),
			options,
		);
	});
}

/** A run of lines with many words that stands in both. */
function longRunIn(text: string, base: string): string | undefined {
	const lines = text.split("\n");
	for (let at = 0; at + 12 <= lines.length; at++) {
		const run = lines.slice(at, at + 12);
		const isCode = run.every((one) => one.startsWith("\tconst value"));
		if (isCode && `\n${base}\n`.includes(`\n${run.join("\n")}\n`)) return run.join("\n");
	}
	return undefined;
}
