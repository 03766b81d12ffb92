import { type ComponentChildren, createContext } from "preact";
import { useContext, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { short } from "./figures.ts";

interface PlainTextProps {
	text: string;
	most?: number;
	as?: "bdi" | "b" | "code" | "strong";
	class?: string;
}

/** A short untrusted text, shown harmlessly: nothing in it is markup, hides itself or turns the line around. */
export function PlainText({ text, most = 2_000, as: Tag = "bdi", ...rest }: PlainTextProps) {
	const { text: shown, rest: left } = clipped(text, { most, lines: Number.POSITIVE_INFINITY });
	return (
		<Tag dir="auto" {...rest}>
			{stretchesOf(shown)}
			{left > 0 && "…"}
		</Tag>
	);
}

export function stretchesOf(text: string) {
	return visibleText(text).map((stretch, at) =>
		stretch.isSign ? (
			<span key={at} class="sign">
				{stretch.text}
			</span>
		) : (
			stretch.text
		),
	);
}

const FIRST = { most: 4_000, lines: 24 };
const MORE = { most: 64_000, lines: 1_000 };

export function LongText({ text, lines = FIRST.lines }: { text: string; lines?: number }) {
	return (
		<ClippedText text={text} first={{ ...FIRST, lines }} more={MORE}>
			{(shown) => (
				<pre class="long-text" dir="auto">
					{stretchesOf(shown)}
				</pre>
			)}
		</ClippedText>
	);
}

interface ClippedTextProps {
	text: string;
	first: Bounds;
	more: Bounds;
	children(shown: string): ComponentChildren;
}

/** The beginning of a long text, extended to a search's match, and more on demand. */
export function ClippedText({ text, first, more, children }: ClippedTextProps) {
	const [chosen, setBounds] = useState(first);
	const sought = useContext(Sought);
	const place = useMemo(() => placeIn(text, sought), [text, sought]);
	const bounds = reaching(text, place, chosen);
	useLayoutEffect(() => {
		// What a search has revealed stays.
		if (bounds !== chosen) setBounds(bounds);
	});
	const { text: shown, rest } = clipped(text, bounds);
	const far = excerpt(text, place);
	const showMore = () =>
		setBounds({ most: bounds.most + more.most, lines: bounds.lines + more.lines });
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

/** The words that are searched for in this row, in lower case; empty in most rows. */
export const Sought = createContext("");

/** A match further into a text than this is shown as an excerpt. */
const FAR = 200_000;
const MARGIN: Bounds = { most: 1_000, lines: 12 };
const AROUND = 120;

export function placeIn(text: string, sought: string): number {
	return sought === "" ? -1 : text.toLowerCase().indexOf(sought);
}

/** Bounds that show the match; the same object if nothing changes. */
export function reaching(text: string, place: number, bounds: Bounds): Bounds {
	if (place === -1 || place > FAR) return bounds;
	const lines = text.slice(0, place).split("\n").length;
	if (place + MARGIN.most <= bounds.most && lines + MARGIN.lines <= bounds.lines) return bounds;
	return {
		most: Math.max(bounds.most, place + MARGIN.most),
		lines: Math.max(bounds.lines, lines + MARGIN.lines),
	};
}

export function excerpt(text: string, place: number): string | undefined {
	if (place <= FAR) return undefined;
	return text.slice(place - AROUND, place + AROUND * 2);
}

interface Stretch {
	text: string;
	isSign: boolean;
}

/** Makes untrusted text visible: terminal colours are dropped; control characters, bidi marks and zero-width characters are written out. */
export function visibleText(text: string): Stretch[] {
	const stretches: Stretch[] = [];
	let plainFrom = 0;
	let plain = "";
	for (const match of text.matchAll(HIDDEN)) {
		plain += text.slice(plainFrom, match.index);
		plainFrom = match.index + match[0].length;
		if (match[0] === "\r\n") plain += "\n";
		const sign = signOf(match[0]);
		if (sign === "") continue;
		if (plain) stretches.push({ text: plain, isSign: false });
		plain = "";
		const last = stretches.at(-1);
		if (last?.isSign) last.text += sign;
		else stretches.push({ text: sign, isSign: true });
	}
	plain += text.slice(plainFrom);
	if (plain) stretches.push({ text: plain, isSign: false });
	return stretches;
}

export function visibleString(text: string): string {
	return Array.from(visibleText(text), (stretch) => stretch.text).join("");
}

export interface Bounds {
	most: number;
	lines: number;
}

/** At most `most` characters and `lines` lines, without splitting a surrogate pair. `rest` counts what is left out. */
export function clipped(text: string, { most, lines }: Bounds): { text: string; rest: number } {
	let end = Math.min(text.length, most);
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

/** ANSI sequences (CSI, OSC, other escapes); control characters except tab and line feed; CRLF; marks. */
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
		// A sequence may contain marks.
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
