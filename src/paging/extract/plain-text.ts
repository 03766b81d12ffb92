import { setImmediate } from "node:timers/promises";
import { decodeEntities } from "./entities.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapsed, escaped } from "./inline-text.ts";

/** How much text is taken at a time, and how many milliseconds before the event loop gets its turn. */
const PIECE = 65_536;
const MS_PER_SLICE = 8;

/**
 * The bare text of a page, tags left out, for when nothing better could be had. Runs on the calling thread, in
 * slices of a few milliseconds; throws the signal's reason once that is aborted.
 */
export async function strippedText(html: string, signal?: AbortSignal): Promise<string> {
	const pieces: string[] = [];
	let sliceStart = performance.now();
	for (const piece of textPieces(html)) {
		const text = escaped(collapsed(decodeEntities(piece)).trim());
		if (text !== "") pieces.push(text);
		if (performance.now() - sliceStart < MS_PER_SLICE) continue;
		await setImmediate();
		signal?.throwIfAborted();
		sliceStart = performance.now();
	}
	return pieces.join("\n");
}

/** The text between tags, cut at white space where it is long; an empty piece for each tag. */
function* textPieces(html: string): Generator<string> {
	const tokens = new HtmlTokenizer(html);
	for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
		if (kind !== "text") {
			yield "";
			continue;
		}
		const text = tokens.source;
		for (let at = 0; at < text.length; ) {
			const end = at + PIECE < text.length ? cutBefore(text, at + PIECE, at) : text.length;
			yield text.slice(at, end);
			at = end;
		}
	}
}

function cutBefore(text: string, limit: number, start: number): number {
	const space = text.slice(start, limit).lastIndexOf(" ");
	if (space > 0) return start + space;
	const isLowSurrogate = (text.charCodeAt(limit) & 0xfc00) === 0xdc00;
	return isLowSurrogate ? limit - 1 : limit;
}
