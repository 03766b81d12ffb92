/** Lines from `at` on that are equal up to their numbers. */
export interface SimilarRun {
	/** The first line behind the run. */
	readonly end: number;
	/** Says which numbers the lines from `start` up to `end` have. */
	describe(start: number, end: number): string;
}

/** Longer lines are compared as they are. */
const MAX_CHARS = 500;

/** More numbers that vary are data. */
const MAX_VARYING = 3;

/**
 * The longest run in which every number that varies either goes up or down in equal steps, or is a
 * time, a size or a share: nothing else that differs may be left out. A line without words is data.
 */
export function similarRun(
	lines: readonly string[],
	at: number,
	last: number,
): SimilarRun | undefined {
	const first = lines[at] as string;
	const second = lines[at + 1];
	if (at + 1 >= last || second === undefined || !isSimilar(first, second)) return undefined;
	const start = numbersIn(first);
	const next = numbersIn(second);
	if (!hasWords(first) || start.length !== next.length) return undefined;
	const steps = start.map(({ value }, index) => stepOf(value, next[index]?.value));
	const fits = ({ text, value, isMeasured }: NumberInLine, index: number, line: number) => {
		const from = start[index] as NumberInLine;
		if (isMeasured && from.isMeasured) return true;
		if (Number.isNaN(value)) return text === from.text;
		return value === from.value + (steps[index] as number) * line;
	};
	let end = at + 1;
	let varying = new Set<number>();
	for (; end < last && isSimilar(first, lines[end] as string); end++) {
		const numbers = numbersIn(lines[end] as string);
		if (numbers.length !== start.length) break;
		if (!numbers.every((number, index) => fits(number, index, end - at))) break;
		const different = numbers.flatMap(({ text }, index) =>
			text === start[index]?.text ? [] : [index],
		);
		const all = new Set([...varying, ...different]);
		if (all.size > MAX_VARYING) break;
		varying = all;
	}
	const places = [...varying].sort((a, b) => a - b);
	return { end, describe: (from, to) => describe(lines.slice(from, to), places) };
}

function stepOf(from: number, to: number | undefined): number {
	return to === undefined ? Number.NaN : to - from;
}

interface NumberInLine {
	readonly text: string;
	/** `NaN` for a time of day, and for a number that is too long to count with. */
	readonly value: number;
	readonly isMeasured: boolean;
}

/** A date or time of day, or a number with the unit of a time, size or share, or with its total. */
const NUMBER =
	/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|(\d+(?:\.\d+)?)( ?(?:%|(?:ns|[uµm]?s|secs?|seconds?|min|minutes?|[kKMGT]?i?[bB]|bytes?)(?:\/s)?(?![A-Za-z]))|(?<![A-Za-z_/.-]\d+)(?:\/| of )\d+(?![\w/.-]))?/g;

function numbersIn(line: string): NumberInLine[] {
	const found: NumberInLine[] = [];
	NUMBER.lastIndex = 0;
	for (let match = NUMBER.exec(line); match; match = NUMBER.exec(line)) {
		const [whole, digits, unit] = match;
		if (digits === undefined) {
			found.push({ text: whole, value: Number.NaN, isMeasured: true });
			continue;
		}
		NUMBER.lastIndex = match.index + digits.length; // its total is a number too
		const isTotal = unit !== undefined && /\d$/.test(unit);
		const text = unit === undefined || isTotal ? digits : digits + unit;
		const isCounted = digits.length <= 15 && !digits.includes(".");
		const value = isCounted ? Number(digits) : Number.NaN;
		found.push({ text, value, isMeasured: unit !== undefined });
	}
	return found;
}

/** At least one word, and more letters than digits. */
function hasWords(line: string): boolean {
	if (!/\p{L}{3}/u.test(line)) return false;
	const letters = line.replace(/\P{L}/gu, "").length;
	return letters > line.replace(/\D/g, "").length;
}

/** Whether two lines are equal but for digits, and for spaces in front of them. */
function isSimilar(one: string, other: string): boolean {
	if (one.length > MAX_CHARS || other.length > MAX_CHARS) return false;
	if (!haveSimilarEnds(one, other)) return false;
	let at = 0;
	let to = 0;
	while (at < one.length && to < other.length) {
		const unit = one.charCodeAt(at);
		const isPlain = unit > NINE || (unit < ZERO && unit !== SPACE);
		if (isPlain && unit === other.charCodeAt(to)) {
			at++;
			to++;
			continue;
		}
		const word = afterSpaces(one, at);
		const wordTo = afterSpaces(other, to);
		const end = afterDigits(one, word);
		const endTo = afterDigits(other, wordTo);
		const areNumbers = end > word && endTo > wordTo;
		const areSpaces = end === word && endTo === wordTo && word > at && word - at === wordTo - to;
		if (!areNumbers && !areSpaces) return false;
		at = end;
		to = endTo;
	}
	return at >= one.length && to >= other.length;
}

/** False for most lines, at the price of two characters each. */
function haveSimilarEnds(one: string, other: string): boolean {
	const first = one.charCodeAt(0);
	const firstTo = other.charCodeAt(0);
	if (first !== firstTo && (first > NINE || firstTo > NINE)) return false;
	const last = one.charCodeAt(one.length - 1);
	const lastTo = other.charCodeAt(other.length - 1);
	return last === lastTo || (last <= NINE && lastTo <= NINE);
}

const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

function afterSpaces(text: string, from: number): number {
	let at = from;
	while (text.charCodeAt(at) === SPACE) at++;
	return at;
}

function afterDigits(text: string, from: number): number {
	let at = from;
	for (let unit = text.charCodeAt(at); unit >= ZERO && unit <= NINE; unit = text.charCodeAt(at))
		at++;
	return at;
}

function describe(lines: readonly string[], varying: readonly number[]): string {
	const all = lines.map(numbersIn);
	return varying
		.map((index) => rangeOf(all.map((numbers) => numbers[index] as NumberInLine)))
		.join(", ");
}

/** For example `2 to 499`, `10 to 490 in steps of 10`, or `between 3 ms and 120 ms`. */
function rangeOf(numbers: readonly NumberInLine[]): string {
	const [first, last] = [numbers[0] as NumberInLine, numbers.at(-1) as NumberInLine];
	if (numbers.length === 1) return first.text;
	const step = (numbers[1] as NumberInLine).value - first.value;
	const isEven = numbers.every(({ value }, index) => value === first.value + step * index);
	if (isEven) {
		if (step === 0) return first.text;
		return `${first.text} to ${last.text}${Math.abs(step) === 1 ? "" : ` in steps of ${Math.abs(step)}`}`;
	}
	const size = ({ text }: NumberInLine) => Number.parseFloat(text);
	const isTime = Number.isNaN(first.value) && /[-:]/.test(first.text);
	const sorted = isTime
		? numbers.map(({ text }) => text).sort()
		: numbers.toSorted((a, b) => size(a) - size(b)).map(({ text }) => text);
	return `between ${sorted[0]} and ${sorted.at(-1)}`;
}
