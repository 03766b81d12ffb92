/** What a tool result has to do with a file. */
export interface FileTouch<Item> {
	readonly item: Item;
	/** The file, by whatever names it the same each time. */
	readonly file: string;
	/**
	 * `shown`: text of it stands in the result. `refers`: the result stands for text shown before (a marker, a diff).
	 * `changed`: the file is no longer what was shown before.
	 */
	readonly kind: "shown" | "refers" | "changed";
	/** The lines shown or meant; all of them if absent. */
	readonly lines?: readonly [first: number, last: number];
}

/** What follows from the order in which files were shown and changed. */
export interface Touches<Item> {
	/** It showed what has been shown in full again since, or is no longer so. */
	isSuperseded(item: Item): boolean;
	/** The earlier results that an item refers to. */
	basesOf(item: Item): readonly Item[];
}

/** Goes through what happened to files, oldest first. */
export function followTouches<Item>(touches: readonly FileTouch<Item>[]): Touches<Item> {
	const superseded = new Set<Item>();
	const bases = new Map<Item, Item[]>();
	/** Of each file, what was shown or referred to and still stands; the latest last. */
	const standing = new Map<string, FileTouch<Item>[]>();
	for (const touch of touches) {
		const before = standing.get(touch.file) ?? [];
		if (touch.kind === "refers") {
			bases.set(
				touch.item,
				before.map(({ item }) => item),
			);
			standing.set(touch.file, [...before, touch]);
			continue;
		}
		const left = before.filter((earlier) => !replaces(touch, earlier));
		for (const earlier of before) {
			if (!left.includes(earlier) && earlier.kind === "shown") superseded.add(earlier.item);
		}
		standing.set(touch.file, touch.kind === "shown" ? [...left, touch] : left);
	}
	return {
		isSuperseded: (item) => superseded.has(item),
		basesOf: (item) => bases.get(item) ?? [],
	};
}

function replaces(later: FileTouch<unknown>, earlier: FileTouch<unknown>): boolean {
	if (later.kind === "changed" || !later.lines) return true;
	if (!earlier.lines) return false;
	return later.lines[0] <= earlier.lines[0] && earlier.lines[1] <= later.lines[1];
}
