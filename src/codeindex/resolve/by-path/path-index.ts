import { getOrAdd } from "../../../core/get-or-add.ts";
import { folderOf, nameOf, restBelow } from "../../../core/project-path.ts";
import type { ModuleResolution } from "../specifier.ts";

/** There is nothing to find in the project, and nothing to name outside of it. */
export const NOWHERE: ModuleResolution = { kind: "external", name: "" };

export const toFile = (path: string): ModuleResolution => ({ kind: "file", path });

/** Finds files by the end of their path, as include folders and source roots are not written down. */
export class PathIndex {
	readonly files: ReadonlySet<string>;
	#byName: Map<string, string[]> | undefined;

	constructor(files: ReadonlySet<string>) {
		this.files = files;
	}

	/** The file, if the project has it. */
	exact(path: string | undefined): string | undefined {
		return path !== undefined && this.files.has(path) ? path : undefined;
	}

	/** The file whose path ends in `end`. Of several, the one with most folders in common with `from`. */
	endingIn(end: string, from: string): string | undefined {
		this.#byName ??= byName(this.files);
		const all = this.#byName.get(nameOf(end)) ?? [];
		const found = all.filter((path) => path === end || path.endsWith(`/${end}`));
		if (found.length < 2) return found[0];
		const common = (path: string) => {
			let folder = folderOf(from);
			while (folder !== "" && restBelow(folder, path) === undefined) folder = folderOf(folder);
			return folder.length;
		};
		return found.reduce((best, path) => (common(path) > common(best) ? path : best));
	}
}

function byName(files: ReadonlySet<string>): Map<string, string[]> {
	const found = new Map<string, string[]>();
	for (const path of [...files].sort()) getOrAdd(found, nameOf(path), () => []).push(path);
	return found;
}
