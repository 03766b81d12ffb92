export interface Stretch {
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
	return visibleText(text)
		.map((stretch) => stretch.text)
		.join("");
}

/** At most `most` characters and `lines` lines, without splitting a surrogate pair. `rest` counts what is left out. */
export function clipped(
	text: string,
	{ most, lines }: { most: number; lines: number },
): { text: string; rest: number } {
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

/** Bidi and zero-width marks. */
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
