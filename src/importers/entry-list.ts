import type { Entry } from "../economy/replay/index.ts";

type WithoutBase<T> = T extends unknown ? Omit<T, "id" | "parent" | "atMs"> : never;

/** An entry without its place in the session. */
export type EntryContent = WithoutBase<Entry>;

/** Entries of a session whose agent stores no tree: each follows the leaf. */
export class EntryList {
	readonly entries: Entry[] = [];
	blockCount = 0;
	/** Position of the entry that the next one follows; -1 for none. */
	leaf = -1;

	/** Returns the entry's id: its position, unless given. */
	add(content: EntryContent, atMs: number, id = String(this.entries.length)): string {
		const position = this.entries.length;
		this.entries.push({ id, parent: this.leaf, atMs, ...content });
		this.leaf = position;
		if ("blocks" in content) this.blockCount += content.blocks.length;
		return id;
	}

	/** When the leaf was written: the next request begins there. */
	get leafMs(): number | undefined {
		return this.entries[this.leaf]?.atMs;
	}
}
