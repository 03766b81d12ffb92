import type { ConfigFiles } from "./config-files.ts";
import { below, folderOf } from "./project-path.ts";
import { type FindPackage, noTsconfig, readTsconfig, type Tsconfig } from "./tsconfig.ts";

/** Which configuration applies where. */
export interface Tsconfigs {
	/** The one for a file: of those around it the nearest, or the one among its references that includes the file. */
	of(path: string): Tsconfig;
	/** One by its own path. */
	at(path: string): Tsconfig | undefined;
	/** Those in a folder, whatever they are for: `tsconfig.json`, `tsconfig.build.json`. */
	in(folder: string): readonly Tsconfig[];
}

/** Reads each configuration once, when it is needed. */
export function createTsconfigs(files: ConfigFiles, findPackage: FindPackage): Tsconfigs {
	const byPath = new Map<string, Tsconfig | undefined>();
	const nearestTo = new Map<string, Tsconfig>();
	const inFolder = new Map<string, string[]>();
	for (const path of files.paths) {
		if (!/(?:^|\/)[tj]sconfig[^/]*\.json$/.test(path)) continue;
		const folder = folderOf(path);
		const paths = inFolder.get(folder);
		if (paths) paths.push(path);
		else inFolder.set(folder, [path]);
	}

	function at(path: string): Tsconfig | undefined {
		if (byPath.has(path)) return byPath.get(path);
		const config = readTsconfig(path, files, findPackage);
		byPath.set(path, config);
		return config;
	}

	function nearest(folder: string): Tsconfig {
		const known = nearestTo.get(folder);
		if (known) return known;
		const here = at(below(folder, "tsconfig.json")) ?? at(below(folder, "jsconfig.json"));
		const config = here ?? (folder === "" ? noTsconfig : nearest(folderOf(folder)));
		nearestTo.set(folder, config);
		return config;
	}

	function of(path: string): Tsconfig {
		const config = nearest(folderOf(path));
		if (config.references.length === 0 || config.includes(path)) return config;
		return including(config, path) ?? config;
	}

	/** Searches the references, and theirs. */
	function including(config: Tsconfig, path: string): Tsconfig | undefined {
		const queue = [...config.references];
		const seen = new Set(queue);
		for (const reference of queue) {
			const referenced = at(reference);
			if (referenced?.includes(path)) return referenced;
			for (const next of referenced?.references ?? []) {
				if (seen.size >= maxReferences || seen.has(next)) continue;
				seen.add(next);
				queue.push(next);
			}
		}
		return undefined;
	}

	return { of, at, in: (folder) => (inFolder.get(folder) ?? []).flatMap((path) => at(path) ?? []) };
}

const maxReferences = 500;
