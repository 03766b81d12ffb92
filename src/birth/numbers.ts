const LEAST_CAPACITY = 256;

/**
 * The numbers in lines of a text, one after another: dates and times of day, and others with the unit of
 * a time, size or share. Arrays instead of objects, since output has a lot of numbers.
 */
export class Numbers {
	count = 0;
	/** `NaN` for a date or time of day, and for a number that is too long to count with. */
	value = new Float64Array(LEAST_CAPACITY);
	/** 1 if it has a unit or a total, or is a date or time of day. */
	isMeasured = new Uint8Array(LEAST_CAPACITY);
	/** Where each one begins and ends in the text. */
	#from = new Int32Array(LEAST_CAPACITY);
	#to = new Int32Array(LEAST_CAPACITY);
	readonly #text: string;
	readonly #units: Uint16Array;

	/** `units` has those of the text, and a line end behind them. */
	constructor(text: string, units: Uint16Array) {
		this.#text = text;
		this.#units = units;
	}

	textOf(number: number): string {
		return this.#text.slice(this.#from[number], this.#to[number]);
	}

	/** Compares texts by their units. */
	compare(one: number, other: number): number {
		const units = this.#units;
		const from = this.#from[one] as number;
		const otherFrom = this.#from[other] as number;
		const length = (this.#to[one] as number) - from;
		const otherLength = (this.#to[other] as number) - otherFrom;
		for (let at = 0; at < length && at < otherLength; at++) {
			const difference = (units[from + at] as number) - (units[otherFrom + at] as number);
			if (difference !== 0) return difference;
		}
		return length - otherLength;
	}

	/** Appends the numbers of the line between two offsets. */
	append(from: number, to: number): void {
		const units = this.#units;
		while (this.count + to - from > this.value.length) this.#grow();
		for (let at = from; ; ) {
			while (at < to && !isDigit(units[at] as number)) at++;
			if (at >= to) return;
			const end = endOfDate(units, at) || endOfTime(units, at);
			if (end !== 0) this.#push(at, end, Number.NaN, true);
			at = end === 0 ? this.#appendNumber(from, at) : end;
		}
	}

	/** Returns where the next one may begin: behind the digits, since a total is a number too. */
	#appendNumber(lineStart: number, at: number): number {
		const units = this.#units;
		let end = at;
		let value = 0;
		for (; isDigit(units[end] as number); end++) value = value * 10 + (units[end] as number) - ZERO;
		if (end - at > MAX_DIGITS) value = Number.NaN;
		if (units[end] === POINT && isDigit(units[end + 1] as number)) {
			end = endOfDigits(units, end + 1);
			value = Number.NaN;
		}
		const unitEnd = this.#endOfUnit(end);
		this.#push(at, unitEnd, value, unitEnd > end || hasTotal(units, lineStart, end));
		return end;
	}

	/** `at` if there is none. */
	#endOfUnit(at: number): number {
		const units = this.#units;
		const start = units[at] === SPACE ? at + 1 : at;
		if (units[start] === PERCENT) return start + 1;
		let end = units[start] === MICRO ? start + 1 : start;
		while (isLetter(units[end] as number)) end++;
		// Most words are no units, and a string of each would take most of the time.
		if (end === start || !UNIT_ENDS.has(units[end - 1] as number)) return at;
		if (end - start > LONGEST_UNIT || !UNITS.has(this.#text.slice(start, end))) return at;
		const isRate = units[end] === SLASH && units[end + 1] === SMALL_S;
		return isRate && !isLetter(units[end + 2] as number) ? end + 2 : end;
	}

	#push(from: number, to: number, value: number, isMeasured: boolean): void {
		const at = this.count++;
		this.#from[at] = from;
		this.#to[at] = to;
		this.value[at] = value;
		this.isMeasured[at] = isMeasured ? 1 : 0;
	}

	#grow(): void {
		const size = this.value.length * 2;
		this.value = enlarged(this.value, new Float64Array(size));
		this.isMeasured = enlarged(this.isMeasured, new Uint8Array(size));
		this.#from = enlarged(this.#from, new Int32Array(size));
		this.#to = enlarged(this.#to, new Int32Array(size));
	}
}

function enlarged<List extends Float64Array | Uint8Array | Int32Array>(from: List, to: List): List {
	to.set(from);
	return to;
}

/** More cannot be counted with exactly. */
const MAX_DIGITS = 15;

const UNITS: ReadonlySet<string> = new Set([
	...["ns", "us", "µs", "ms", "s", "sec", "secs", "second", "seconds", "min", "minute", "minutes"],
	...["", "k", "K", "M", "G", "T"].flatMap((size) => ["b", "B", "ib", "iB"].map((b) => size + b)),
	...["byte", "bytes"],
]);
const LONGEST_UNIT = Math.max(...Array.from(UNITS, ({ length }) => length));
const UNIT_ENDS: ReadonlySet<number> = new Set(
	Array.from(UNITS, (unit) => unit.charCodeAt(unit.length - 1)),
);

const SPACE = 0x20;
const PERCENT = 0x25;
const COMMA = 0x2c;
const DASH = 0x2d;
const POINT = 0x2e;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const LARGE_T = 0x54;
const UNDERSCORE = 0x5f;
const SMALL_F = 0x66;
const SMALL_O = 0x6f;
const SMALL_S = 0x73;
const MICRO = 0xb5;

export function isDigit(unit: number): boolean {
	return unit >= ZERO && unit <= NINE;
}

function isLetter(unit: number): boolean {
	const lower = unit | 0x20;
	return lower >= 0x61 && lower <= 0x7a;
}

function endOfDigits(units: Uint16Array, from: number): number {
	let at = from;
	while (isDigit(units[at] as number)) at++;
	return at;
}

function hasTwoDigits(units: Uint16Array, at: number): boolean {
	return isDigit(units[at] as number) && isDigit(units[at + 1] as number);
}

/** Behind a fraction such as `.25`, if there is one. */
function endOfFraction(units: Uint16Array, at: number): number {
	const isFraction = units[at] === POINT || units[at] === COMMA;
	return isFraction && isDigit(units[at + 1] as number) ? endOfDigits(units, at + 1) : at;
}

/** Of a date such as `2026-11-16`, with a time of day such as `T12:00:05.25` or without; 0 if it is none. */
function endOfDate(units: Uint16Array, at: number): number {
	if (units[at + 4] !== DASH || units[at + 7] !== DASH) return 0;
	if (!hasTwoDigits(units, at) || !hasTwoDigits(units, at + 2)) return 0;
	if (!hasTwoDigits(units, at + 5) || !hasTwoDigits(units, at + 8)) return 0;
	const end = at + 10;
	if (units[end] !== LARGE_T && units[end] !== SPACE) return end;
	const hasTime =
		hasTwoDigits(units, end + 1) && units[end + 3] === COLON && hasTwoDigits(units, end + 4);
	if (!hasTime) return end;
	const hasSeconds = units[end + 6] === COLON && hasTwoDigits(units, end + 7);
	return endOfFraction(units, hasSeconds ? end + 9 : end + 6);
}

/** Of a time of day such as `9:05:00` or `12:00:05.25`; 0 if it is none. */
function endOfTime(units: Uint16Array, from: number): number {
	const at = isDigit(units[from + 1] as number) ? from + 2 : from + 1;
	if (units[at] !== COLON || units[at + 3] !== COLON) return 0;
	if (!hasTwoDigits(units, at + 1) || !hasTwoDigits(units, at + 4)) return 0;
	return endOfFraction(units, at + 6);
}

/** Whether `/120` or ` of 120` follows a number that ends at `at`, and neither is part of a name or path. */
function hasTotal(units: Uint16Array, lineStart: number, at: number): boolean {
	const isOf =
		units[at] === SPACE &&
		units[at + 1] === SMALL_O &&
		units[at + 2] === SMALL_F &&
		units[at + 3] === SPACE;
	if (units[at] !== SLASH && !isOf) return false;
	const total = isOf ? at + 4 : at + 1;
	const end = endOfDigits(units, total);
	if (end === total || isPartOfName(units[end] as number)) return false;
	let start = at;
	while (start > lineStart && isDigit(units[start - 1] as number)) start--;
	return start === lineStart || !isPartOfName(units[start - 1] as number);
}

function isPartOfName(unit: number): boolean {
	return isLetter(unit) || unit === UNDERSCORE || unit === SLASH || unit === POINT || unit === DASH;
}
