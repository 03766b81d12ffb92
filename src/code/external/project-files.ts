import { existsSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { CodeIndexError } from "../../codeindex/index.ts";
import { isWithin } from "../../core/places.ts";

/** The files of a project, while one question about it is answered. */
export interface ProjectFiles {
	/**
	 * A path of KotaDB as our answers have it: from the root, with forward slashes. `undefined` for what is not there:
	 * KotaDB recommends tests that nobody wrote, and keeps files that were deleted.
	 */
	find(path: string): string | undefined;
	/** All that are there, each once. */
	findAll(paths: readonly string[]): string[];
	/** A path from a question, proven to lie within the project. It need not exist. */
	within(path: string): string;
	/** The same of one that must be there. */
	existing(path: string): string;
}

/** Looks at the disk once for each path, and only if it is asked for. */
export function projectFiles(
	root: string,
	exists: (path: string) => boolean = existsSync,
): ProjectFiles {
	const found = new Map<string, string | undefined>();
	const files: ProjectFiles = {
		find(path) {
			if (!found.has(path)) {
				const inside = insideOf(root, path);
				found.set(path, inside !== undefined && exists(resolve(root, inside)) ? inside : undefined);
			}
			return found.get(path);
		},
		findAll(paths) {
			return [...new Set(paths.map(files.find).filter((path) => path !== undefined))];
		},
		within(path) {
			const inside = insideOf(root, path);
			if (inside !== undefined) return inside;
			throw new CodeIndexError(
				"outside-project",
				`${path} is not in the project ${root}: name a file of the project, relative to its root`,
			);
		},
		existing(path) {
			const inside = files.within(path);
			if (files.find(inside) !== undefined) return inside;
			throw new CodeIndexError("unknown-file", `${inside} does not exist: check the path`);
		},
	};
	return files;
}

function insideOf(root: string, path: string): string | undefined {
	const absolute = resolve(root, path);
	if (!isWithin(root, absolute)) return undefined;
	const way = relative(root, absolute);
	return sep === "\\" ? way.replaceAll("\\", "/") : way;
}
