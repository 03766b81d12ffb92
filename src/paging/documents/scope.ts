import type { LeftOut } from "../extract/left-out.ts";

/** How much of a document is wanted, and an account of the rest. */
export interface Scope {
	/** True for parts that a reader of the printed document would not see: hidden sheets, deleted text, footers. */
	readonly everything: boolean;
	/** Whether to show a part of this kind. If not, its length is counted as left out. */
	shows(kind: string, text: string): boolean;
}

export class DocumentScope implements Scope {
	readonly everything: boolean;
	readonly #sizes = new Map<string, number>();

	constructor(everything: boolean) {
		this.everything = everything;
	}

	shows(kind: string, text: string): boolean {
		if (!this.everything && text.length > 0)
			this.#sizes.set(kind, (this.#sizes.get(kind) ?? 0) + text.length);
		return this.everything;
	}

	/** Characters by kind, largest first. */
	get leftOut(): LeftOut {
		return Object.fromEntries([...this.#sizes].sort(([, a], [, b]) => b - a));
	}
}
