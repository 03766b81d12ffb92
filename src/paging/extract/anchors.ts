import type { HtmlTokenizer } from "./html-tokenizer.ts";
import type { MarkdownBlocks } from "./markdown-blocks.ts";

/** Anchors to remember; a page may have more ids than text. */
const MAX_ANCHORS = 5000;
const MAX_ID = 200;

/** The ids of a page's elements, with the pieces of Markdown written before each. */
export class Anchors {
	readonly #found: { id: string; piece: number }[] = [];

	/** Takes the id of the element that `tokens` just opened, if it has one. */
	add(tokens: HtmlTokenizer, { length }: MarkdownBlocks): void {
		if (!tokens.hasAttributes || this.#found.length >= MAX_ANCHORS) return;
		const id = tokens.attribute("id") ?? tokens.attribute("name");
		if (id && id.length <= MAX_ID) this.#found.push({ id, piece: length });
	}

	/** Where each id begins in the joined Markdown; of elements with the same id, the first. */
	offsets(blocks: MarkdownBlocks): ReadonlyMap<string, number> {
		const offsets = blocks.offsets(this.#found.map(({ piece }) => piece));
		const places = new Map<string, number>();
		for (const [i, { id }] of this.#found.entries()) {
			if (!places.has(id)) places.set(id, offsets[i] as number);
		}
		return places;
	}
}
