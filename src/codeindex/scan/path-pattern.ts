import type { OnStep } from "../../text/wildcard.ts";

export { matchesAll as matchesPath } from "../../text/wildcard.ts";

/** `**` matches any number of names. `*` and `?` match within one name. */
export type PathPattern = readonly ("**" | NamePattern)[];

export function parsePathPattern(pattern: string): PathPattern {
	return pathPatternOf(pattern.split("/").filter((part) => part !== "" && part !== "."));
}

export function pathPatternOf(parts: readonly string[]): PathPattern {
	return parts.map((part) => (part === "**" ? part : parseNamePattern(part)));
}

export interface NamePattern {
	/** Set if only this name matches. */
	readonly literal?: string;
	/** Set if the pattern is `*` and this text: `.ts` for `*.ts`. */
	readonly suffix?: string;
	/** Bit set of required characters, hashed to 32 bits. */
	readonly needs: number;
	/** Minimum cost of a comparison, in steps. */
	readonly steps: number;
	/** Calls `onStep` with the additional steps of long parts and wildcards. */
	matches(name: string, onStep?: OnStep): boolean;
}

/** Supports `*`, `?`, `[a-z]`, `[!a-z]`, `[[:alpha:]]` and `\` escapes. Does not backtrack. */
function parseNamePattern(pattern: string): NamePattern {
	const parts = partsOf(pattern);
	const [first = [], ...others] = parts ?? [];
	// An unterminated class or escape matches nothing.
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
	const suffix = first.length === 0 && parts.length === 2 ? literalOf(others[0] ?? []) : undefined;
	// Created on first use, since `needs` rules out most patterns.
	let match: NamePattern["matches"] | undefined;
	return {
		...(suffix !== undefined && { suffix }),
		needs,
		steps: parts.length,
		matches(name, onStep) {
			if (name.length < least) return false;
			match ??= matcherOf(parts);
			return match(name, onStep);
		},
	};
}

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

export function bitsOf(name: string): number {
	let bits = 0;
	for (let at = 0; at < name.length; at++) bits |= 1 << (name.charCodeAt(at) & 31);
	return bits;
}

type Unit = number | CharacterClass;

interface CharacterClass {
	readonly size: number;
	has(code: number): boolean;
}

const ANY_CHARACTER: CharacterClass = { size: 1, has: () => true };
/** Characters that JavaScript engines compare in the time of one step. */
const CHARACTERS_PER_STEP = 64;

interface Finder {
	readonly length: number;
	at(name: string, place: number, onStep?: OnStep): boolean;
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
				onStep?.(Math.floor(((name.length - from) * length) / CHARACTERS_PER_STEP));
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

function partsOf(pattern: string): Unit[][] | undefined {
	let part: Unit[] = [];
	const parts = [part];
	for (let at = 0; at < pattern.length; ) {
		const character = pattern[at];
		if (character === "*") {
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
			part.push(ANY_CHARACTER);
			at++;
		} else {
			if (character === "\\") at++;
			if (at >= pattern.length) return undefined;
			part.push(pattern.charCodeAt(at++));
		}
	}
	return parts;
}

/** Undefined if the class has no end or contains an unknown `[:name:]`. */
export function parseClass(pattern: string, from: number): { unit: Unit; end: number } | undefined {
	let at = from + 1;
	const negated = pattern[at] === "!" || pattern[at] === "^";
	if (negated) at++;
	const tests: ((code: number) => boolean)[] = [];
	for (let isFirst = true; isFirst || pattern[at] !== "]"; isFirst = false) {
		if (at >= pattern.length) return undefined;
		const named =
			pattern[at] === "[" && pattern[at + 1] === ":" ? pattern.indexOf("]", at + 2) : -1;
		if (named > 0 && pattern[named - 1] === ":") {
			const test = NAMED_CLASSES[pattern.slice(at + 2, named - 1)];
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
		// The first character of a range matches even if the range is empty.
		tests.push((code) => code === low || (low <= code && code <= high));
	}
	const has = (code: number) => tests.some((test) => test(code)) !== negated;
	return { unit: { size: tests.length, has }, end: at + 1 };
}

const NAMED_CLASSES: Readonly<Record<string, RegExp | undefined>> = {
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
