import { existsSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { CodeIndexError } from "../../codeindex/index.ts";
import { isWithin } from "../../core/places.ts";

export type ProjectFiles = ReturnType<typeof projectFiles>;

/** Checks each path on disk once, lazily. Use one instance per question. */
export function projectFiles(root: string, exists: (path: string) => boolean = existsSync) {
	const found = new Map<string, string | undefined>();

	/** Returns `undefined` for missing files: KotaDB invents tests and keeps deleted files. */
	function find(path: string): string | undefined {
		if (!found.has(path)) {
			const inside = insideOf(root, path);
			found.set(path, inside !== undefined && exists(resolve(root, inside)) ? inside : undefined);
		}
		return found.get(path);
	}

	/** Throws if the path leaves the project. It need not exist. */
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
		findAll: (paths: readonly string[]): string[] => [
			...new Set(paths.map(find).filter((path) => path !== undefined)),
		],
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
