/** The reads in a session file, in the order in which the model saw them. */
export interface ReadSession {
	readonly agent: "Claude Code" | "pi";
	readonly events: readonly ReadEvent[];
}

export type ReadEvent =
	| ResultEvent
	/** Everything shown before is gone. */
	| { readonly kind: "compaction" }
	/** These results became stubs. */
	| { readonly kind: "cleared"; readonly results: readonly string[] };

/** The text of a tool's result. */
export interface ResultEvent {
	readonly kind: "result";
	readonly id: string;
	/** The answer that made the call. Results of one answer do not see each other. */
	readonly answer: string;
	readonly bytes: number;
	/** For the tool that reads files, unless it failed or returned no text. */
	readonly read?: { readonly path: string; readonly lines: readonly FileLine[] };
}

/** A line of a file as it was shown. */
export interface FileLine {
	readonly number: number;
	readonly text: string;
	/** As sent, with the number if the agent writes one, and the line break. */
	readonly bytes: number;
}

/** A line of a session file. Formats are not published: every field may be missing. */
export type Entry = Readonly<Record<string, unknown>>;

/**
 * The lines that lead to the last one, by the ids of their parents. A line whose parent is missing follows the one
 * above; `null` for a parent is a root.
 */
export function pathToLast(
	lines: readonly Entry[],
	{ id, parents }: { id: string; parents: readonly string[] },
): Set<Entry> {
	const places = new Map(lines.map((line, at) => [line[id], at]));
	const path = new Set<Entry>();
	for (let at = lines.length - 1; at >= 0; ) {
		const line = lines[at] as Entry;
		path.add(line);
		const named = parents.map((key) => line[key]).filter((parent) => parent !== undefined);
		const parent = named.find((found) => found !== null);
		if (parent === undefined && named.length > 0) break;
		const place = places.get(parent ?? "") ?? at;
		at = Math.min(place, at - 1); // a parent below its child would be a cycle
	}
	return path;
}

/** The text of a message's content, which is a string or a list of blocks; `undefined` if there is none. */
export function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	const texts = blocksOf(content).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
	return texts.length > 0 ? texts.join("\n") : undefined;
}

/** The blocks of a message's content. */
export function blocksOf(content: unknown): Entry[] {
	return Array.isArray(content)
		? content.filter((block) => block && typeof block === "object")
		: [];
}
