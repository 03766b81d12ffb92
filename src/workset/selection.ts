import { property } from "../core/property.ts";

/** What `/workset` leaves in the session: a change of the selection from here on, on this branch. */
export type SelectionChange =
	| { readonly op: "add" | "drop"; readonly paths: readonly string[] }
	| { readonly op: "clear" }
	| { readonly op: "map"; readonly on: boolean };

/** What the user wants in every request. */
export interface Selection {
	/** Paths from the project's root with forward slashes, in the order in which they were added. */
	readonly paths: readonly string[];
	/** Whether the symbol map is wanted; `undefined` where nobody said so. */
	readonly map: boolean | undefined;
}

/**
 * The selection that the changes of a branch add up to. They come from a session file, which others may have written:
 * what is not a change of ours counts for nothing.
 */
export function selectionOf(changes: Iterable<unknown>): Selection {
	const paths = new Set<string>();
	let map: boolean | undefined;
	for (const change of changes) {
		const op = property(change, "op");
		if (op === "clear") paths.clear();
		if (op === "map") map = property(change, "on") === true;
		if (op !== "add" && op !== "drop") continue;
		for (const path of namedPaths(change)) {
			if (op === "add") paths.add(path);
			else paths.delete(path);
		}
	}
	return { paths: [...paths], map };
}

/** Only what stays within the project: a session file must not make us send others. */
function namedPaths(change: unknown): string[] {
	const paths = property(change, "paths");
	if (!Array.isArray(paths)) return [];
	return paths.filter((path): path is string => typeof path === "string" && isInner(path));
}

function isInner(path: string): boolean {
	const names = path.split("/");
	return (
		!path.includes("\0") && !names.some((name) => name === "" || name === "." || name === "..")
	);
}
