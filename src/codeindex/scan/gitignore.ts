import { bitsOf, type NamePattern, parseClass } from "./name-pattern.ts";
import { matchesPath, type PathPattern, pathPatternOf } from "./path-pattern.ts";

/** What one `.gitignore` says. Its rules are about paths below its own folder. */
export interface IgnoreRules {
	/** How many of its rules have to be compared with every path. */
	readonly patterns: number;
	/** How many of its lines are too long, and say nothing. */
	readonly longLines: number;
	/**
	 * Whether the path, given by its names from the folder of the `.gitignore`, is ignored; `undefined` if no rule is
	 * about it, or the effort is used up. Folders above it are not looked at: a walk does not enter an ignored one.
	 */
	decide(names: readonly string[], isFolder: boolean, effort?: Effort): boolean | undefined;
}

/** What may still be spent on matching, in comparisons of a part of a pattern with a name. */
export interface Effort {
	left: number;
}

/**
 * Reads the text of a `.gitignore`, by git's rules: the last rule that matches decides. Names, paths and endings
 * without wildcards are looked up; of the others, most are ruled out by the characters that they need.
 */
export function parseIgnoreRules(text: string): IgnoreRules {
	const lines = text.replace(/^\uFEFF/, "").split("\n");
	const lookups: Lookups = { names: new Map(), endings: new Map(), paths: new Map() };
	const others: Rule[] = [];
	const negated: boolean[] = [];
	for (const line of lines) {
		const rule = line.length > maxLineLength ? undefined : parseRule(line, negated.length);
		if (!rule) continue;
		negated.push(rule.isNegated);
		if (!addToLookup(lookups, rule)) others.push(rule);
	}
	others.reverse();
	const needs = Int32Array.from(others, ({ lastName }) => lastName.needs);

	return {
		patterns: others.length,
		longLines: lines.filter((line) => line.length > maxLineLength && !line.startsWith("#")).length,
		decide(given, isFolder, effort = { left: Number.POSITIVE_INFINITY }) {
			const names = given.map(asBytes);
			const name = names.at(-1) ?? "";
			let last = lookUp(lookups, { names, name, isFolder });
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
	/** Later rules win. */
	readonly order: number;
	readonly pattern: PathPattern;
	/** The last part of the pattern, which the last name of a path has to match. */
	readonly lastName: NamePattern;
	readonly isNegated: boolean;
	readonly isFolderOnly: boolean;
}

/** The last rule for a name, of all and of those that are not for folders only. */
interface Orders {
	any: number;
	file: number;
}

interface Lookups {
	/** Names that count in every folder. */
	readonly names: Map<string, Orders>;
	/** From the last dot on. */
	readonly endings: Map<string, Orders>;
	/** Paths from the folder of the file. */
	readonly paths: Map<string, Orders>;
}

function addToLookup({ names, endings, paths }: Lookups, rule: Rule): boolean {
	if (isAnywhere(rule.pattern)) {
		const { literal, ending } = rule.lastName;
		if (literal !== undefined) return add(names, literal, rule);
		return ending !== undefined && /^\.[^.]+$/.test(ending) && add(endings, ending, rule);
	}
	const literals = rule.pattern.map((part) => (part === "**" ? undefined : part.literal));
	if (literals.includes(undefined)) return false;
	return add(paths, literals.join("/"), rule);
}

function isAnywhere(pattern: PathPattern): boolean {
	return pattern.length === 2 && pattern[0] === "**";
}

function add(map: Map<string, Orders>, key: string, { order, isFolderOnly }: Rule): true {
	const before = map.get(key);
	map.set(key, { any: order, file: isFolderOnly ? (before?.file ?? -1) : order });
	return true;
}

function lookUp(
	{ names: byName, endings, paths }: Lookups,
	{ names, name, isFolder }: { names: readonly string[]; name: string; isFolder: boolean },
): number {
	const dot = name.lastIndexOf(".");
	const found = [
		byName.get(name),
		dot < 0 ? undefined : endings.get(name.slice(dot)),
		paths.size === 0 ? undefined : paths.get(names.join("/")),
	];
	return found.reduce((last, one) => Math.max(last, (isFolder ? one?.any : one?.file) ?? -1), -1);
}

/** A longer line is no honest pattern, and matching it costs. */
const maxLineLength = 1_000;

function parseRule(line: string, order: number): Rule | undefined {
	if (line.startsWith("#")) return undefined;
	let text = withoutTrailingSpaces(line.endsWith("\r") ? line.slice(0, -1) : line);
	const isNegated = text.startsWith("!");
	if (isNegated) text = text.slice(1);
	const isFolderOnly = text.endsWith("/");
	if (isFolderOnly) text = text.slice(0, -1);
	if (text === "") return undefined;
	// A slash at the start or in the middle ties the pattern to the folder of the file.
	const isAnchored = text.includes("/");
	const parts = partsOf(asBytes(text.startsWith("/") ? text.slice(1) : text));
	// `a/**` is what lies below `a`, not `a` itself.
	if (parts.at(-1) === "**") parts.push("*");
	const pattern = pathPatternOf(isAnchored ? parts : ["**", ...parts]);
	const lastName = pattern.at(-1);
	if (lastName === undefined || lastName === "**") return undefined;
	return { order, pattern, lastName, isNegated, isFolderOnly };
}

/**
 * Cuts a pattern at its slashes, but for those in a class. Stars are special only as a whole name. (Git also takes two
 * stars right behind a plain beginning, as in `a**\/b`, for any number of folders; here they stay within a name.)
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

/** Spaces at the end do not count, unless the first of them is written `\ `. */
function withoutTrailingSpaces(line: string): string {
	let end = line.length;
	while (end > 0 && line[end - 1] === " " && line[end - 2] !== "\\") end--;
	return line.slice(0, end);
}

/** Git compares bytes: `?` is one of those, not a character. */
function asBytes(text: string): string {
	return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}
