import type { FileLookup, Wanted } from "./file-lookup.ts";
import type { OutputSources } from "./output-source.ts";
import { type Conditions, exportTargets } from "./package-targets.ts";
import type { Package } from "./packages.ts";
import { joinPath, restBelow } from "./project-path.ts";
import type { Scope } from "./resolution-scope.ts";
import type { Tsconfig } from "./tsconfig.ts";

/** Finds the files of packages of the project, in their sources rather than in what is built from them. */
export interface PackageFiles {
	/** The file that a package offers under a subpath (`.`, `./a`). */
	offered(scope: Scope, owner: Package, subpath: string): string | undefined;
	/** The first of the targets of `imports` that is there, as written or as its source. */
	imported(scope: Scope, owner: Package, targets: readonly string[]): string | undefined;
}

/** Every condition that an author may have thought of, for when none of the usual leads anywhere. */
export const anyCondition: Conditions = () => true;

export function createPackageFiles(lookup: FileLookup, outputs: OutputSources): PackageFiles {
	function offered(scope: Scope, owner: Package, subpath: string): string | undefined {
		if (owner.exports === undefined) {
			return inPlace(scope, owner, subpath) ?? searched(scope, owner, subpath);
		}
		// The older way of resolving knows no `exports`.
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
			// Bundlers look past a list that does not speak of a file, so a file that is there is meant.
			if (listed.kind === "not-listed") {
				return inPlace(scope, owner, subpath) ?? searched(scope, owner, subpath);
			}
			const found = target(scope, owner, listed.targets, passes);
			if (found !== undefined) return found;
			// Empty for every condition is `null`: the package keeps others out.
			if (conditions === anyCondition && listed.targets.length === 0) return undefined;
		}
		return outputs.usual(subpath, owner);
	}

	function imported(scope: Scope, owner: Package, targets: readonly string[]): string | undefined {
		return target(scope, owner, targets, scope.passes);
	}

	/** The first that is there, as written or as the source of what is written. */
	function target(
		scope: Scope,
		owner: Package,
		targets: readonly string[],
		passes: readonly Wanted[],
	): string | undefined {
		const paths = inFolder(
			owner,
			targets.filter((written) => written.startsWith("./")),
		);
		for (const wanted of passes) {
			for (const path of paths) {
				const found =
					(wanted !== "plain" ? outputs.configured(path, owner) : undefined) ??
					exactly(path, wanted, scope.tsconfig);
				if (found !== undefined) return found;
			}
		}
		return firstOf(paths, (path) => outputs.guessed(path, owner));
	}

	/** A path of a `package.json`: with TypeScript's extensions it is meant literally. */
	function exactly(path: string, wanted: Wanted, tsconfig: Tsconfig): string | undefined {
		if (wanted !== "plain" && /\.(?:[cm]?ts|tsx)$/.test(path)) {
			return lookup.file(path) ?? lookup.literal(path, tsconfig.moduleSuffixes);
		}
		return lookup.withExtension(path, wanted, tsconfig.moduleSuffixes);
	}

	/** Without `exports`: a subpath is a path, and the package its folder. */
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

	/** Where TypeScript would give up: by other entry points, and by the usual places of sources. */
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

	return { offered, imported };
}

function entriesOf(owner: Package): string[] {
	return inFolder(
		owner,
		[owner.types, owner.main].filter((entry) => entry !== undefined),
	);
}

/** Paths of a `package.json` as paths of the project; those that leave the package mean nothing. */
function inFolder(owner: Package, written: readonly string[]): string[] {
	return written.flatMap((each) => {
		const path = joinPath(owner.folder, each);
		return path === undefined || restBelow(owner.folder, path) === undefined ? [] : [path];
	});
}

function firstOf<T, U>(items: readonly T[], find: (item: T) => U | undefined): U | undefined {
	for (const item of items) {
		const found = find(item);
		if (found !== undefined) return found;
	}
	return undefined;
}
