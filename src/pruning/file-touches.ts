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
	const references = new Map<Item, { lives: readonly Life<Item>[]; at: number }>();
	for (const ofFile of Map.groupBy(touches, ({ file }) => file).values()) {
		const lives = livesOf(ofFile);
		for (const [at, { touch, isSuperseded }] of lives.entries()) {
			if (touch.kind === "shown" && isSuperseded) superseded.add(touch.item);
			if (touch.kind === "refers") references.set(touch.item, { lives, at });
		}
	}
	return {
		isSuperseded: (item) => superseded.has(item),
		basesOf(item) {
			const { lives, at } = references.get(item) ?? { lives: [], at: 0 };
			const before = lives.slice(0, at).filter(({ end }) => end > at);
			return before.map(({ touch }) => touch.item);
		},
	};
}

/** A touch, and what became of it. */
interface Life<Item> {
	readonly touch: FileTouch<Item>;
	readonly at: number;
	/** The model has newer text of it, or the file is no longer so. */
	isSuperseded: boolean;
	/**
	 * The place of the touch from which on nothing refers to it any more. A change does not end it: the diff behind the
	 * change says what became of this very text.
	 */
	end: number;
}

function livesOf<Item>(touches: readonly FileTouch<Item>[]): Life<Item>[] {
	let alive: Life<Item>[] = [];
	let lastReference = -1;
	return touches.map((touch, at) => {
		if (touch.kind === "changed") {
			for (const life of alive) life.isSuperseded = true;
			return { touch, at, isSuperseded: false, end: at }; // it shows nothing
		}
		if (touch.kind === "refers") lastReference = at;
		else {
			const replaced = alive.filter((life) => replaces(touch, life.touch));
			for (const life of replaced) {
				life.isSuperseded = true;
				// A diff needs all that it was made of, even where some lines of it are shown again.
				if (!touch.lines || life.at > lastReference) life.end = at;
			}
			if (replaced.length > 0) alive = alive.filter(({ end }) => end !== at);
		}
		const life = { touch, at, isSuperseded: false, end: Number.POSITIVE_INFINITY };
		alive.push(life);
		return life;
	});
}

/** Whether text that is shown makes what was shown or meant before it superfluous. */
export function replaces(later: FileTouch<unknown>, earlier: FileTouch<unknown>): boolean {
	if (!later.lines) return true;
	if (!earlier.lines) return false;
	return later.lines[0] <= earlier.lines[0] && earlier.lines[1] <= later.lines[1];
}
