import { getOrAdd } from "../get-or-add.ts";
import { folderOf, joinPath, nameOf } from "../scan/project-path.ts";
import type { ModuleResolution } from "./resolver.ts";
import { specifierKind, withoutLoaderHints } from "./specifier.ts";

/** How the project differs from the state in which something was resolved. */
export interface ProjectChange {
	/** Source files that have appeared. */
	readonly added: readonly string[];
	/** Source files that have vanished. */
	readonly removed: readonly string[];
	/** Configuration files and links that have appeared, vanished or changed. */
	readonly configs: readonly string[];
}

/** A request of a file and where it led. */
export interface ResolvedRequest {
	readonly from: string;
	readonly specifier: string;
	readonly resolution: ModuleResolution;
}

/**
 * Whether a request may lead elsewhere after the change and must be resolved again. Never false where it does; a false
 * positive costs only time. The change is prepared once, so pass the same object for every request.
 */
export function affectedBy(change: ProjectChange, request: ResolvedRequest): boolean {
	if (change.configs.length > 0) return true;
	const { specifier, resolution } = request;
	const { removed, names } = getOrAdd(derived, change, () => derive(change));
	if (resolution.kind === "file" && removed.has(resolution.path)) return true;
	const sorted = specifierKind(specifier);
	if (sorted.kind === "invalid") return false;
	if (sorted.kind !== "relative" && withoutLoaderHints(specifier) === specifier) {
		if (change.added.length > 0) return true;
		// Without the last file of its folder, what was not found may be a package. Assets are not looked for either.
		const isMissing =
			resolution.kind === "unresolved" ||
			(resolution.kind === "external" && resolution.name.startsWith("asset:"));
		return change.removed.length > 0 && isMissing;
	}
	if (change.added.length === 0 && change.removed.length === 0) return false;
	return [specifier, withoutLoaderHints(specifier)].some((written) => {
		// Behind a loader, anything can stand.
		if (specifierKind(written).kind !== "relative") return true;
		const path = joinPath(folderOf(request.from), written);
		// The root has no name that a file below could be found by.
		return path === "" || (path !== undefined && names.has(stemOf(nameOf(path))));
	});
}

/** What is derived from a change, once. */
const derived = new WeakMap<ProjectChange, ReturnType<typeof derive>>();

function derive({ added, removed }: ProjectChange) {
	return {
		removed: new Set(removed),
		/**
		 * The names that a relative specifier must end in to find one of the added files: the file's own, or that of any
		 * folder around it, as a folder is found by its `index` or by what its `package.json` names. Everything after the
		 * first dot is left out, since extensions, suffixes and `.d` are exchanged freely.
		 */
		names: new Set(added.flatMap((path) => path.split("/")).map(stemOf)),
	};
}

function stemOf(name: string): string {
	const dot = name.indexOf(".", 1);
	return dot < 0 ? name : name.slice(0, dot);
}
