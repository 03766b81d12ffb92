import { type ComponentChildren, createContext } from "preact";
import { useContext, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { short } from "./figures.ts";
import { type Syntax, type SyntaxToken, syntaxTokens } from "./syntax.ts";

interface PlainTextProps {
	readonly text: string;
	readonly max?: number;
	readonly as?: "bdi" | "b" | "code" | "strong";
	readonly class?: string;
}

/** A short untrusted text: markup, hidden characters and bidi overrides have no effect. */
export function PlainText({ text, max = 2_000, as: Tag = "bdi", ...rest }: PlainTextProps) {
	const { text: shown, rest: left } = clipped(text, { chars: max, lines: ALL_LINES });
	return (
		<Tag dir="auto" {...rest}>
			{visibleSpans(shown)}
			{left > 0 && "…"}
		</Tag>
	);
}

export function visibleSpans(text: string) {
	return visibleText(text).map((span, at) =>
		span.isEscape ? (
			<span key={at} class="sign">
				{span.text}
			</span>
		) : (
			span.text
		),
	);
}

/** Longer texts stay plain: colours would take longer than a frame. */
const MAX_COLOURED = 100_000;

/** Untrusted code, in the colours of its syntax if it is known. */
export function codeSpans(text: string, syntax: Syntax | undefined) {
	if (!syntax || text.length > MAX_COLOURED) return visibleSpans(text);
	return tokenSpans(syntaxTokens(text, syntax));
}

export function tokenSpans(tokens: readonly SyntaxToken[]) {
	return tokens.map(({ kind, text }, at) =>
		kind === undefined ? (
			visibleSpans(text)
		) : (
			<span key={at} class={`syntax-${kind}`}>
				{visibleSpans(text)}
			</span>
		),
	);
}

const FIRST_BOUNDS = { chars: 4_000, lines: 24 };
const MORE_BOUNDS = { chars: 64_000, lines: 1_000 };

interface LongTextProps {
	readonly text: string;
	readonly lines?: number;
	/** Default: plain text. */
	readonly syntax?: Syntax | undefined;
}

export function LongText({ text, lines = FIRST_BOUNDS.lines, syntax }: LongTextProps) {
	return (
		<ClippedText text={text} first={{ ...FIRST_BOUNDS, lines }} more={MORE_BOUNDS}>
			{(shown) => (
				<pre class="long-text" dir="auto">
					{codeSpans(shown, syntax)}
				</pre>
			)}
		</ClippedText>
	);
}

interface ClippedTextProps {
	readonly text: string;
	readonly first: Bounds;
	readonly more: Bounds;
	children(shown: string): ComponentChildren;
}

/** Shows the beginning of a long text, and more on demand or if a search match is further down. */
export function ClippedText({ text, first, more, children }: ClippedTextProps) {
	const [chosen, setBounds] = useState(first);
	const query = useContext(SearchQuery);
	const index = useMemo(() => matchIndex(text, query), [text, query]);
	const bounds = boundsReaching(text, index, chosen);
	useLayoutEffect(() => {
		// Text that a search has revealed stays visible after the search.
		if (bounds !== chosen) setBounds(bounds);
	});
	const { text: shown, rest } = clipped(text, bounds);
	const far = excerpt(text, index);
	const showMore = () =>
		setBounds({ chars: bounds.chars + more.chars, lines: bounds.lines + more.lines });
	return (
		<>
			{children(shown)}
			{far !== undefined && (
				<p class="excerpt">
					… <PlainText text={far} /> …
				</p>
			)}
			{rest > 0 && (
				<button type="button" class="quiet small" onClick={showMore}>
					Show more ({short(rest)} characters left)
				</button>
			)}
		</>
	);
}

/** In the row of the current match: the search query, in lower case. In all other rows: an empty string. */
export const SearchQuery = createContext("");

/** A match after this many characters is shown as an excerpt. */
const MAX_REVEAL = 200_000;
const MARGIN: Bounds = { chars: 1_000, lines: 12 };
const EXCERPT_MARGIN = 120;

export function matchIndex(text: string, query: string): number {
	return query === "" ? -1 : text.toLowerCase().indexOf(query);
}

/** Extends the bounds to show the match. Returns the same object if they already do. */
export function boundsReaching(text: string, index: number, bounds: Bounds): Bounds {
	if (index === -1 || index > MAX_REVEAL) return bounds;
	const lines = text.slice(0, index).split("\n").length;
	if (index + MARGIN.chars <= bounds.chars && lines + MARGIN.lines <= bounds.lines) return bounds;
	return {
		chars: Math.max(bounds.chars, index + MARGIN.chars),
		lines: Math.max(bounds.lines, lines + MARGIN.lines),
	};
}

export function excerpt(text: string, index: number): string | undefined {
	if (index <= MAX_REVEAL) return undefined;
	return text.slice(index - EXCERPT_MARGIN, index + EXCERPT_MARGIN * 2);
}

type TextSpan = { text: string; readonly isEscape: boolean };

/** Writes out control characters, bidi marks and zero-width characters, and drops terminal colours. */
export function visibleText(text: string): TextSpan[] {
	const spans: TextSpan[] = [];
	let plainFrom = 0;
	let plain = "";
	for (const match of text.matchAll(HIDDEN)) {
		plain += text.slice(plainFrom, match.index);
		plainFrom = match.index + match[0].length;
		if (match[0] === "\r\n") plain += "\n";
		const sign = signOf(match[0]);
		if (sign === "") continue;
		if (plain) spans.push({ text: plain, isEscape: false });
		plain = "";
		const last = spans.at(-1);
		if (last?.isEscape) last.text += sign;
		else spans.push({ text: sign, isEscape: true });
	}
	plain += text.slice(plainFrom);
	if (plain) spans.push({ text: plain, isEscape: false });
	return spans;
}

export function visibleString(text: string): string {
	return Array.from(visibleText(text), (span) => span.text).join("");
}

export const ALL_LINES = Number.POSITIVE_INFINITY;

type Bounds = { readonly chars: number; readonly lines: number };

/** Cuts a text without splitting a surrogate pair. `rest` is the number of characters left out. */
export function clipped(text: string, { chars, lines }: Bounds): { text: string; rest: number } {
	let end = Math.min(text.length, chars);
	let at = -1;
	for (let line = 0; line < lines; line++) {
		at = text.indexOf("\n", at + 1);
		if (at === -1 || at >= end) break;
		if (line === lines - 1) end = at;
	}
	const last = text.charCodeAt(end - 1);
	if (end < text.length && last >= 0xd800 && last <= 0xdbff) end--;
	return { text: text.slice(0, end), rest: text.length - end };
}

const MARKS =
	"[\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]|[\\u{e0000}-\\u{e007f}]";

/** Matches ANSI sequences (CSI, OSC, others), control characters except tab and line feed, CRLF, marks. */
const HIDDEN = new RegExp(
	[
		"\\u001b\\[[0-?]*[ -/]*[@-~]",
		"\\u001b\\][^\\u0007\\u001b]{0,2000}(?:\\u0007|\\u001b\\\\)",
		"\\u001b[ -/]*[0-~]",
		"\\r\\n",
		"[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]",
		MARKS,
	].join("|"),
	"gu",
);

const MARK = new RegExp(MARKS, "gu");
const COLOUR = /^\[[0-9;:]*m$/;

function signOf(hidden: string): string {
	if (hidden === "\r\n") return "";
	if (hidden.length > 1 && hidden.startsWith("\u001b")) {
		const code = hidden.slice(1);
		if (COLOUR.test(code)) return "";
		// An escape sequence may itself contain control characters and marks.
		return `␛${code.replaceAll(/\p{Cc}/gu, "·").replaceAll(MARK, written)}`;
	}
	const code = hidden.codePointAt(0) ?? 0;
	if (code < 0x20) return String.fromCodePoint(0x2400 + code);
	if (code === 0x7f) return "␡";
	return written(hidden);
}

function written(mark: string): string {
	return `⟨U+${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
