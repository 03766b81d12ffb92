import { lineAt, lineEnd, type ScannedText } from "./lines.ts";
import { isDigit, Numbers } from "./numbers.ts";

/** Lines that are equal up to their numbers. */
interface SimilarRun {
	/** The first line behind the run. */
	readonly end: number;
	/** Which numbers of a line vary, in order. */
	readonly varying: readonly number[];
}

/** Longer lines are compared as they are. */
const MAX_CHARS = 500;

/** More numbers that vary are data. */
const MAX_VARYING = 3;

/** Numbers of earlier lines are forgotten beyond this many. */
const MAX_NUMBERS = 100_000;

/** Finds lines before `last` that are equal up to their numbers. Ask about lines in order. */
export class SimilarLines {
	readonly #text: ScannedText;
	readonly #last: number;
	readonly #units: Uint16Array;
	readonly #numbers: Numbers;
	/** By line, from `#firstLine` on: where its numbers begin. The last one is where they end. */
	#numbersOf = [0];
	#firstLine = 0;
	/** Each line from `start` up to `end` is similar to the next one. Those behind may be, unless closed. */
	#group = { start: -1, end: -1, isClosed: false, letters: 0 };

	constructor(text: ScannedText, last: number) {
		this.#text = text;
		this.#last = last;
		this.#units = unitsOf(text.text);
		this.#numbers = new Numbers(text.text, this.#units);
	}

	/**
	 * The longest run from `at` on in which every number that varies either goes up or down in equal steps,
	 * or is a time, a size or a share: nothing else that differs may be left out. A line without words is
	 * data.
	 */
	runFrom(at: number): SimilarRun | undefined {
		if (at > this.#group.end) this.#group = { start: at, end: at, isClosed: false, letters: -1 };
		if (!this.#continues(at + 1) || !this.#hasWords(at)) return undefined;
		this.#forgetBefore(at);
		const start = this.#numbersIn(at);
		const count = this.#numbersIn(at + 1) - start;
		if (this.#numbersIn(at + 2) - start !== count * 2) return undefined;
		let end = at + 1;
		let varying: readonly number[] = [];
		for (; end < this.#last && this.#continues(end); end++) {
			const numbers = this.#numbersIn(end);
			if (this.#numbersIn(end + 1) - numbers !== count) break;
			const all = this.#varying(start, numbers, count, end - at, varying);
			if (!all) break;
			varying = all;
		}
		return { end, varying: varying.toSorted((a, b) => a - b) };
	}

	/** Says which numbers the lines from `start` up to `end` have. */
	describe({ varying }: SimilarRun, start: number, end: number): string {
		return varying
			.map((place) =>
				this.#rangeOf(
					Array.from({ length: end - start }, (_, line) => this.#numbersIn(start + line) + place),
				),
			)
			.join(", ");
	}

	/** Whether a line of the current group, or the one behind it, is similar to the one before. */
	#continues(line: number): boolean {
		const group = this.#group;
		if (line <= group.end) return true;
		if (group.isClosed || line >= this.#last) return false;
		const isSimilar =
			this.#text.shapes[line] === this.#text.shapes[line - 1] && this.#isSimilar(line - 1, line);
		if (isSimilar) group.end = line;
		else group.isClosed = true;
		return isSimilar;
	}

	/** Whether two lines are equal but for digits, and for spaces in front of them. */
	#isSimilar(line: number, other: number): boolean {
		const units = this.#units;
		let at = this.#text.starts[line] as number;
		let to = this.#text.starts[other] as number;
		const end = lineEnd(this.#text, line);
		const endTo = lineEnd(this.#text, other);
		if (end - at > MAX_CHARS || endTo - to > MAX_CHARS) return false;
		while (at < end && to < endTo) {
			const unit = units[at] as number;
			if (unit === units[to] && unit !== SPACE && !isDigit(unit)) {
				at++;
				to++;
				continue;
			}
			const word = afterSpaces(units, at);
			const wordTo = afterSpaces(units, to);
			const next = afterDigits(units, word);
			const nextTo = afterDigits(units, wordTo);
			const areNumbers = next > word && nextTo > wordTo;
			const areSpaces =
				next === word && nextTo === wordTo && word > at && word - at === wordTo - to;
			if (!areNumbers && !areSpaces) return false;
			at = next;
			to = nextTo;
		}
		return at === end && to === endTo;
	}

	/** At least one word, and more letters than digits. Similar lines have the same letters. */
	#hasWords(line: number): boolean {
		if (this.#group.letters === -1) this.#group.letters = lettersIn(lineAt(this.#text, line));
		let digits = 0;
		const end = lineEnd(this.#text, line);
		for (let at = this.#text.starts[line] as number; at < end; at++) {
			if (isDigit(this.#units[at] as number)) digits++;
		}
		return this.#group.letters > digits;
	}

	/** The first number of a line, or of a later one. */
	#numbersIn(line: number): number {
		const index = line - this.#firstLine;
		while (this.#numbersOf.length <= index) {
			const next = this.#firstLine + this.#numbersOf.length - 1;
			this.#numbers.append(this.#text.starts[next] as number, lineEnd(this.#text, next));
			this.#numbersOf.push(this.#numbers.count);
		}
		return this.#numbersOf[index] as number;
	}

	#forgetBefore(line: number): void {
		const isNew = line - this.#firstLine >= this.#numbersOf.length;
		if (!isNew && this.#numbers.count < MAX_NUMBERS) return;
		this.#numbers.count = 0;
		this.#numbersOf = [0];
		this.#firstLine = line;
	}

	/** The numbers that vary with this line too; `undefined` if it is not of the run. */
	#varying(
		start: number,
		numbers: number,
		count: number,
		line: number,
		before: readonly number[],
	): readonly number[] | undefined {
		let varying = before;
		for (let index = 0; index < count; index++) {
			const first = start + index;
			const number = numbers + index;
			const isSame = this.#numbers.compare(first, number) === 0;
			if (!this.#fits(first, first + count, number, line, isSame)) return undefined;
			if (isSame || varying.includes(index)) continue;
			if (varying.length === MAX_VARYING) return undefined;
			varying = [...varying, index];
		}
		return varying;
	}

	/** Whether a number goes on as the first two lines of the run began. */
	#fits(first: number, second: number, number: number, line: number, isSame: boolean): boolean {
		const { value, isMeasured } = this.#numbers;
		if (isMeasured[number] && isMeasured[first]) return true;
		const own = value[number] as number;
		if (Number.isNaN(own)) return isSame;
		const from = value[first] as number;
		return own === from + ((value[second] as number) - from) * line;
	}

	/** For example `2 to 499`, `10 to 490 in steps of 10`, or `between 3 ms and 120 ms`. */
	#rangeOf(all: readonly number[]): string {
		const numbers = this.#numbers;
		const [first, last] = [all[0] as number, all.at(-1) as number];
		if (all.length === 1) return numbers.textOf(first);
		const from = numbers.value[first] as number;
		const step = (numbers.value[all[1] as number] as number) - from;
		const isEven = all.every((one, index) => numbers.value[one] === from + step * index);
		if (isEven && step === 0) return numbers.textOf(first);
		if (isEven) {
			const steps = Math.abs(step) === 1 ? "" : ` in steps of ${Math.abs(step)}`;
			return `${numbers.textOf(first)} to ${numbers.textOf(last)}${steps}`;
		}
		const isTime = Number.isNaN(from) && /[-:]/.test(numbers.textOf(first));
		const size = (one: number) => {
			const value = numbers.value[one] as number;
			return Number.isNaN(value) ? Number.parseFloat(numbers.textOf(one)) : value;
		};
		const compare = (one: number, other: number) =>
			isTime ? numbers.compare(one, other) : size(one) - size(other);
		const least = all.reduce((found, one) => (compare(one, found) < 0 ? one : found));
		const most = all.reduce((found, one) => (compare(one, found) >= 0 ? one : found));
		return `between ${numbers.textOf(least)} and ${numbers.textOf(most)}`;
	}
}

const NEWLINE = 0x0a;
const SPACE = 0x20;

/** Line ends behind the text, so that no look ahead leaves the array. */
const PADDING = 32;

function unitsOf(text: string): Uint16Array {
	const units = new Uint16Array(text.length + PADDING);
	Buffer.from(units.buffer).write(text, "utf16le");
	return units.fill(NEWLINE, text.length);
}

function afterSpaces(units: Uint16Array, from: number): number {
	let at = from;
	while (units[at] === SPACE) at++;
	return at;
}

function afterDigits(units: Uint16Array, from: number): number {
	let at = from;
	while (isDigit(units[at] as number)) at++;
	return at;
}

/** The length of all letters; 0 if there is no word of three. */
function lettersIn(line: string): number {
	// Most lines by far, and much quicker.
	if (/^[ -~\t\r]*$/.test(line)) {
		return /[A-Za-z]{3}/.test(line) ? line.replace(/[^A-Za-z]+/g, "").length : 0;
	}
	return /\p{L}{3}/u.test(line) ? line.replace(/\P{L}/gu, "").length : 0;
}
