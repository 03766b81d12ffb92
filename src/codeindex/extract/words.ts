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
/** Longer identifiers are not split. */
const MAX_IDENTIFIER = 4 * MAX_WORD;
/** Distinct words of one file; only minified bundles have more. */
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

/** Identifiers cached from text to text: some 10 MB. */
const MAX_REMEMBERED = 50_000;

/** Counts words. Identifiers are cached and found without making a string, which takes a quarter less time. */
class WordCounter {
	/** A hash table: an identifier is at the place its hash says, or at one of the next. */
	#identifiers: (Identifier | undefined)[] = emptyTable(4096);
	#remembered = 0;
	#words = new Map<string, Word>();

	/** The words of a text in the order of their first use, each as often as `times` makes of its count. */
	words(text: string, times: (count: number) => number): string {
		if (this.#remembered > MAX_REMEMBERED) this.#clear();
		const found: Word[] = [];
		for (const identifier of this.#count(text)) {
			for (const word of identifier.words) {
				if (word.count === 0) {
					if (found.length >= MAX_WORDS) continue;
					found.push(word);
				}
				word.count += identifier.count;
			}
			identifier.count = 0;
		}
		const all: string[] = [];
		for (const word of found) {
			for (let left = times(word.count); left > 0; left--) all.push(word.text);
			word.count = 0;
		}
		return all.join(" ");
	}

	/** The distinct identifiers of a text, with their counts. */
	#count(text: string): Identifier[] {
		const found: Identifier[] = [];
		for (let at = 0; at < text.length; at++) {
			let char = text.charCodeAt(at);
			if (char < 0x80 && IN_WORD[char] === 0) continue;
			const start = at;
			let hash = 0;
			do {
				hash = Math.imul(hash ^ char, MULTIPLIER);
				char = text.charCodeAt(++at);
			} while (char >= 0x80 || IN_WORD[char] === 1);
			if (at - start > MAX_IDENTIFIER) continue;
			const identifier = this.#find(text, start, at, hash);
			if (identifier.count++ === 0) found.push(identifier);
		}
		return found;
	}

	#find(text: string, start: number, end: number, hash: number): Identifier {
		const mask = this.#identifiers.length - 1;
		let place = (hash ^ (hash >>> 15)) & mask;
		for (;;) {
			const known = this.#identifiers[place];
			if (!known) break;
			if (
				known.hash === hash &&
				known.text.length === end - start &&
				text.startsWith(known.text, start)
			) {
				return known;
			}
			place = (place + 1) & mask;
		}
		return this.#add(text.slice(start, end), hash, place);
	}

	#add(part: string, hash: number, place: number): Identifier {
		// A slice keeps the whole text in memory, a copy does not.
		const text: string = JSON.parse(JSON.stringify(part));
		const words = identifierWords(text).map((word) => this.#word(word));
		const identifier = { text, hash, words, count: 0 };
		this.#identifiers[place] = identifier;
		if (++this.#remembered * 2 > this.#identifiers.length) this.#grow();
		return identifier;
	}

	#word(text: string): Word {
		const known = this.#words.get(text);
		if (known) return known;
		const word = { text, count: 0 };
		this.#words.set(text, word);
		return word;
	}

	#grow(): void {
		const all = this.#identifiers;
		this.#identifiers = emptyTable(all.length * 2);
		const mask = this.#identifiers.length - 1;
		for (const identifier of all) {
			if (!identifier) continue;
			let place = (identifier.hash ^ (identifier.hash >>> 15)) & mask;
			while (this.#identifiers[place]) place = (place + 1) & mask;
			this.#identifiers[place] = identifier;
		}
	}

	#clear(): void {
		this.#identifiers = emptyTable(4096);
		this.#remembered = 0;
		this.#words = new Map();
	}
}

interface Identifier {
	readonly text: string;
	readonly hash: number;
	readonly words: readonly Word[];
	/** In the current text. */
	count: number;
}

interface Word {
	readonly text: string;
	/** In the current text. */
	count: number;
}

/** Odd, large and random: no file can be made of identifiers that all hash alike. */
const MULTIPLIER = (Math.floor(Math.random() * 0x4000_0000) + 0x1000_0000) | 1;

const IN_WORD = Uint8Array.from({ length: 0x80 }, (_, char) =>
	/[\w$]/.test(String.fromCharCode(char)) ? 1 : 0,
);

function emptyTable(places: number): undefined[] {
	return new Array(places).fill(undefined);
}

const counter = new WordCounter();
