import type { MarkdownBlocks } from "./markdown-blocks.ts";

/** A stretch of finished blocks; without an end, up to the last. */
export interface Part {
	from: number;
	to?: number;
}

/** How a page marks its main part: as that, or as an article. */
export type PartKind = "main" | "article";

/** A main part with less of the text than this is not the whole story: pages of teasers mark one, for instance. */
const FAIR_SHARE = 0.2;

/** The parts that a page marks as its main one, or as an article. */
export class MarkedParts {
	readonly #parts: Record<PartKind, Part[]> = { main: [], article: [] };

	/** A part that begins at a place among the blocks; whoever sees its end says so in it. */
	start(kind: PartKind, from: number): Part {
		const part: Part = { from };
		this.#parts[kind].push(part);
		return part;
	}

	/** The text of the main part, if it is clear which that is and it holds a fair share; otherwise all. */
	choose(blocks: MarkdownBlocks): { markdown: string; mainPart?: PartKind } {
		const whole = blocks.join();
		for (const mainPart of ["main", "article"] as const) {
			const [only, ...others] = this.#parts[mainPart];
			if (!only || others.length > 0) continue;
			const markdown = blocks.join(only.from, only.to);
			if (markdown.length >= FAIR_SHARE * whole.length) return { markdown, mainPart };
		}
		return { markdown: whole };
	}
}
