export interface WordLimits {
	/** Longer identifiers are left out, in characters. */
	readonly maxIdentifier: number;
	/** Distinct words that are taken of one text. */
	readonly maxWords: number;
}

/** So many identifiers are remembered from text to text: some 10 MB. */
const MAX_REMEMBERED = 50_000;

/**
 * Counts the words of texts. The same identifiers come in text after text, so it remembers how each is split, and
 * finds it by its characters without making a string of it: that takes a quarter less time.
 */
export class WordCounter {
	readonly #split: (identifier: string) => readonly string[];
	readonly #limits: WordLimits;
	/** A hash table: an identifier is at the place its hash says, or at one of the next. */
	#identifiers: (Identifier | undefined)[] = [];
	#remembered = 0;
	#words = new Map<string, Word>();

	constructor(split: (identifier: string) => readonly string[], limits: WordLimits) {
		this.#split = split;
		this.#limits = limits;
		this.#forget();
	}

	/** The words of a text in the order of their first use, each as often as `times` makes of its count. */
	words(text: string, times: (count: number) => number): string {
		if (this.#remembered > MAX_REMEMBERED) this.#forget();
		const found: Word[] = [];
		for (const identifier of this.#count(text)) {
			for (const word of identifier.words) {
				if (word.count === 0) {
					if (found.length >= this.#limits.maxWords) continue;
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
			if (at - start > this.#limits.maxIdentifier) continue;
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
		// A part of a text keeps all of it in memory, a copy does not.
		const text: string = JSON.parse(JSON.stringify(part));
		const words = this.#split(text).map((word) => this.#word(word));
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

	#forget(): void {
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

/** Odd and large, and not the same each time: nobody can write a file of identifiers that all hash alike. */
const MULTIPLIER = (Math.floor(Math.random() * 0x4000_0000) + 0x1000_0000) | 1;

const IN_WORD = Uint8Array.from({ length: 0x80 }, (_, char) =>
	/[\w$]/.test(String.fromCharCode(char)) ? 1 : 0,
);

function emptyTable(places: number): undefined[] {
	return new Array(places).fill(undefined);
}
