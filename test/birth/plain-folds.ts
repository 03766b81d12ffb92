/** Folding without its speed: every line is compared with every other one of its run, by regular expressions. */
import type { BirthSettings } from "../../src/birth/index.ts";
import { leastPieces } from "../../src/birth/pieces.ts";
import { reportsProblem } from "../../src/birth/problem.ts";

type Settings = BirthSettings["quiet"];

/** The lines with folds; the first of those says where the exact output is stored. */
export function plainFolds(lines: readonly string[], settings: Settings, stored: string): string[] {
	const shown: string[] = [];
	const last = lines.length - settings.tail;
	let note = stored;
	let copied = 0;
	for (let at = 0; at < last; ) {
		const { end, says, to } = nextRun(lines, at, last, settings);
		const [start, stop] = awayFromProblems(lines, at, to, settings.near);
		const count = stop - start;
		const more = `[strata: ${count.toLocaleString("en-US")} more ${count === 1 ? "line" : "lines"} `;
		if (says && count > 0) {
			const fold = `${more}${says(lines.slice(start, stop))}${note}]`;
			const folded = lines.slice(start, stop).join("\n");
			const pieces = (text: string) => leastPieces(text, Number.POSITIVE_INFINITY);
			const isCheaper = pieces(fold) < pieces(folded) + Math.floor(count / 64);
			if (fold.length < folded.length && isCheaper) {
				shown.push(...lines.slice(copied, start), fold);
				copied = stop;
				note = "";
			}
		}
		at = end;
	}
	return [...shown, ...lines.slice(copied)];
}

/** `says` is missing if the run is too short; `to` is behind the lines that may be folded. */
function nextRun(lines: readonly string[], at: number, last: number, settings: Settings) {
	let end = at + 1;
	while (end < last && lines[end] === lines[at]) end++;
	if (end - at >= settings.minEqual) return { end, to: end, says: () => "equal to the line above" };
	const run = similarRun(lines, at, last);
	if (!run || run.end - at < settings.minSimilar) return { end, to: at };
	const says = (folded: readonly string[]) =>
		`like those around it, with ${run.varying.map((index) => rangeOf(folded.map((line) => numbersIn(line)[index] as Found))).join(", ")}`;
	return { end: run.end, to: run.end - 1, says };
}

function awayFromProblems(lines: readonly string[], at: number, to: number, near: number) {
	const isNear = (line: number) =>
		lines.slice(Math.max(0, line - near), line + near + 1).some(reportsProblem);
	let [start, end] = [at + 1, to];
	while (start < end && isNear(start)) start++;
	while (end > start && isNear(end - 1)) end--;
	return [start, end] as const;
}

interface Found {
	readonly text: string;
	readonly value: number;
	readonly isMeasured: boolean;
}

const NUMBER =
	/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|(\d+(?:\.\d+)?)( ?(?:%|(?:ns|[uµm]?s|secs?|seconds?|min|minutes?|[kKMGT]?i?[bB]|bytes?)(?:\/s)?(?![A-Za-z]))|(?<![A-Za-z_/.-]\d+)(?:\/| of )\d+(?![\w/.-]))?/g;

export function numbersIn(line: string): Found[] {
	const found: Found[] = [];
	NUMBER.lastIndex = 0;
	for (let match = NUMBER.exec(line); match; match = NUMBER.exec(line)) {
		const [whole, digits, unit] = match;
		if (digits === undefined) {
			found.push({ text: whole, value: Number.NaN, isMeasured: true });
			continue;
		}
		NUMBER.lastIndex = match.index + digits.length;
		const text = unit === undefined || /\d$/.test(unit) ? digits : digits + unit;
		const value = /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN;
		found.push({ text, value, isMeasured: unit !== undefined });
	}
	return found;
}

function hasWords(line: string): boolean {
	const letters = line.replace(/\P{L}/gu, "").length;
	return /\p{L}{3}/u.test(line) && letters > line.replace(/\D/g, "").length;
}

function similarRun(lines: readonly string[], at: number, last: number) {
	const first = lines[at] as string;
	const start = numbersIn(first);
	const second = numbersIn(lines[at + 1] ?? "");
	if (!hasWords(first) || at + 1 >= last) return undefined;
	let end = at + 1;
	let varying: number[] = [];
	for (; end < last && isSimilar(first, lines[end] as string); end++) {
		const numbers = numbersIn(lines[end] as string);
		if (second.length !== start.length || numbers.length !== start.length) break;
		const fits = numbers.every(({ text, value, isMeasured }, index) => {
			const from = start[index] as Found;
			if (isMeasured && from.isMeasured) return true;
			if (Number.isNaN(value)) return text === from.text;
			return value === from.value + ((second[index] as Found).value - from.value) * (end - at);
		});
		const differ = [...numbers.keys()].filter(
			(index) => numbers[index]?.text !== start[index]?.text,
		);
		const all = [...new Set([...varying, ...differ])];
		if (!fits || all.length > 3) break;
		varying = all;
	}
	return { end, varying: varying.toSorted((a, b) => a - b) };
}

function isSimilar(one: string, other: string): boolean {
	const words = (line: string) => line.replaceAll(/ *\d+/g, "0");
	return one.length <= 500 && other.length <= 500 && words(one) === words(other);
}

function rangeOf(numbers: readonly Found[]): string {
	const [first, last] = [numbers[0] as Found, numbers.at(-1) as Found];
	if (numbers.length === 1) return first.text;
	const step = (numbers[1] as Found).value - first.value;
	if (numbers.every(({ value }, index) => value === first.value + step * index)) {
		if (step === 0) return first.text;
		const steps = Math.abs(step) === 1 ? "" : ` in steps of ${Math.abs(step)}`;
		return `${first.text} to ${last.text}${steps}`;
	}
	const isTime = Number.isNaN(first.value) && /[-:]/.test(first.text);
	const texts = numbers.map(({ text }) => text);
	const sorted = isTime
		? texts.toSorted()
		: texts.toSorted((one, other) => Number.parseFloat(one) - Number.parseFloat(other));
	return `between ${sorted[0]} and ${sorted.at(-1)}`;
}
