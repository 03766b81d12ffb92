import type { CharBox } from "./accents.ts";

/** A word of a line: a range of the page's text, and its edges in points. */
export interface Word {
	readonly from: number;
	readonly to: number;
	readonly left: number;
	readonly right: number;
}

/** A piece of a line of a page, without wide gaps inside: a range of the page's text, and its box in points. */
export interface TextPiece extends Word, CharBox {
	readonly words: readonly Word[];
}

/** A gap between two words of at least so many heights of the line divides it. */
const WIDE_GAP = 1.5;

/** The pieces of the page's lines, cut where the gap between two words is wide. Hyphenated lines have none. */
export function readPieces(
	text: string,
	boxAt: (index: number) => CharBox | undefined,
): TextPiece[] {
	const pieces: TextPiece[] = [];
	for (const { index, 0: line } of text.matchAll(/[^\r\n]+/g)) {
		if (line.includes("\ufffe")) continue;
		let piece: (CharBox & { words: Word[] }) | undefined;
		const words = Array.from(line.matchAll(/[^ \t]+/g), ({ index: at, 0: word }) => ({ at, word }));
		for (const [i, { at, word }] of words.entries()) {
			if (isDots(word) && [words[i - 1], words[i + 1]].some((next) => next && isDots(next.word)))
				continue;
			const from = index + at;
			const to = from + word.length;
			const [first, last] = [boxAt(from), word.length === 1 ? undefined : boxAt(to - 1)];
			if (!first) continue;
			const { left, bottom, top: firstTop } = first;
			const right = last?.right ?? first.right;
			const top = Math.max(firstTop, last?.top ?? firstTop);
			const height = piece ? Math.max(piece.top - piece.bottom, top - bottom) : 0;
			if (piece && left - piece.right >= WIDE_GAP * height) {
				pieces.push(finished(piece));
				piece = undefined;
			}
			piece = piece
				? { ...piece, right, top: Math.max(piece.top, top) }
				: { words: [], left, right, bottom, top };
			piece.words.push({ from, to, left, right });
		}
		if (piece) pieces.push(finished(piece));
	}
	return pieces;
}

/** Dots beside dots are leaders, which join a title to its page. */
function isDots(word: string): boolean {
	return /^[.·…]+$/.test(word);
}

function finished(piece: CharBox & { words: Word[] }): TextPiece {
	const { words } = piece;
	return { ...piece, from: words[0]?.from ?? 0, to: words.at(-1)?.to ?? 0 };
}
