/** Why the text of a page may not be what a reader of the page sees. */
export type PageWarning =
	/** pictures or drawings, but no text: usually a scan */
	| "no_text"
	/** the fonts say wrongly, or not at all, which characters their glyphs stand for */
	| "broken_encoding"
	/** the page is damaged: nothing of it could be loaded */
	| "unreadable";

/** A page as pdfium gives it. */
export interface RawPage {
	/** Lines end in CRLF; U+FFFE stands for a hyphen at the end of a line, and for a character without a meaning. */
	text: string;
	/** Which of the U+FFFE are hyphens: their indices in `text`, ascending. The line break after each is gone. */
	hyphens: readonly number[];
	/** Whether anything at all is painted on the page. */
	painted: boolean;
}

/** A page's text as a model should read it. */
export interface PageText {
	text: string;
	warning?: PageWarning;
}

/**
 * The share of meaningless characters from which a page's encoding counts as broken. Broken maps give about 60 %;
 * symbols in private-use codes (bullets, icons, formulae) stay well below 20 %.
 */
const BROKEN_SHARE = 0.25;

/**
 * Cleans a page: lines end in "\n" without spaces before it, words hyphenated at the end of a line are joined,
 * control characters are gone, and what has no meaning is U+FFFD.
 */
export function pageText({ text: raw, hyphens, painted }: RawPage): PageText {
	const joined = joinWords(raw, hyphens).replaceAll("\r\n", "\n");
	if (joined !== "" && !UNCLEAN.test(joined)) return { text: joined };
	const text = cleaned(joined);
	const isBroken = meaninglessShare(raw, hyphens.length) >= BROKEN_SHARE;
	if (isBroken) return { text, warning: "broken_encoding" };
	if (text === "" && painted) return { text, warning: "no_text" };
	return { text };
}

/** Finds whatever there is to clean or to count; most pages have nothing of it. */
const UNCLEAN =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
	/[\0-\x08\v-\x1f\x7f-\x9f\u00ad\ud800-\uf8ff\ufffd\ufffe]|[ \t](?:\n|$)|^\n|\n$/;

function cleaned(text: string): string {
	return (
		text
			.replaceAll("\r", "\n")
			// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the purpose.
			.replace(/[\0-\x08\v\f\x0e-\x1f\x7f]/g, "")
			.replaceAll("\ufffe", "\ufffd")
			// A soft hyphen that a page shows is a hyphen; those at the end of a line are gone by now.
			.replaceAll("\u00ad", "-")
			// The lookbehinds keep long runs of spaces or newlines from costing quadratic time.
			.replace(/(?<![ \t])[ \t]+$/gm, "")
			.replace(/^\n+|(?<!\n)\n+$/g, "")
			.toWellFormed()
	);
}

/** A title takes no more than this, whatever the document says. */
const MAX_TITLE = 200;

/** The document's title on one line, empty if it has none worth showing. */
export function titleText(raw: string): string {
	const title = raw.replace(/[\p{Cc}\p{Co}\ufffd\ufffe\s]+/gu, " ").trim();
	return title.slice(0, MAX_TITLE).toWellFormed();
}

/**
 * Joins the two halves of each hyphenated word. The hyphen stays where it is part of the word as far as one can
 * tell: before a digit ("COVID-19"), and before a capital after a small letter ("Anglo-Saxon").
 */
function joinWords(raw: string, hyphens: readonly number[]): string {
	if (hyphens.length === 0) return raw;
	let joined = "";
	let from = 0;
	for (const index of hyphens) {
		joined += raw.slice(from, index);
		from = index + 1;
		const [before = "", after = ""] = [raw[index - 1], raw[from]];
		const keep = !/\p{L}/u.test(after) || (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(after));
		if (keep) joined += "-";
	}
	return joined + raw.slice(from);
}

/** How many of the visible characters are control characters, private-use codes, U+FFFD or unknown; 0 to 1. */
function meaninglessShare(raw: string, hyphens: number): number {
	let visible = 0;
	let meaningless = -hyphens;
	for (let i = 0; i < raw.length; i++) {
		const code = raw.charCodeAt(i);
		if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) continue;
		visible++;
		if (code < 0x20 || (code >= 0x7f && code < 0xa0)) meaningless++;
		else if (code >= 0xe000 && (code < 0xf900 || code === 0xfffd || code === 0xfffe)) meaningless++;
	}
	return visible === 0 ? 0 : meaningless / visible;
}
