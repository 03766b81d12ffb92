import type { MarkdownBlocks } from "./markdown-blocks.ts";

/** A stretch of finished blocks; without an end, up to the last. */
export interface Part {
	from: number;
	to?: number;
}

/** A main part with less of the text than this is not the whole story: pages of teasers mark one, for instance. */
const FAIR_SHARE = 0.2;

/** The parts that a page marks as its main one, or as an article. */
export class MarkedParts {
	readonly #parts: Record<"main" | "article", Part[]> = { main: [], article: [] };

	/** A part that begins at a place among the blocks; whoever sees its end says so in it. */
	start(kind: "main" | "article", from: number): Part {
		const part: Part = { from };
		this.#parts[kind].push(part);
		return part;
	}

	/** The text of the main part, if it is clear which that is and it holds a fair share; otherwise all. */
	choose(blocks: MarkdownBlocks): string {
		const whole = blocks.join();
		for (const parts of [this.#parts.main, this.#parts.article]) {
			const [only, ...others] = parts;
			if (!only || others.length > 0) continue;
			const part = blocks.join(only.from, only.to);
			if (part.length >= FAIR_SHARE * whole.length) return part;
		}
		return whole;
	}
}
