import { getOrAdd } from "../../core/get-or-add.ts";
import { below, folderOf, joinPath, restBelow } from "../../core/project-path.ts";
import { isRecord } from "../../core/property.ts";
import type { ConfigObject } from "./config-files.ts";
import type { FileLookup, Wanted } from "./file-lookup.ts";
import type { Package } from "./packages.ts";
import type { Tsconfig, Tsconfigs } from "./tsconfig.ts";

/** Files that share a scope resolve non-relative specifiers alike. */
export interface Scope {
	readonly tsconfig: Tsconfig;
	readonly owner: Package | undefined;
	readonly conditions: Conditions;
	readonly passes: readonly Wanted[];
}

/** Whether a condition such as `import` holds. `default` always holds. */
type Conditions = (condition: string) => boolean;

/** Fallback if the usual conditions find nothing. */
export const anyCondition: Conditions = () => true;

/** Finds files of the project's packages. Prefers sources over build output. */
export class PackageFiles {
	readonly #lookup: FileLookup;
	readonly #tsconfigs: Tsconfigs;
	readonly #mappings = new Map<string, ReturnType<typeof outputMappings>>();

	constructor(lookup: FileLookup, tsconfigs: Tsconfigs) {
		this.#lookup = lookup;
		this.#tsconfigs = tsconfigs;
	}

	forSubpath(scope: Scope, owner: Package, subpath: string): string | undefined {
		if (owner.exports === undefined) return this.#withoutExports(scope, owner, subpath);
		// `node10` ignores `exports`.
		const older =
			scope.tsconfig.resolution === "node10" ? this.#inPlace(scope, owner, subpath) : undefined;
		return older ?? this.#exported(scope, owner, subpath);
	}

	forTargets(
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
					(wanted !== "plain" ? this.sourceOf(path, owner) : undefined) ??
					this.#lookup.exactly(path, wanted, scope.tsconfig.moduleSuffixes);
				if (found !== undefined) return found;
			}
		}
		return firstOf(paths, (path) => this.#guessedSource(path, owner));
	}

	/** Finds the source of build output by the output folders in the package's tsconfig files. */
	sourceOf(output: string, owner: Package | undefined): string | undefined {
		const folder = owner?.folder ?? folderOf(output);
		const mappings = getOrAdd(this.#mappings, folder, () =>
			outputMappings(this.#tsconfigs, folder),
		);
		return firstOf(mappings, (mapping) => {
			const rest = restBelow(mapping.output, output);
			return rest ? this.#sourceIn(mapping.inputs, rest, output) : undefined;
		});
	}

	#exported(scope: Scope, owner: Package, subpath: string): string | undefined {
		const isSelf = owner === scope.owner;
		const passes = [...passesOf(scope)];
		if (isSelf && scope.tsconfig.allowJs && passes.includes("typed")) passes.unshift("all");
		const asked = isSelf ? subpath.replace(/\/$/, "") : subpath;
		for (const conditions of [scope.conditions, anyCondition]) {
			const targets = exportTargets(owner.exports, asked, conditions);
			// Bundlers fall back to existing files that `exports` does not list.
			if (!targets) return this.#withoutExports(scope, owner, subpath);
			const found = this.forTargets(scope, owner, targets, passes);
			if (found !== undefined) return found;
			// If no condition has a target, the target is `null`: the package hides the subpath.
			if (conditions === anyCondition && targets.length === 0) return undefined;
		}
		return this.#usualSource(subpath, owner);
	}

	#withoutExports(scope: Scope, owner: Package, subpath: string): string | undefined {
		return this.#inPlace(scope, owner, subpath) ?? this.#searched(scope, owner, subpath);
	}

	#inPlace(scope: Scope, owner: Package, subpath: string): string | undefined {
		const { moduleSuffixes } = scope.tsconfig;
		const [path] = inFolder(owner, [subpath]);
		if (path === undefined) return undefined;
		const entries = subpath === "." ? entriesOf(owner) : [path];
		const folderOnly = subpath === "." || subpath.endsWith("/");
		return (
			firstOf(entries, (entry) => this.sourceOf(entry, owner)) ??
			firstOf(passesOf(scope), (wanted) => {
				return (
					(folderOnly ? undefined : this.#lookup.module(path, wanted, moduleSuffixes)) ??
					this.#lookup.folder(path, wanted, moduleSuffixes)
				);
			})
		);
	}

	/** Looks where TypeScript does not: at other entry points and usual source folders. */
	#searched(scope: Scope, owner: Package, subpath: string): string | undefined {
		const { moduleSuffixes } = scope.tsconfig;
		const others = subpath === "." ? inFolder(owner, owner.otherEntries) : [];
		const entries = subpath === "." ? entriesOf(owner) : inFolder(owner, [subpath]);
		return (
			firstOf(others, (path) => {
				return this.sourceOf(path, owner) ?? this.#lookup.module(path, "all", moduleSuffixes);
			}) ??
			firstOf(entries, (path) => this.#guessedSource(path, owner)) ??
			this.#usualSource(subpath, owner)
		);
	}

	#sourceIn(inputs: readonly string[], rest: string, output: string): string | undefined {
		return firstOf(inputs, (input) => {
			const path = below(input, rest);
			return path === output ? undefined : this.#lookup.source(path);
		});
	}

	/** By convention, the source of `dist/esm/a.js` is `src/a.ts`. */
	#guessedSource(output: string, owner: Package): string | undefined {
		const names = (restBelow(owner.folder, output) ?? "").split("/");
		const inputs = ["src", "", "source", "lib"].map((input) => below(owner.folder, input));
		for (let dropped = 1; dropped < names.length; dropped++) {
			if (!OUTPUT_FOLDER.test(names[dropped - 1] ?? "")) return undefined;
			const found = this.#sourceIn(inputs, names.slice(dropped).join("/"), output);
			if (found !== undefined) return found;
		}
		return undefined;
	}

	#usualSource(subpath: string, owner: Package): string | undefined {
		const rest = subpath.slice(2);
		const places =
			rest === ""
				? ["src/index", "index", "src/main", "lib/index", "main"]
				: [`src/${rest}`, rest, `lib/${rest}`];
		return firstOf(places, (place) => {
			const path = below(owner.folder, place);
			return this.#lookup.module(path, "all", [""]) ?? this.#lookup.source(path);
		});
	}
}

function passesOf({ passes }: Scope): readonly Wanted[] {
	return passes.includes("plain") && passes.length === 1 ? passes : TYPES_FIRST;
}

const TYPES_FIRST: readonly Wanted[] = ["typed", "plain"];

/** Maps output folders, which are rarely part of the project, to source folders. */
function outputMappings(tsconfigs: Tsconfigs, folder: string) {
	const enclosing = tsconfigs.forFile(below(folder, "index.ts"));
	return [...new Set([...tsconfigs.inFolder(folder), enclosing])].flatMap((config) => {
		// `rootDir` defaults to the common folder of all sources, usually `src`.
		const { rootDir } = config;
		const inputs = rootDir === undefined ? [below(config.folder, "src"), config.folder] : [rootDir];
		return config.outputFolders.map((output) => ({ output, inputs }));
	});
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

export function firstOf<T, U>(all: readonly T[], find: (item: T) => U | undefined): U | undefined {
	for (const item of all) {
		const found = find(item);
		if (found !== undefined) return found;
	}
	return undefined;
}

/** Targets of the subpath, preferred ones first; empty if it is hidden, `undefined` if `exports` lacks it. As in TypeScript, target files need not exist yet. */
function exportTargets(exports: unknown, subpath: string, conditions: Conditions) {
	const isTable = isRecord(exports) && Object.keys(exports).some((key) => key.startsWith("."));
	if (isTable) return tableTargets(exports, subpath, conditions);
	return subpath === "." ? collect(exports, conditions) : undefined;
}

/** Targets of a name in the table of `exports` or `imports`. Undefined if the name is not listed. */
export function tableTargets(
	table: ConfigObject,
	name: string,
	conditions: Conditions,
): string[] | undefined {
	if (!name.endsWith("/") && !name.includes("*") && Object.hasOwn(table, name)) {
		return collect(table[name], conditions);
	}
	for (const { key, prefix, suffix } of getOrAdd(patternsOfTable, table, () =>
		sortPatterns(table),
	)) {
		// A key that ends in a slash covers everything below it.
		const isPattern = suffix !== undefined;
		if (!name.startsWith(prefix)) continue;
		if (isPattern && (!name.endsWith(suffix) || name.length < prefix.length + suffix.length)) {
			continue;
		}
		const rest = name.slice(prefix.length, isPattern ? name.length - suffix.length : undefined);
		if (/(?:^|\/)(?:\.\.?|node_modules)(?:\/|$)/.test(rest)) return [];
		const fill = (target: string) => {
			if (isPattern) return target.replaceAll("*", () => rest);
			return target.endsWith("/") ? target + rest : undefined;
		};
		return collect(table[key], conditions, fill);
	}
	return undefined;
}

const patternsOfTable = new WeakMap<ConfigObject, ReturnType<typeof sortPatterns>>();

/** Most specific patterns first. */
function sortPatterns(table: ConfigObject) {
	const patterns: { key: string; prefix: string; suffix?: string }[] = [];
	for (const key of Object.keys(table)) {
		const [prefix = "", suffix, more] = key.split("*");
		if (suffix !== undefined && more === undefined) patterns.push({ key, prefix, suffix });
		else if (suffix === undefined && key.endsWith("/")) patterns.push({ key, prefix });
	}
	// Of two keys with equal prefixes, the one with a star comes first.
	const special = ({ prefix, suffix }: (typeof patterns)[number]) =>
		prefix.length + (suffix === undefined ? 0 : 1);
	return patterns.sort((a, b) => special(b) - special(a) || b.key.length - a.key.length);
}

/** Limits for hostile `package.json` files. */
const MAX_DEPTH = 20;
const MAX_TARGETS = 200;

function collect(
	target: unknown,
	conditions: Conditions,
	fill: (target: string) => string | undefined = (target) => target,
): string[] {
	const targets: string[] = [];
	visit(target, 0);
	return targets;

	function visit(value: unknown, depth: number): void {
		if (depth > MAX_DEPTH || targets.length >= MAX_TARGETS) return;
		if (typeof value === "string") {
			const filled = value.includes("\0") ? undefined : fill(value);
			if (filled !== undefined) targets.push(filled);
		} else if (Array.isArray(value)) {
			for (const item of value) visit(item, depth + 1);
		} else if (isRecord(value)) {
			for (const [condition, inner] of Object.entries(value)) {
				if (condition === "default" || conditions(condition)) visit(inner, depth + 1);
			}
		}
	}
}

const OUTPUT_FOLDER =
	/^[._]?(?:dist|build|built|out|output|lib|libs|es|esm|esnext|mjs|cjs|umd|commonjs|modules?|types|typings|dts|declarations|bundles?|release|node|browser|web|prod|production|dev|development)(?:[-_.]\w+)*$/;
