/** The place of a character on its page, in points. */
export interface CharBox {
	readonly left: number;
	readonly right: number;
	readonly bottom: number;
	readonly top: number;
}

/** Stands for a character that was merged into another one, so that indices into the text stay valid. */
export const ERASED = "\ufdd0";

/** Accents as characters of their own, as older TeX fonts have them, and the marks that combine with a letter. */
const MARKS: Readonly<Record<string, string>> = {
	"`": "\u0300",
	"´": "\u0301",
	ˆ: "\u0302",
	"^": "\u0302",
	"˜": "\u0303",
	"~": "\u0303",
	"¯": "\u0304",
	"˘": "\u0306",
	"˙": "\u0307",
	"¨": "\u0308",
	"˚": "\u030a",
	"˝": "\u030b",
	ˇ: "\u030c",
	"¸": "\u0327",
	"˛": "\u0328",
};
const ACCENT = /[`´ˆ^˜~¯˘˙¨˚˝ˇ¸˛]/g;
const DOTLESS: Readonly<Record<string, string>> = { ı: "i", ȷ: "j" };

/** An accent over a capital letter is moved to the end of its line. */
const FAR = 120;
const MAX_FAR_SEARCHES = 200;

/**
 * Merges accents into the letters that they are drawn over. The result has the length of the text; merged characters, and
 * spaces that only the accent caused, are {@link ERASED}.
 */
export function composeAccents(
	text: string,
	boxAt: (index: number) => CharBox | undefined,
): string {
	const found = Array.from(text.matchAll(ACCENT), ({ index }) => index);
	if (found.length === 0) return text;
	const chars = text.split("");
	let farSearches = 0;
	for (const at of found) {
		const accent = boxAt(at);
		if (!accent) continue;
		const mark = MARKS[text.charAt(at)] ?? "";
		const reach = () => (farSearches++ < MAX_FAR_SEARCHES ? FAR : 2);
		const base = search(at, 2) ?? search(at, reach());
		if (base === undefined) continue;
		chars[base.at] = base.composed;
		chars[at] = ERASED;
		closeGap(at);

		function search(from: number, distance: number) {
			for (let away = 1; away <= distance; away++) {
				for (const index of [from + away, from - away]) {
					const composed = merged(chars[index] ?? "", mark);
					if (composed === undefined) continue;
					const box = boxAt(index);
					if (box && isOver(accent as CharBox, box, mark)) return { at: index, composed };
				}
			}
			return undefined;
		}
	}
	return chars.join("");

	/** Removes the spaces around a merged accent, except for one where the words are apart. */
	function closeGap(at: number): void {
		let [from, to] = [at, at];
		const isFiller = (char: string | undefined) => char === " " || char === ERASED;
		while (isFiller(chars[from - 1])) from--;
		while (isFiller(chars[to + 1])) to++;
		const spaces: number[] = [];
		for (let i = from; i <= to; i++) if (chars[i] === " ") spaces.push(i);
		if (spaces.length === 0) return;
		const isLineEnd = to + 1 >= chars.length || /[\r\n]/.test(chars[to + 1] ?? "");
		const [before, after] = [boxAt(from - 1), boxAt(to + 1)];
		const isApart =
			!isLineEnd &&
			(!before || !after || after.left - before.right > WORD_GAP * (before.top - before.bottom));
		for (const space of spaces.slice(isApart ? 1 : 0)) chars[space] = ERASED;
	}
}

/** Of the height of a letter. */
const WORD_GAP = 0.25;

/** The letter with its mark, if that is one character. */
function merged(letter: string, mark: string): string | undefined {
	if (!/\p{L}/u.test(letter)) return undefined;
	const composed = `${DOTLESS[letter] ?? letter}${mark}`.normalize("NFC");
	return composed.length === 1 ? composed : undefined;
}

function isOver(accent: CharBox, letter: CharBox, mark: string): boolean {
	const middle = (accent.left + accent.right) / 2;
	if (middle < letter.left || middle > letter.right) return false;
	const height = letter.top - letter.bottom;
	const isBelow = mark === "\u0327" || mark === "\u0328";
	const away = isBelow ? letter.bottom - accent.top : accent.bottom - letter.top;
	return away <= height * 0.5 && away >= -height * 0.6;
}
