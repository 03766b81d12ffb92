import { identifierWords } from "../extract/words.ts";

/** One word of a question: as it was written, and as the index has it. */
export interface QueryWord {
	readonly text: string;
	/** In lower case, without what divides it: `agentsession`. Of one that is too long, its parts with spaces between. */
	readonly whole: string;
	/** In lower case: `agent`, `session`. */
	readonly parts: readonly string[];
}

/** The words of a question. What is no letter, digit, `_` or `$` divides them, as in `src/decide.ts` or `a.b`. */
export function queryWords(query: string): readonly QueryWord[] {
	const texts = query.match(/[A-Za-z0-9_$\u0080-\uFFFF]+/g) ?? [];
	return [...new Set(texts)].slice(0, MAX_WORDS).flatMap((text) => {
		const words = identifierWords(text);
		const last = words.at(-1);
		if (last === undefined) return [];
		const parts = words.length > 1 ? words.slice(0, -1) : words;
		return [{ text, whole: isWhole(last, parts) ? last : words.join(" "), parts }];
	});
}

/** A whole paragraph is not a question; its first words are what it is about. */
const MAX_WORDS = 16;

/** Whether the last word of an identifier is all of it: a very long one only has parts. */
function isWhole(word: string, parts: readonly string[]): boolean {
	return parts.every((part) => word.includes(part));
}
