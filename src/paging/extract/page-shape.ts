import { RARELY_CLOSED, VOID } from "./element-names.ts";

/** The size of a page's tree, counted from its tags. */
export interface PageShape {
	elements: number;
	/** How deep elements are nested, as far as they say where they end. */
	depth: number;
}

/** Counts the tags of a page as they come. */
export class ShapeMeter {
	#elements = 0;
	#depth = 0;
	#deepest = 0;

	get shape(): PageShape {
		return { elements: this.#elements, depth: this.#deepest };
	}

	/** `holdsTags`: what is inside is not raw text, which ends with it. */
	opened(name: string, holdsTags: boolean): void {
		this.#elements++;
		if (holdsTags) this.#step(name, 1);
	}

	closed(name: string): void {
		this.#step(name, -1);
	}

	#step(name: string, by: 1 | -1): void {
		if (VOID.has(name) || RARELY_CLOSED.has(name)) return;
		this.#depth = Math.max(0, this.#depth + by);
		this.#deepest = Math.max(this.#deepest, this.#depth);
	}
}
