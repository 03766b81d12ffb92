type PageWarning =
	/** pictures or drawings only: usually a scan */
	| "no_text"
	/** fonts map glyphs to wrong characters or none */
	| "broken_encoding"
	| "unreadable";

export interface RawPage {
	/** Lines end in CRLF; U+FFFE is a hyphen at a line end or a character without a meaning. */
	readonly text: string;
	/** Indices of the U+FFFE that are hyphens, ascending. The line break after each is already removed. */
	readonly hyphens: readonly number[];
	readonly painted: boolean;
}

export interface PageText {
	/** Lines end in "\n"; empty for a page without text. */
	readonly text: string;
	readonly warning?: PageWarning;
}

// With broken fonts, about 60 % of characters are meaningless; with bullets and icons, well below 20 %.
const BROKEN_SHARE = 0.25;

/** Trims lines, joins hyphenated words, drops control characters. Meaningless characters become U+FFFD. */
export function pageText({ text: raw, hyphens, painted }: RawPage): PageText {
	const joined = joinWords(raw, hyphens).replaceAll("\r\n", "\n");
	if (joined !== "" && !UNCLEAN.test(joined)) return { text: joined };
	const text = clean(joined);
	const isBroken = meaninglessShare(raw, hyphens.length) >= BROKEN_SHARE;
	if (isBroken) return { text, warning: "broken_encoding" };
	if (text === "" && painted) return { text, warning: "no_text" };
	return { text };
}

const UNCLEAN =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
	/[\0-\x08\v-\x1f\x7f-\x9f\u00ad\ud800-\uf8ff\ufffd\ufffe]|[ \t](?:\n|$)|^\n|\n$/;

function clean(text: string): string {
	return (
		text
			.replaceAll("\r", "\n")
			// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the purpose.
			.replace(/[\0-\x08\v\f\x0e-\x1f\x7f]/g, "")
			.replaceAll("\ufffe", "\ufffd")
			// Soft hyphens at line ends are already removed, so the others are visible hyphens.
			.replaceAll("\u00ad", "-")
			// The lookbehinds keep long runs of spaces or newlines from costing quadratic time.
			.replace(/(?<![ \t])[ \t]+$/gm, "")
			.replace(/^\n+|(?<!\n)\n+$/g, "")
			.toWellFormed()
	);
}

const MAX_TITLE = 200;

/** Returns the title as one line; an empty string if it has no visible characters. */
export function titleText(raw: string): string {
	const title = raw.replace(/[\p{Cc}\p{Co}\ufffd\ufffe\s]+/gu, " ").trim();
	return title.slice(0, MAX_TITLE).toWellFormed();
}

// Keeps a hyphen before a non-letter ("COVID-19") and between small and capital letter ("Anglo-Saxon").
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

/** Share of control characters, private-use codes, U+FFFD and U+FFFE (except hyphens) in visible text. */
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
