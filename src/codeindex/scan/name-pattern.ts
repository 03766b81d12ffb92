import type { OnStep } from "../../text/wildcard.ts";

/** A pattern for one name, taken apart once. */
export interface NamePattern {
	/** The name, if it is the only one that matches. */
	readonly literal?: string;
	/** The end that every name has that matches, if all before it is free: `.ts` of `*.ts`. */
	readonly ending?: string;
	/** The characters that every matching name has, each as one of 32 bits. */
	readonly needs: number;
	/** How many parts of the pattern are looked for, at most: what a comparison costs at least. */
	readonly steps: number;
	/** `onStep` gets the further steps that long parts take, and those with wildcards. */
	matches(name: string, onStep?: OnStep): boolean;
}

/**
 * Parses a pattern of `*`, `?`, `[a-z]`, `[!a-z]`, `[[:alpha:]]` and `\` before a character that is meant literally. It
 * is compared part by part between its stars, each part once, from the left: the leftmost place is never a worse one.
 */
export function parseNamePattern(pattern: string): NamePattern {
	const parts = partsOf(pattern);
	const [first = [], ...others] = parts ?? [];
	// Without the end of a class, or what a backslash is for, nothing matches.
	if (!parts) return { needs: 0, steps: 1, matches: () => false };
	let needs = 0;
	let least = 0;
	for (const part of parts) {
		least += part.length;
		for (const unit of part) if (typeof unit === "number") needs |= 1 << (unit & 31);
	}
	const literal = parts.length === 1 ? literalOf(first) : undefined;
	if (literal !== undefined) {
		return { literal, needs, steps: 1, matches: (name) => name === literal };
	}
	const ending = first.length === 0 && parts.length === 2 ? literalOf(others[0] ?? []) : undefined;
	// Most patterns are never compared, since names lack what they need.
	let match: NamePattern["matches"] | undefined;
	return {
		...(ending !== undefined && { ending }),
		needs,
		steps: parts.length,
		matches(name, onStep) {
			if (name.length < least) return false;
			match ??= matcherOf(parts);
			return match(name, onStep);
		},
	};
}

/** For names that are long enough. */
function matcherOf(parts: readonly Unit[][]): NamePattern["matches"] {
	const [begins, ...inner] = parts.map(finderOf) as [Finder, ...Finder[]];
	const ends = inner.pop();
	if (!ends) return (name, onStep) => name.length === begins.length && begins.at(name, 0, onStep);
	return (name, onStep) => {
		const end = name.length - ends.length;
		if (!begins.at(name, 0, onStep) || !ends.at(name, end, onStep)) return false;
		let at = begins.length;
		for (const part of inner) {
			at = part.find(name, at, onStep);
			if (at < 0 || at + part.length > end) return false;
			at += part.length;
		}
		return at <= end;
	};
}

/** The characters of a name, as in {@link NamePattern.needs}. */
export function bitsOf(name: string): number {
	let bits = 0;
	for (let at = 0; at < name.length; at++) bits |= 1 << (name.charCodeAt(at) & 31);
	return bits;
}

/** One character of a name: this one, or one of some. */
type Unit = number | CharacterClass;

interface CharacterClass {
	/** How many comparisons it can take. */
	readonly size: number;
	has(code: number): boolean;
}

const anyCharacter: CharacterClass = { size: 1, has: () => true };
/** So many characters are compared by the engine in the time of a step. */
const charactersPerStep = 64;

interface Finder {
	readonly length: number;
	at(name: string, place: number, onStep?: OnStep): boolean;
	/** The first place from there on, or -1. */
	find(name: string, from: number, onStep?: OnStep): number;
}

function finderOf(units: readonly Unit[]): Finder {
	const literal = literalOf(units);
	const { length } = units;
	if (literal !== undefined) {
		return {
			length,
			at: (name, place) => name.startsWith(literal, place),
			find(name, from, onStep) {
				onStep?.(Math.floor(((name.length - from) * length) / charactersPerStep));
				return name.indexOf(literal, from);
			},
		};
	}
	const at = (name: string, place: number, onStep?: OnStep) => {
		let steps = 0;
		const isThere = units.every((unit, index) => {
			const code = name.charCodeAt(place + index);
			if (typeof unit === "number") return unit === code;
			steps += unit.size;
			return unit.has(code);
		});
		onStep?.(steps);
		return isThere;
	};
	return {
		length,
		at,
		find(name, from, onStep) {
			for (let place = from; place + length <= name.length; place++)
				if (at(name, place, onStep)) return place;
			return -1;
		},
	};
}

function literalOf(units: readonly Unit[]): string | undefined {
	if (!units.every((unit) => typeof unit === "number")) return undefined;
	return String.fromCharCode(...units);
}

/** The units between the stars; `undefined` for a pattern that matches nothing. */
function partsOf(pattern: string): Unit[][] | undefined {
	let part: Unit[] = [];
	const parts = [part];
	for (let at = 0; at < pattern.length; ) {
		const character = pattern[at];
		if (character === "*") {
			// Two stars side by side are one.
			if (part.length > 0 || parts.length === 1) {
				part = [];
				parts.push(part);
			}
			at++;
		} else if (character === "[") {
			const found = parseClass(pattern, at);
			if (!found) return undefined;
			part.push(found.unit);
			at = found.end;
		} else if (character === "?") {
			part.push(anyCharacter);
			at++;
		} else {
			if (character === "\\") at++;
			if (at >= pattern.length) return undefined;
			part.push(pattern.charCodeAt(at++));
		}
	}
	return parts;
}

/**
 * Where a class ends, behind its bracket, and which characters it has. `undefined` without an end, or with an unknown name
 * between `[:` and `:]`.
 */
export function parseClass(
	pattern: string,
	start: number,
): { unit: Unit; end: number } | undefined {
	let at = start + 1;
	const negated = pattern[at] === "!" || pattern[at] === "^";
	if (negated) at++;
	const tests: ((code: number) => boolean)[] = [];
	for (let isFirst = true; isFirst || pattern[at] !== "]"; isFirst = false) {
		if (at >= pattern.length) return undefined;
		const named =
			pattern[at] === "[" && pattern[at + 1] === ":" ? pattern.indexOf("]", at + 2) : -1;
		if (named > 0 && pattern[named - 1] === ":") {
			const test = namedClasses[pattern.slice(at + 2, named - 1)];
			if (!test) return undefined;
			tests.push((code) => test.test(String.fromCharCode(code)));
			at = named + 1;
			continue;
		}
		if (pattern[at] === "\\") at++;
		const low = pattern.charCodeAt(at++);
		let high = low;
		if (pattern[at] === "-" && at + 1 < pattern.length && pattern[at + 1] !== "]") {
			if (pattern[++at] === "\\") at++;
			high = pattern.charCodeAt(at++);
		}
		// The first of a range counts by itself, even if the range is empty.
		tests.push((code) => code === low || (low <= code && code <= high));
	}
	const has = (code: number) => tests.some((test) => test(code)) !== negated;
	return { unit: { size: tests.length, has }, end: at + 1 };
}

const namedClasses: Readonly<Record<string, RegExp | undefined>> = {
	alnum: /[A-Za-z0-9]/,
	alpha: /[A-Za-z]/,
	blank: /[ \t]/,
	cntrl: /[^ -~\x80-\xff]/,
	digit: /[0-9]/,
	graph: /[!-~]/,
	lower: /[a-z]/,
	print: /[ -~]/,
	punct: /[!-/:-@[-`{-~]/,
	space: /[\t-\r ]/,
	upper: /[A-Z]/,
	xdigit: /[0-9A-Fa-f]/,
};
