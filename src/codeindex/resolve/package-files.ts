import { getOrAdd } from "../../core/get-or-add.ts";
import { below, folderOf, joinPath, restBelow } from "../../core/project-path.ts";
import type { FileLookup, Wanted } from "./file-lookup.ts";
import { type Conditions, exportTargets } from "./package-targets.ts";
import type { Package } from "./packages.ts";
import type { Scope } from "./resolution-scope.ts";
import type { Tsconfigs } from "./tsconfig.ts";

/** Fallback when the usual conditions find nothing. */
export const anyCondition: Conditions = () => true;

/** Prefers sources over build output. */
export function createPackageFiles(lookup: FileLookup, outputs: OutputSources) {
	function offered(scope: Scope, owner: Package, subpath: string): string | undefined {
		if (owner.exports === undefined) {
			return inPlace(scope, owner, subpath) ?? searched(scope, owner, subpath);
		}
		// `node10` ignores `exports`.
		const older =
			scope.tsconfig.resolution === "node10" ? inPlace(scope, owner, subpath) : undefined;
		return older ?? findExport(scope, owner, subpath);
	}

	function findExport(scope: Scope, owner: Package, subpath: string): string | undefined {
		const isSelf = owner === scope.owner;
		const passes: Wanted[] = ["typed", "plain"];
		if (isSelf && scope.tsconfig.allowJs) passes.unshift("all");
		const asked = isSelf ? subpath.replace(/\/$/, "") : subpath;
		for (const conditions of [scope.conditions, anyCondition]) {
			const listed = exportTargets(owner.exports, asked, conditions);
			// Bundlers fall back to existing files that `exports` does not list.
			if (listed.kind === "not-listed") {
				return inPlace(scope, owner, subpath) ?? searched(scope, owner, subpath);
			}
			const found = target(scope, owner, listed.targets, passes);
			if (found !== undefined) return found;
			// Empty for every condition means `null`: the package hides it.
			if (conditions === anyCondition && listed.targets.length === 0) return undefined;
		}
		return outputs.usual(subpath, owner);
	}

	function target(
		scope: Scope,
		owner: Package,
		targets: readonly string[],
		passes: readonly Wanted[] = scope.passes,
	): string | undefined {
		const inPackage = targets.filter((written) => written.startsWith("./"));
		const paths = inFolder(owner, inPackage);
		for (const wanted of passes) {
			for (const path of paths) {
				const found =
					(wanted !== "plain" ? outputs.configured(path, owner) : undefined) ??
					lookup.exactly(path, wanted, scope.tsconfig.moduleSuffixes);
				if (found !== undefined) return found;
			}
		}
		return firstOf(paths, (path) => outputs.guessed(path, owner));
	}

	function inPlace(scope: Scope, owner: Package, subpath: string): string | undefined {
		const { moduleSuffixes } = scope.tsconfig;
		const [path] = inFolder(owner, [subpath]);
		if (path === undefined) return undefined;
		const entries = subpath === "." ? entriesOf(owner) : [path];
		const folderOnly = subpath === "." || subpath.endsWith("/");
		return (
			firstOf(entries, (entry) => outputs.configured(entry, owner)) ??
			firstOf(["typed", "plain"] as const, (wanted) => {
				return (
					(folderOnly ? undefined : lookup.module(path, wanted, moduleSuffixes)) ??
					lookup.folder(path, wanted, moduleSuffixes)
				);
			})
		);
	}

	/** Beyond TypeScript: other entry points and usual source folders. */
	function searched(scope: Scope, owner: Package, subpath: string): string | undefined {
		const { moduleSuffixes } = scope.tsconfig;
		const others = subpath === "." ? inFolder(owner, owner.otherEntries) : [];
		const entries = subpath === "." ? entriesOf(owner) : inFolder(owner, [subpath]);
		return (
			firstOf(others, (path) => {
				return outputs.configured(path, owner) ?? lookup.module(path, "all", moduleSuffixes);
			}) ??
			firstOf(entries, (path) => outputs.guessed(path, owner)) ??
			outputs.usual(subpath, owner)
		);
	}

	return { offered, target };
}

function entriesOf(owner: Package): string[] {
	const entries = [owner.types, owner.main].filter((entry) => entry !== undefined);
	return inFolder(owner, entries);
}

/** Drops paths outside the package. */
function inFolder(owner: Package, written: readonly string[]): string[] {
	return written.flatMap((each) => {
		const path = joinPath(owner.folder, each);
		return path === undefined || restBelow(owner.folder, path) === undefined ? [] : [path];
	});
}

export function firstOf<T, U>(
	items: readonly T[],
	find: (item: T) => U | undefined,
): U | undefined {
	for (const item of items) {
		const found = find(item);
		if (found !== undefined) return found;
	}
	return undefined;
}

type OutputSources = ReturnType<typeof createOutputSources>;

/** Packages name build output, which is rarely part of the project. */
export function createOutputSources(lookup: FileLookup, tsconfigs: Tsconfigs) {
	const mappingsOf = new Map<string, readonly Mapping[]>();

	function mappings(folder: string): readonly Mapping[] {
		return getOrAdd(mappingsOf, folder, () => {
			const around = tsconfigs.of(below(folder, "index.ts"));
			return [...new Set([...tsconfigs.in(folder), around])].flatMap((config) => {
				// The default is the common folder of all sources, mostly `src`.
				const { rootDir } = config;
				const inputs =
					rootDir === undefined ? [below(config.folder, "src"), config.folder] : [rootDir];
				return config.outputFolders.map((output) => ({ output, inputs }));
			});
		});
	}

	function sourceIn(inputs: readonly string[], rest: string, output: string): string | undefined {
		return firstOf(inputs, (input) => {
			const path = below(input, rest);
			return path === output ? undefined : lookup.source(path);
		});
	}

	/** By the output folders of the package's configurations. */
	function configured(output: string, owner: Package | undefined): string | undefined {
		return firstOf(mappings(owner?.folder ?? folderOf(output)), (mapping) => {
			const rest = restBelow(mapping.output, output);
			return rest ? sourceIn(mapping.inputs, rest, output) : undefined;
		});
	}

	/** By convention: `dist/esm/a.js` is `src/a.ts`. */
	function guessed(output: string, owner: Package): string | undefined {
		const names = (restBelow(owner.folder, output) ?? "").split("/");
		const inputs = ["src", "", "source", "lib"].map((input) => below(owner.folder, input));
		for (let dropped = 1; dropped < names.length; dropped++) {
			if (!outputName.test(names[dropped - 1] ?? "")) return undefined;
			const found = sourceIn(inputs, names.slice(dropped).join("/"), output);
			if (found !== undefined) return found;
		}
		return undefined;
	}

	function usual(subpath: string, owner: Package): string | undefined {
		const rest = subpath.slice(2);
		const places =
			rest === ""
				? ["src/index", "index", "src/main", "lib/index", "main"]
				: [`src/${rest}`, rest, `lib/${rest}`];
		return firstOf(places, (place) => {
			const path = below(owner.folder, place);
			return lookup.module(path, "all", [""]) ?? lookup.source(path);
		});
	}

	return { configured, guessed, usual };
}

interface Mapping {
	readonly output: string;
	readonly inputs: readonly string[];
}

const outputName =
	/^[._]?(?:dist|build|built|out|output|lib|libs|es|esm|esnext|mjs|cjs|umd|commonjs|modules?|types|typings|dts|declarations|bundles?|release|node|browser|web|prod|production|dev|development)(?:[-_.]\w+)*$/;
