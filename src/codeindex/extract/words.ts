import { getOrAdd } from "../../core/get-or-add.ts";
import type { Declared, FileFacts, Member } from "../facts.ts";
import { identifierWords, MAX_IDENTIFIER } from "./identifier-words.ts";

export interface FileWords {
	readonly path: string;
	readonly symbols: string;
	/** Identifiers, comments and strings. */
	readonly text: string;
}

export const NO_WORDS: FileWords = { path: "", symbols: "", text: "" };

/** Maximum number of distinct words per file; only minified bundles have more. */
const MAX_WORDS = 20_000;

/**
 * Returns identifiers in lower case, whole (`getusername`) and in parts (`get`, `user`, `name`). Repeats a
 * frequent word up to four times, so that ranking sees its frequency and the index stays small.
 */
export function fileWords(path: string, source: string, facts: FileFacts): FileWords {
	if (counter.size > MAX_CACHED) counter = new WordCounter();
	return {
		path: counter.words(path),
		symbols: counter.words(namesOf(facts).join(" ")),
		text: counter.words(source, repeats),
	};
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

/** Maximum number of cached identifiers (about 10 MB). Above this, all are evicted. */
const MAX_CACHED = 50_000;

/** Caches identifiers. Finds them without allocating strings, which takes a quarter less time. */
class WordCounter {
	/** Hash table with linear probing. */
	#identifiers: (Identifier | undefined)[] = emptyTable(4096);
	readonly #words = new Map<string, Word>();
	size = 0;

	words(text: string, times: (count: number) => number = () => 1): string {
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
		// Copies the string: a slice would keep the whole text in memory.
		const text: string = JSON.parse(JSON.stringify(part));
		const words = identifierWords(text).map((word) =>
			getOrAdd(this.#words, word, () => ({ text: word, count: 0 })),
		);
		const identifier = { text, hash, words, count: 0 };
		this.#identifiers[place] = identifier;
		if (++this.size * 2 > this.#identifiers.length) this.#grow();
		return identifier;
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
}

interface Identifier {
	readonly text: string;
	readonly hash: number;
	readonly words: readonly Word[];
	count: number;
}

interface Word {
	readonly text: string;
	count: number;
}

/** Odd, large, and random to prevent crafted hash collisions. */
const MULTIPLIER = (Math.floor(Math.random() * 0x4000_0000) + 0x1000_0000) | 1;

const IN_WORD = Uint8Array.from({ length: 0x80 }, (_, char) =>
	/[\w$]/.test(String.fromCharCode(char)) ? 1 : 0,
);

function emptyTable(places: number): undefined[] {
	return new Array(places).fill(undefined);
}

let counter = new WordCounter();
