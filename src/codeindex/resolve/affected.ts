import { getOrAdd } from "../../core/get-or-add.ts";
import { folderOf, joinPath, nameOf } from "../../core/project-path.ts";
import type { ModuleResolution } from "./resolver.ts";
import { specifierKind, withoutLoaderHints } from "./specifier.ts";

export interface ProjectChange {
	readonly added: readonly string[];
	readonly removed: readonly string[];
	readonly configs: readonly string[];
}

export interface ResolvedRequest {
	readonly from: string;
	readonly specifier: string;
	readonly resolution: ModuleResolution;
}

/** Whether to resolve a request again. No false negatives. Pass the same `change` every time. */
export function affectedBy(change: ProjectChange, request: ResolvedRequest): boolean {
	if (change.configs.length > 0) return true;
	const { specifier, resolution } = request;
	const { removed, names } = getOrAdd(derived, change, () => derive(change));
	if (resolution.kind === "file" && removed.has(resolution.path)) return true;
	const sorted = specifierKind(specifier);
	if (sorted.kind === "invalid") return false;
	if (sorted.kind !== "relative" && withoutLoaderHints(specifier) === specifier) {
		if (change.added.length > 0) return true;
		// Without the last file of its folder, an unresolved name may be a package.
		const isMissing =
			resolution.kind === "unresolved" ||
			(resolution.kind === "external" && resolution.name.startsWith("asset:"));
		return change.removed.length > 0 && isMissing;
	}
	if (change.added.length === 0 && change.removed.length === 0) return false;
	return [specifier, withoutLoaderHints(specifier)].some((written) => {
		// A loader prefix can precede anything.
		if (specifierKind(written).kind !== "relative") return true;
		const path = joinPath(folderOf(request.from), written);
		// The root has no name to be found by.
		return path === "" || (path !== undefined && names.has(stemOf(nameOf(path))));
	});
}

const derived = new WeakMap<ProjectChange, ReturnType<typeof derive>>();

function derive({ added, removed }: ProjectChange) {
	return {
		removed: new Set(removed),
		/**
		 * Names that a relative specifier must end in to find an added file: its own, or that of a
		 * parent folder. Cut at the first dot: extensions, suffixes and `.d` are interchangeable.
		 */
		names: new Set(added.flatMap((path) => path.split("/")).map(stemOf)),
	};
}

function stemOf(name: string): string {
	const dot = name.indexOf(".", 1);
	return dot < 0 ? name : name.slice(0, dot);
}
