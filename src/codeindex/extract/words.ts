import type { Declared, FileFacts, Member } from "../facts.ts";
import { WordCounter } from "./word-counter.ts";

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
/** Longer identifiers are not split. */
const MAX_IDENTIFIER = 4 * MAX_WORD;
/** Distinct words of one file; what a minified bundle has beyond that finds nobody anything. */
const MAX_WORDS = 20_000;

/**
 * Splits a file into words: every identifier in lower case, whole without what divides it (`getusername` for
 * `getUserName` and `get_user_name`), and in its parts (`get`, `user`, `name`). Each word stands there once, or up to
 * four times if the file uses it often, so that ranking sees what a file is about and the index stays small.
 */
export function fileWords(path: string, source: string, facts: FileFacts): FileWords {
	return {
		path: counter.words(path, once),
		symbols: counter.words(namesOf(facts).join(" "), once),
		text: counter.words(source, repeats),
	};
}

/** The words of an identifier, its parts first. */
export function identifierWords(identifier: string): string[] {
	if (identifier.length > MAX_IDENTIFIER) return [];
	const parts = partsOf(identifier);
	// `utf8` is found as `utf` as well.
	const stems = parts.map((part) => part.replace(/\p{N}+$/u, ""));
	const words: string[] = [];
	for (const text of [...parts, ...stems, parts.join("")]) {
		const word = text.toLowerCase();
		if (word !== "" && word.length <= MAX_WORD && !words.includes(word)) words.push(word);
	}
	return words;
}

/** `HTTPServer2_main` in parts: `HTTP`, `Server2`, `main`. */
function partsOf(identifier: string): readonly string[] {
	// Nearly all are ASCII, and that is far quicker to match than what Unicode calls a letter.
	if (/^[\w$]*$/.test(identifier)) {
		return identifier.match(/[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+/g) ?? [];
	}
	return identifier
		.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
		.replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
		.split(/[ _$]+/)
		.filter((part) => part !== "");
}

const counter = new WordCounter(identifierWords, {
	maxIdentifier: MAX_IDENTIFIER,
	maxWords: MAX_WORDS,
});

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
