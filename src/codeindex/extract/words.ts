import type { Declared, FileFacts, Member } from "../facts.ts";

/** The words of a file for full-text search, separated by spaces, each kind of place apart. */
export interface FileWords {
	readonly path: string;
	/** What the file declares. */
	readonly symbols: string;
	/** Identifiers, and what stands in comments and strings. */
	readonly text: string;
}

/** Longer words are hashes, data and the like. */
const MAX_WORD = 40;
/** Distinct words of one file; what a minified bundle has beyond that finds nobody anything. */
const MAX_WORDS = 20_000;

/**
 * Splits a file into words: every identifier in lower case, whole without what divides it (`getusername` for
 * `getUserName` and `get_user_name`), and in its parts (`get`, `user`, `name`). Each word stands there once, or up to
 * four times if the file uses it often, so that ranking sees what a file is about and the index stays small.
 */
export function fileWords(path: string, source: string, facts: FileFacts): FileWords {
	return {
		path: joined(countWords(path), once),
		symbols: joined(countWords(namesOf(facts).join(" ")), once),
		text: joined(countWords(source), repeats),
	};
}

/** The words of an identifier, its parts first. */
export function identifierWords(identifier: string): string[] {
	if (identifier.length > 4 * MAX_WORD) return [];
	if (/^[a-z]+$/.test(identifier)) return identifier.length <= MAX_WORD ? [identifier] : [];
	const parts = identifier
		.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
		.replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
		.split(/[ _$]+/)
		.filter((part) => part !== "");
	// `utf8` is found as `utf` as well.
	const stems = parts.map((part) => part.replace(/\p{N}+$/u, ""));
	const words = [...parts, ...stems, parts.join("")].map((word) => word.toLowerCase());
	return [...new Set(words)].filter((word) => word !== "" && word.length <= MAX_WORD);
}

function countWords(text: string): Map<string, number> {
	const tokens = new Map<string, number>();
	for (const token of text.match(/[A-Za-z0-9_$\u0080-\uFFFF]+/g) ?? []) {
		tokens.set(token, (tokens.get(token) ?? 0) + 1);
	}
	const words = new Map<string, number>();
	for (const [token, count] of tokens) {
		for (const word of identifierWords(token)) {
			const known = words.get(word);
			if (known !== undefined) words.set(word, known + count);
			else if (words.size < MAX_WORDS) words.set(word, count);
		}
	}
	return words;
}

function joined(words: ReadonlyMap<string, number>, times: (count: number) => number): string {
	const all: string[] = [];
	for (const [word, count] of words) {
		for (let left = times(count); left > 0; left--) all.push(word);
	}
	return all.join(" ");
}

function once(): number {
	return 1;
}

function repeats(count: number): number {
	if (count < 3) return 1;
	return count < 8 ? 2 : count < 24 ? 3 : 4;
}

function namesOf({ bindings }: FileFacts): string[] {
	const memberNames = ({ members = [] }: Declared | Member): string[] =>
		members.flatMap((member) => [member.name, ...memberNames(member)]);
	return bindings.flatMap((binding) =>
		binding.kind === "declared" ? [binding.name, ...memberNames(binding)] : [],
	);
}
