import type { FileLookup } from "./file-lookup.ts";
import type { Package } from "./packages.ts";
import { below, folderOf, restBelow } from "./project-path.ts";
import type { Tsconfigs } from "./tsconfig-of-file.ts";

/** Finds what a built file is built from: packages name their outputs, which are rarely part of the project. */
export interface OutputSources {
	/** By the folders that a configuration of the package names as output. */
	configured(output: string, owner: Package | undefined): string | undefined;
	/** By the names people give to such folders: `dist/esm/a.js` is `src/a.ts`. */
	guessed(output: string, owner: Package): string | undefined;
	/** The usual place of what a package offers under a subpath (`.`, `./a`), whatever its `package.json` says. */
	usual(subpath: string, owner: Package): string | undefined;
}

export function createOutputSources(lookup: FileLookup, tsconfigs: Tsconfigs): OutputSources {
	const mappingsOf = new Map<string, readonly Mapping[]>();

	function mappings(folder: string): readonly Mapping[] {
		const known = mappingsOf.get(folder);
		if (known) return known;
		const around = tsconfigs.of(below(folder, "index.ts"));
		const found: Mapping[] = [];
		for (const config of new Set([...tsconfigs.in(folder), around])) {
			const { rootDir } = config;
			// Unless it is said, the compiler takes the folder that all sources share, which is mostly `src`.
			const inputs =
				rootDir === undefined ? [below(config.folder, "src"), config.folder] : [rootDir];
			for (const output of config.outputFolders) found.push({ output, inputs });
		}
		mappingsOf.set(folder, found);
		return found;
	}

	function configured(output: string, owner: Package | undefined): string | undefined {
		const folder = owner?.folder ?? folderOf(output);
		for (const mapping of mappings(folder)) {
			const rest = restBelow(mapping.output, output);
			if (!rest) continue;
			for (const input of mapping.inputs) {
				const path = below(input, rest);
				const found = path === output ? undefined : lookup.source(path);
				if (found !== undefined) return found;
			}
		}
		return undefined;
	}

	function guessed(output: string, owner: Package): string | undefined {
		const names = (restBelow(owner.folder, output) ?? "").split("/");
		for (let dropped = 1; dropped < names.length; dropped++) {
			if (!outputName.test(names[dropped - 1] ?? "")) return undefined;
			const rest = names.slice(dropped).join("/");
			for (const input of ["src", "", "source", "lib"]) {
				const path = below(owner.folder, below(input, rest));
				const found = path === output ? undefined : lookup.source(path);
				if (found !== undefined) return found;
			}
		}
		return undefined;
	}

	function usual(subpath: string, owner: Package): string | undefined {
		const rest = subpath.slice(2);
		const places = rest === "" ? ["src/index", "index", "src/main", "lib/index", "main"] : [];
		if (rest !== "") places.push(`src/${rest}`, rest, `lib/${rest}`);
		for (const place of places) {
			const path = below(owner.folder, place);
			const found = lookup.module(path, "all", noSuffix) ?? lookup.source(path);
			if (found !== undefined) return found;
		}
		return undefined;
	}

	return { configured, guessed, usual };
}

interface Mapping {
	readonly output: string;
	readonly inputs: readonly string[];
}

const noSuffix = [""];

const outputName =
	/^[._]?(?:dist|build|built|out|output|lib|libs|es|esm|esnext|mjs|cjs|umd|commonjs|modules?|types|typings|dts|declarations|bundles?|release|node|browser|web|prod|production|dev|development)(?:[-_.]\w+)*$/;
