import {
	bitsOf,
	matchesPath,
	type NamePattern,
	type PathPattern,
	parseClass,
	pathPatternOf,
} from "./path-pattern.ts";

export interface IgnoreRules {
	readonly patterns: number;
	/** Number of lines skipped as too long. */
	readonly longLines: number;
	/**
	 * Whether to ignore a path. Undefined: no rule matches, or no `effort` is left. `names` start at the
	 * folder of the `.gitignore`. Parents are not checked, since a walk never enters an ignored folder.
	 */
	decide(names: readonly string[], isFolder: boolean, effort?: Effort): boolean | undefined;
}

/** Remaining budget, in comparisons of a pattern part with a name. */
export interface Effort {
	left: number;
}

/** As in git, the last matching rule decides. Rules for literal names, paths and suffixes are in a map. */
export function parseIgnoreRules(text: string): IgnoreRules {
	const lines = text.replace(/^\uFEFF/, "").split("\n");
	const lookups = new Map<string, Orders>();
	const others: Rule[] = [];
	const negated: boolean[] = [];
	for (const line of lines) {
		const rule = line.length > MAX_LINE ? undefined : parseRule(line, negated.length);
		if (!rule) continue;
		negated.push(rule.isNegated);
		const key = keyOf(rule);
		if (key === undefined) others.push(rule);
		else {
			const file = rule.isFolderOnly ? (lookups.get(key)?.file ?? -1) : rule.order;
			lookups.set(key, { any: rule.order, file });
		}
	}
	others.reverse();
	const needs = Int32Array.from(others, ({ lastName }) => lastName.needs);

	return {
		patterns: others.length,
		longLines: lines.filter((line) => line.length > MAX_LINE && !line.startsWith("#")).length,
		decide(given, isFolder, effort = { left: Number.POSITIVE_INFINITY }) {
			const names = given.map(asBytes);
			const name = names.at(-1) ?? "";
			const orders = keysOf(names, name).map((key) => lookups.get(key));
			let last = Math.max(...orders.map((one) => (isFolder ? one?.any : one?.file) ?? -1));
			if (effort.left <= 0 && others.length > 0) return undefined;
			const spend = (steps: number) => {
				effort.left -= steps;
			};
			spend(others.length);
			const missing = ~bitsOf(name);
			for (let at = 0; at < needs.length; at++) {
				if (((needs[at] as number) & missing) !== 0) continue;
				const { order, pattern, lastName, isFolderOnly } = others[at] as Rule;
				if (order < last) break;
				if (effort.left <= 0) return undefined;
				if (isFolderOnly && !isFolder) continue;
				spend(lastName.steps);
				if (!lastName.matches(name, spend)) continue;
				if (isAnywhere(pattern) || matchesPath(pattern, names, spend)) last = order;
			}
			return last < 0 ? undefined : !negated[last];
		},
	};
}

interface Rule {
	/** Index of the rule. Later rules win. */
	readonly order: number;
	readonly pattern: PathPattern;
	readonly lastName: NamePattern;
	readonly isNegated: boolean;
	readonly isFolderOnly: boolean;
}

/** Index of the last rule for a name: `any` among all rules, `file` among rules for files. */
interface Orders {
	readonly any: number;
	readonly file: number;
}

/** The map key of a rule for a literal name or suffix in any folder, or for a literal path. */
function keyOf({ pattern, lastName: { literal, suffix } }: Rule): string | undefined {
	if (isAnywhere(pattern)) {
		if (literal !== undefined) return literal;
		return suffix !== undefined && /^\.[^.]+$/.test(suffix) ? `*/${suffix}` : undefined;
	}
	const literals = pattern.map((part) => (part === "**" ? undefined : part.literal));
	return literals.includes(undefined) ? undefined : `/${literals.join("/")}`;
}

/** The keys that {@link keyOf} returns for rules that match this path. */
function keysOf(names: readonly string[], name: string): string[] {
	const dot = name.lastIndexOf(".");
	const ofSuffix = dot < 0 ? [] : [`*/${name.slice(dot)}`];
	return [name, `/${names.join("/")}`, ...ofSuffix];
}

function isAnywhere(pattern: PathPattern): boolean {
	return pattern.length === 2 && pattern[0] === "**";
}

/** Maximum line length, in characters. Longer lines are hostile and slow to match. */
const MAX_LINE = 1_000;

function parseRule(line: string, order: number): Rule | undefined {
	if (line.startsWith("#")) return undefined;
	let text = withoutTrailingSpaces(line.endsWith("\r") ? line.slice(0, -1) : line);
	const isNegated = text.startsWith("!");
	if (isNegated) text = text.slice(1);
	const isFolderOnly = text.endsWith("/");
	if (isFolderOnly) text = text.slice(0, -1);
	if (text === "") return undefined;
	// A slash at the start or in the middle anchors the pattern.
	const isAnchored = text.includes("/");
	const parts = partsOf(asBytes(text.startsWith("/") ? text.slice(1) : text));
	// `a/**` matches everything below `a`, but not `a` itself.
	if (parts.at(-1) === "**") parts.push("*");
	const pattern = pathPatternOf(isAnchored ? parts : ["**", ...parts]);
	const lastName = pattern.at(-1);
	if (lastName === undefined || lastName === "**") return undefined;
	return { order, pattern, lastName, isNegated, isFolderOnly };
}

/**
 * Splits at slashes outside of character classes. Two stars are special only as a whole name. (In git,
 * the stars of `a**\/b` also match folders. Here they match within one name.)
 */
function partsOf(pattern: string): string[] {
	const parts: string[] = [];
	let start = 0;
	for (let at = 0; at < pattern.length; ) {
		const slash = pattern.startsWith("\\/", at) ? at + 1 : at;
		if (pattern[slash] === "/") {
			parts.push(pattern.slice(start, at));
			start = slash + 1;
			at = start;
		} else if (pattern[at] === "[") {
			at = parseClass(pattern, at)?.end ?? pattern.length;
		} else {
			at += pattern[at] === "\\" ? 2 : 1;
		}
	}
	parts.push(pattern.slice(start));
	return parts.map((part) => (/^\*{2,}$/.test(part) ? "**" : part));
}

/** Removes trailing spaces up to an escaped space (`\ `), which is kept. */
function withoutTrailingSpaces(line: string): string {
	let end = line.length;
	while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
	return line.slice(0, end);
}

/** Git compares bytes, so `?` matches one byte. */
function asBytes(text: string): string {
	return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}
