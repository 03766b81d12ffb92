import { createContext } from "preact";

/** What the reader looks for in the row that is drawn, in lower case: long texts show up to there. Mostly empty. */
export const Sought = createContext("");

/** How much of a text is shown. */
export interface Bounds {
	most: number;
	lines: number;
}

/** Further into a text than this nobody is led: all before it would have to be drawn. */
const FAR = 200_000;
/** What is shown beyond the words. */
const MORE: Bounds = { most: 1_000, lines: 12 };
/** What is shown around words that are too far into a text. */
const AROUND = 120;

/** Where the words are in a text, whatever their case; -1 where they are not. */
export function placeIn(text: string, sought: string): number {
	return sought === "" ? -1 : text.toLowerCase().indexOf(sought);
}

/** Bounds within which the place shows. The same ones if it does already, or if it is too far away. */
export function reaching(text: string, place: number, bounds: Bounds): Bounds {
	if (place === -1 || place > FAR) return bounds;
	let lines = 1;
	for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1))
		lines++;
	if (place + MORE.most <= bounds.most && lines + MORE.lines <= bounds.lines) return bounds;
	return {
		most: Math.max(bounds.most, place + MORE.most),
		lines: Math.max(bounds.lines, lines + MORE.lines),
	};
}

/** The words with what is around them, if they are too far into a text to show it up to there. */
export function excerpt(text: string, place: number): string | undefined {
	if (place <= FAR) return undefined;
	return text.slice(place - AROUND, place + AROUND * 2);
}
