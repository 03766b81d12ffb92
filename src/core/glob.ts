import { matchesAll, type Wildcard } from "../text/wildcard.ts";

/** Maximum length of a pattern. Longer ones never match; callers that read patterns should reject them. */
export const MAX_GLOB_LENGTH = 512;

/**
 * Matches a path against an exclude list. A pattern without `/` matches the base name (`.env*`), one with
 * `/` matches the end of the path (`secrets/*.json`), one with a leading `/` the whole path, and one with
 * a trailing `/` everything below. `*` and `?` match within a name, `**` across folders; other characters
 * are literal. Ignores case on macOS and Windows.
 */
export function matchesAny(
	patterns: readonly string[],
	path: string,
	platform: NodeJS.Platform = process.platform,
): boolean {
	const names = splitPath(path, platform);
	const name = names.at(-1) ?? "";
	const { literal, others } = compiled(patterns, platform);
	return literal.has(name) || others.some((matches) => matches(name, names));
}

interface Compiled {
	readonly platform: NodeJS.Platform;
	readonly literal: ReadonlySet<string>;
	readonly others: readonly Matcher[];
}

type Matcher = (name: string, names: readonly string[]) => boolean;

const compiledLists = new WeakMap<readonly string[], Compiled>();

function compiled(patterns: readonly string[], platform: NodeJS.Platform): Compiled {
	const before = compiledLists.get(patterns);
	if (before?.platform === platform) return before;
	const literal = new Set<string>();
	const others: Matcher[] = [];
	for (const pattern of patterns) {
		if (pattern === "" || pattern.length > MAX_GLOB_LENGTH) continue;
		const isFolder = withSlashes(pattern, platform).endsWith("/");
		const parts = splitPath(isFolder ? `${pattern}/**` : pattern, platform);
		const [first = ""] = parts;
		if (parts.length > 1) others.push(pathMatcher(parts));
		else if (/[*?]/.test(first)) others.push(nameMatcher(first));
		else literal.add(first);
	}
	const list = { platform, literal, others };
	compiledLists.set(patterns, list);
	return list;
}

/** Checks the last name first: it is usually literal, and few paths end with that name. */
function pathMatcher(parts: readonly string[]): Matcher {
	const last = nameMatcher(parts.at(-1) ?? "");
	const whole = ["**", ...parts].map((part): Wildcard<string> => {
		return part === "**" ? part : { matches: nameMatcher(part) };
	});
	return (name, names) => last(name) && matchesAll(whole, names);
}

/** Fast path: most patterns have one `*`, at the start or end. */
function nameMatcher(pattern: string): (name: string) => boolean {
	if (!/[*?]/.test(pattern)) return (name) => name === pattern;
	const [, before = "", after = ""] = /^([^*?]*)\*([^*?]*)$/.exec(pattern) ?? [];
	if (before !== "" || after !== "") {
		const least = before.length + after.length;
		return (name) => name.length >= least && name.startsWith(before) && name.endsWith(after);
	}
	const characters = [...pattern].map((wanted): Wildcard<string> => {
		if (wanted === "*") return "**";
		return { matches: (character) => wanted === "?" || wanted === character };
	});
	return (name) => matchesAll(characters, [...name]);
}

/** Splits a path into names. The first name is empty if the path starts at the root. */
function splitPath(path: string, platform: NodeJS.Platform): string[] {
	const slashed = withSlashes(path, platform);
	const ignoresCase = platform === "win32" || platform === "darwin";
	// macOS returns accented letters in either Unicode normal form.
	const folded = (ignoresCase ? slashed.toLowerCase() : slashed).normalize("NFC");
	return folded.split("/").filter((name, index) => (name === "" ? index === 0 : name !== "."));
}

function withSlashes(path: string, platform: NodeJS.Platform): string {
	return platform === "win32" ? path.replaceAll("\\", "/") : path;
}
