export function bytesOf(text: string): number {
	// Counts in a loop, since browsers have no `Buffer` and encoding takes ten times as long.
	let bytes = text.length;
	for (let at = 0; at < text.length; at++) {
		const unit = text.charCodeAt(at);
		if (unit < 0x80) continue;
		const isPair = unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text, at + 1);
		if (isPair) at++;
		bytes += unit < 0x800 ? 1 : 2;
	}
	return bytes;
}

/** Cuts text to `maxBytes` of UTF-8, `…` included, between characters. Empty if `…` does not fit. */
export function clip(text: string, maxBytes: number): string {
	// A UTF-16 unit takes at least one byte, so text with more than `maxBytes` units need not be measured.
	if (text.length <= maxBytes && bytesOf(text) <= maxBytes) return text;
	const room = maxBytes - bytesOf(ELLIPSIS);
	if (room < 0) return "";
	const { read } = new TextEncoder().encodeInto(text, new Uint8Array(room));
	return text.slice(0, read) + ELLIPSIS;
}

/** Like {@link clip}, but cuts out the middle, since the end of a path matters more than its start. */
export function clipMiddle(text: string, maxBytes: number): string {
	if (text.length <= maxBytes && bytesOf(text) <= maxBytes) return text;
	const tailBytes = Math.floor(((maxBytes - bytesOf(ELLIPSIS)) * 2) / 3);
	let from = text.length;
	for (let bytes = 0; from > 0; ) {
		const start = isLowSurrogate(text, from - 1) && from > 1 ? from - 2 : from - 1;
		bytes += bytesOf(text.slice(start, from));
		if (bytes > tailBytes) break;
		from = start;
	}
	const tail = text.slice(from);
	return clip(text, maxBytes - bytesOf(tail)) + tail;
}

const ELLIPSIS = "…";

function isLowSurrogate(text: string, index: number): boolean {
	const unit = text.charCodeAt(index);
	return unit >= 0xdc00 && unit <= 0xdfff;
}
