import type { Row } from "../rows.ts";
import { rowSource, rowText } from "./row-text.ts";

/** Looks for words in the rows of a conversation, again and again while it grows. */
export interface Finder {
	/**
	 * The keys of the rows that have the words, whatever their case, in order. Stops when `isTimeUp` says so; the next call
	 * goes on from there, because nothing is looked at twice.
	 */
	look(rows: readonly Row[], words: string, isTimeUp: () => boolean): Found;
}

export interface Found {
	keys: readonly string[];
	/** All rows were looked at. */
	isDone: boolean;
}

/** Asking for the time costs more than looking at a short row. */
const ROWS_A_LOOK = 64;
/** A row of so many characters is worth a look at the clock by itself. */
const LONG = 50_000;

/** Keeps the texts that it has prepared: drop it when nobody looks for anything any more. */
export function createFinder(): Finder {
	/** In lower case. */
	const texts = new WeakMap<object, string>();
	let sought = "";
	let answers = new WeakMap<object, boolean>();

	function textOf(row: Row): string {
		const source = rowSource(row);
		let text = texts.get(source);
		if (text === undefined) {
			text = rowText(row).toLowerCase();
			texts.set(source, text);
		}
		return text;
	}

	return {
		look(rows, words, isTimeUp) {
			if (words !== sought) {
				sought = words;
				answers = new WeakMap();
			}
			const keys: string[] = [];
			let sinceClock = 0;
			for (const row of rows) {
				const source = rowSource(row);
				let isFound = answers.get(source);
				if (isFound === undefined) {
					if (sinceClock >= ROWS_A_LOOK) {
						if (isTimeUp()) return { keys, isDone: false };
						sinceClock = 0;
					}
					const text = textOf(row);
					isFound = text.includes(words);
					answers.set(source, isFound);
					sinceClock += text.length > LONG ? ROWS_A_LOOK : 1;
				}
				if (isFound) keys.push(row.key);
			}
			return { keys, isDone: true };
		},
	};
}
