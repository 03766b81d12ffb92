import { property } from "../core/property.ts";

/** The data of an entry that `/workset` appends, to change the selection on this branch. */
export type SelectionChange =
	| { readonly op: "add" | "drop"; readonly paths: readonly string[] }
	| { readonly op: "clear" }
	| { readonly op: "map"; readonly on: boolean };

export interface Selection {
	/** Relative to the project root, with forward slashes, in the order added. */
	readonly paths: readonly string[];
	/** `undefined` if never set. */
	readonly map: boolean | undefined;
}

/** Ignores malformed changes, since session files are untrusted. */
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

/** Security: a session file must not make us send files outside the project. */
function namedPaths(change: unknown): string[] {
	const paths = property(change, "paths");
	if (!Array.isArray(paths)) return [];
	return paths.filter((path): path is string => typeof path === "string" && isInner(path));
}

function isInner(path: string): boolean {
	return !path.includes("\0") && !path.split("/").some((name) => ["", ".", ".."].includes(name));
}
