import { estimateTokens } from "../core/tokens.ts";
import { parseCopy, parseDropped, SLOT_INTRO } from "./copy-text.ts";
import type { Copy } from "./log/layout.ts";

/** A message of the working set as it stands in the context. */
export interface WorksetInView {
	readonly entryId: string;
	readonly texts: readonly string[];
	/** Tokens of the conversation behind it. */
	readonly tokensBehind: number;
}

/** What the model can see of the working set. */
export interface View {
	readonly copies: readonly Copy[];
	/** The newest copy of each path, by hash; none of those that the model was told are no longer kept up to date. */
	readonly newest: ReadonlyMap<string, string>;
}

/**
 * Reads the working set off the messages that hold it. A copy from before its file was dropped is worth nothing any
 * more, whatever it says: the model was told not to rely on it.
 */
export function viewOf(messages: readonly WorksetInView[]): View {
	const slotAt = messages.findLastIndex(({ texts }) => texts[0] === SLOT_INTRO);
	const newest = new Map<string, string>();
	const copies = messages.map(({ entryId, texts, tokensBehind }, index): Copy => {
		const files = texts.flatMap((text) => {
			for (const path of parseDropped(text)) newest.delete(path);
			const copy = parseCopy(text);
			if (!copy) return [];
			newest.set(copy.path, copy.hash);
			return [{ path: copy.path, hash: copy.hash, tokens: estimateTokens(text.length) }];
		});
		return { entryId, kind: index === slotAt ? "slot" : "snapshot", files, tokensBehind };
	});
	return { copies: copies.map((copy) => withoutDropped(copy, newest)), newest };
}

/** A hash that no file has stands for "not this version, whichever it is". */
const NO_VERSION = "";

function withoutDropped(copy: Copy, newest: View["newest"]): Copy {
	const files = copy.files.map((file) =>
		newest.has(file.path) ? file : { ...file, hash: NO_VERSION },
	);
	return { ...copy, files };
}

/**
 * The files that a message of the working set shows; a file without text is only spoken of. `undefined` when the message
 * is not as we made it, and so may show anything.
 */
export function filesIn(
	texts: readonly string[],
): { readonly path: string; readonly text: string | undefined }[] | undefined {
	const files = [];
	for (const text of texts) {
		const copy = parseCopy(text);
		if (copy) files.push({ path: copy.path, text: copy.gone ? undefined : copy.text });
		else if (text !== SLOT_INTRO && parseDropped(text).length === 0) return undefined;
	}
	return files;
}
