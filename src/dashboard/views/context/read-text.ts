import type { ContextPieceText } from "../../../protocol/index.ts";

/** What has been read of a piece's text so far. */
export interface ReadText {
	readonly stretches: readonly { readonly offset: number; readonly text: string }[];
	readonly totalChars: number;
	/** Where the next stretch begins; absent at the end. */
	readonly nextOffset?: number;
}

/** Adds a stretch. If the text has become another one meanwhile, what was read of the old one is dropped. */
export function addStretch(before: ReadText | undefined, next: ContextPieceText): ReadText {
	const { offset, text, totalChars, nextOffset } = next;
	const fits = before?.nextOffset === offset && before.totalChars === totalChars;
	return {
		stretches: [...(fits ? before.stretches : []), { offset, text }],
		totalChars,
		// A stretch that leads nowhere must not be asked for again and again.
		...(nextOffset !== undefined && nextOffset > offset && { nextOffset }),
	};
}
