import { Birth, type CallResult, defaultBirth, isShell } from "../../src/birth/index.ts";
import { screenOf } from "./emulator.ts";
import { expandedByHand, nameByHand, referencesByHand } from "./expander.ts";
import { pick, type Random, randomFrom, randomResult } from "./random-results.ts";
import { wrongIn } from "./unfold.ts";

/** Small bounds, so that short conversations reach them. */
const BOUNDS = [
	{},
	{ maxIndexedLines: 120, maxIndexedChars: 6000, maxIndexedResults: 9, maxPlaces: 3 },
	{ minLines: 2, minChars: 60, minSavedTokens: 1 },
];

/** What the engine decided about a result, or the result as it is. */
interface Shown {
	readonly result: CallResult;
	readonly text: string | undefined;
}

/** Plays conversations of random results and checks every law at every step. Throws with the seed of a violation. */
export function playBirth(steps: number, firstSeed = 1) {
	const played = { steps: 0, conversations: 0, shortened: 0, references: 0 };
	for (let seed = firstSeed; played.steps < steps; seed++) {
		try {
			playConversation(randomFrom(seed * 7919), played);
		} catch (error) {
			throw new Error(`conversation ${seed}: ${(error as Error).message}`, { cause: error });
		}
		played.conversations++;
	}
	return played;
}

function playConversation(random: Random, played: ReturnType<typeof playBirth>): void {
	const settings = {
		dedupe: { ...defaultBirth.dedupe, ...pick(random, BOUNDS) },
		quiet: defaultBirth.quiet,
	};
	const birth = new Birth(settings);
	const [shown, originals]: [Shown[], string[]] = [[], []];
	const hidden = new Set<string>();
	const isVisible = (id: string) => !hidden.has(id);
	for (let length = 1 + random(24); shown.length < length; ) {
		const result = randomResult(random, `call_${shown.length}`, originals);
		// A compaction or a branch hides results, or shows them again.
		if (random(8) === 0) hidden.clear();
		for (const one of shown) if (random(12) === 0) hidden.add(one.result.id);
		// A part of a conversation that began without us is added as it is.
		const isOurs = random(6) !== 0;
		const short = isOurs ? birth.shorten(result, isVisible) : undefined;
		const visible = shown.filter((one) => isVisible(one.result.id));
		if (short) checkShort(result, short, visible);
		if (isOurs && random(6) === 0) {
			const late = new Birth(settings);
			for (const one of shown) late.add(one.result, one.text);
			check(isSame(late.shorten(result, isVisible), short), "a late process decides otherwise");
		}
		check(
			isSame(isOurs ? birth.shorten(result, isVisible) : short, short),
			"deciding has an effect",
		);
		birth.add(result, short?.text);
		shown.push({ result, text: short?.text ?? result.text });
		if (result.text !== undefined) originals.push(result.text);
		played.steps++;
		played.shortened += short ? 1 : 0;
		played.references += short?.references.length ?? 0;
	}
}

function checkShort(
	result: CallResult,
	short: NonNullable<ReturnType<Birth["shorten"]>>,
	visible: readonly Shown[],
): void {
	const original = result.text ?? "";
	check(result.text !== undefined && !result.isError, "an error or a picture was changed");
	check(!/^\[strata: lines /m.test(original), "a text with a line like ours was changed");
	const earlier = visible.map((one) => ({
		id: one.result.id,
		name: nameByHand(one.result),
		text: one.text,
	}));
	check(
		expandedByHand(short.text, earlier) === short.expanded,
		"references expand to another text",
	);
	const references = referencesByHand(short.text, earlier);
	check(isSame(references, short.references), "references are not those of the text");
	const lengths = [short.text, short.expanded, original].map((text) => text.length);
	check(
		lengths.every((length, at) => at === 0 || length >= (lengths[at - 1] as number)),
		"longer",
	);
	check(Buffer.byteLength(short.text) <= Buffer.byteLength(original), "more bytes");
	if (short.expanded === original) return;
	check(isShell(result.tool) && !result.isLoud, "what is no output of a command was made quiet");
	checkQuiet(original, short.expanded);
}

/** A quiet text stands for the output as it is, or as a terminal shows it. */
function checkQuiet(original: string, quiet: string): void {
	check(
		!original.split("\n").some((line) => line.startsWith("[strata: ")),
		"a lookalike was folded",
	);
	const [first = "", ...rest] = quiet.split("\n");
	const lines = first.startsWith("[strata: as a terminal shows it") ? rest : [first, ...rest];
	if (wrongIn(lines, original.split("\n")) === undefined) return;
	const withoutReturn = (line: string) => line.replace(/\r$/, "");
	const wrong = wrongIn(lines.map(withoutReturn), screenOf(original).split("\n"));
	check(wrong === undefined, wrong ?? "");
	const left = new Set(lines.map((line) => line.trim()));
	// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what a terminal gets
	const written = original.replaceAll(/\x1b\[\d*m/g, "").split(/\x1b\[\d*[A-Z]|[\r\n\b]/);
	const isProblem = (part: string) => /error|warning/i.test(part) && !left.has(part.trim());
	check(!written.some(isProblem), "a problem was overwritten");
}

function check(holds: boolean, law: string): void {
	if (!holds) throw new Error(law);
}

function isSame(one: unknown, other: unknown): boolean {
	return JSON.stringify(one) === JSON.stringify(other);
}
