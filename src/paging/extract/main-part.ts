import type { MarkdownBlocks } from "./markdown-blocks.ts";

/** A range of finished blocks; without an end, up to the last. */
export interface Part {
	from: number;
	to?: number;
}

export type PartKind = "main" | "article";

/** A marked part with a smaller share is not the whole text: pages of teasers mark one. */
const FAIR_SHARE = 0.2;

export class MarkedParts {
	readonly #parts: Record<PartKind, Part[]> = { main: [], article: [] };

	/** The caller sets the part's end. */
	start(kind: PartKind, from: number): Part {
		const part: Part = { from };
		this.#parts[kind].push(part);
		return part;
	}

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
