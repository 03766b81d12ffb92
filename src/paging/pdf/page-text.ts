import { ERASED } from "./accents.ts";
import { findRegions } from "./layout.ts";
import type { TextPiece } from "./pieces.ts";

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
	/** Values of form fields, and notes. */
	readonly notes?: readonly string[];
	readonly pieces?: readonly TextPiece[];
}

export interface PageText {
	/** Lines end in "\n"; empty for a page without text. */
	readonly text: string;
	readonly warning?: PageWarning;
}

// With broken fonts, about 60 % of characters are meaningless; with bullets and icons, well below 20 %.
const BROKEN_SHARE = 0.25;

/**
 * Trims lines, joins hyphenated words, puts tables in rows, drops control characters and spaces between Chinese characters.
 * Meaningless characters become U+FFFD. Notes and form fields follow the text.
 */
export function pageText(page: RawPage): PageText {
	const found = ownText(page);
	const notes = (page.notes ?? [])
		.map((note) => clean(note.replaceAll("\r\n", "\n")))
		.filter(Boolean);
	if (notes.length === 0) return found;
	const { warning, text } = found;
	const all = [text, ...notes.map((note) => `[${note}]`)].filter(Boolean).join("\n");
	return { text: all, ...(warning && warning !== "no_text" && { warning }) };
}

function ownText({ text: raw, hyphens, painted, pieces = [] }: RawPage): PageText {
	const joined = joinChinese(
		withoutErased(arranged(raw, hyphens, pieces)).replaceAll("\r\n", "\n"),
	);
	const isMixed = mixesScripts(joined);
	if (joined !== "" && !isMixed && !UNCLEAN.test(joined)) return { text: joined };
	const text = clean(joined);
	const isBroken = isMixed || meaninglessShare(raw, hyphens.length) >= BROKEN_SHARE;
	if (isBroken) return { text, warning: "broken_encoding" };
	if (text === "" && painted) return { text, warning: "no_text" };
	return { text };
}

const ERASED_HYPHEN = new RegExp(`(?<=\\p{L})-${ERASED}+\r\n(?=\\p{Ll})`, "gu");

/** A hyphen before an erased accent is at the end of its line. */
function withoutErased(text: string): string {
	if (!text.includes(ERASED)) return text;
	return text.replace(ERASED_HYPHEN, "").replaceAll(ERASED, "");
}

/** Joins hyphenated words, outside of the tables and columns that the layout finds. */
function arranged(raw: string, hyphens: readonly number[], pieces: readonly TextPiece[]): string {
	const parts: string[] = [];
	let from = 0;
	const addPlain = (to: number) => {
		const inside = hyphens.filter((at) => at >= from && at < to).map((at) => at - from);
		parts.push(joinWords(raw.slice(from, to), inside));
	};
	for (const region of findRegions(raw, pieces)) {
		addPlain(region.from);
		// A region may begin or end inside a line.
		if (/[^\r\n ] *$/.test(raw.slice(from, region.from))) parts.push("\r\n");
		parts.push(region.text);
		from = region.to;
		if (/^ *[^\r\n ]/.test(raw.slice(from))) parts.push("\r\n");
	}
	addPlain(raw.length);
	return parts.join("");
}

const CHINESE =
	"[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}。、，！？（）「」《》：；]";
const SPACED_CHINESE = new RegExp(`(?<=${CHINESE}) (?=${CHINESE})`, "gu");
const ADJACENT_CHINESE = new RegExp(`${CHINESE}(?=${CHINESE})`, "gu");

/** Removes the spaces between Chinese and Japanese characters if most of them have one: it is how the page places them. */
function joinChinese(text: string): string {
	const spaced = text.match(SPACED_CHINESE)?.length ?? 0;
	if (spaced === 0) return text;
	return spaced > (text.match(ADJACENT_CHINESE)?.length ?? 0)
		? text.replace(SPACED_CHINESE, "")
		: text;
}

/** Words that mix three scripts are wrong characters; a share of them means a broken encoding. */
const MIXED_SHARE = 0.2;
const SCRIPTS = [
	"Latin",
	"Greek",
	"Cyrillic",
	"Arabic",
	"Hebrew",
	"Han",
	"Thai",
	"Devanagari",
	"Armenian",
	"Georgian",
	"Hangul",
	"Ethiopic",
].map((name) => new RegExp(`\\p{Script=${name}}`, "u"));

function mixesScripts(text: string): boolean {
	// Most pages have one script, which a look at the codes shows.
	if (!/[\u0370-\uffff]/.test(text)) return false;
	const words = text.match(/\p{L}{3,}/gu) ?? [];
	if (words.length < 5) return false;
	const mixed = words.filter((word) => SCRIPTS.filter((script) => script.test(word)).length >= 3);
	return mixed.length >= words.length * MIXED_SHARE;
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
