import { existsSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { CodeIndexError } from "../../codeindex/index.ts";
import { isWithin } from "../../core/places.ts";

/** The files of a project, while one question about it is answered. */
export type ProjectFiles = ReturnType<typeof projectFiles>;

/** Looks at the disk once for each path, when it is asked for. */
export function projectFiles(root: string, exists: (path: string) => boolean = existsSync) {
	const found = new Map<string, string | undefined>();

	/**
	 * A path of KotaDB as our answers have it: from the root, with forward slashes. `undefined` for what does not exist:
	 * KotaDB recommends tests that were never written, and keeps deleted files.
	 */
	function find(path: string): string | undefined {
		if (!found.has(path)) {
			const inside = insideOf(root, path);
			found.set(path, inside !== undefined && exists(resolve(root, inside)) ? inside : undefined);
		}
		return found.get(path);
	}

	/** A path from a question, proven to lie within the project. It need not exist. */
	function within(path: string): string {
		const inside = insideOf(root, path);
		if (inside !== undefined) return inside;
		throw new CodeIndexError(
			"outside-project",
			`${path} is not in the project ${root}: name a file of the project, relative to its root`,
		);
	}

	return {
		find,
		within,
		/** All that exist, each once. */
		findAll: (paths: readonly string[]): string[] => [
			...new Set(paths.map(find).filter((path) => path !== undefined)),
		],
		/** A path from a question that must exist. */
		existing(path: string): string {
			const inside = within(path);
			if (find(inside) !== undefined) return inside;
			throw new CodeIndexError("unknown-file", `${inside} does not exist: check the path`);
		},
	};
}

function insideOf(root: string, path: string): string | undefined {
	const absolute = resolve(root, path);
	if (!isWithin(root, absolute)) return undefined;
	const way = relative(root, absolute);
	return sep === "\\" ? way.replaceAll("\\", "/") : way;
}
