import { getOrAdd } from "../../core/get-or-add.ts";
import { below, folderOf, foldersUpwards, joinPath, nameOf } from "../../core/project-path.ts";
import { isRecord } from "../../core/property.ts";
import { matchesPath, type PathPattern, parsePathPattern } from "../scan/path-pattern.ts";
import { type ConfigFiles, own, ownText, ownTexts } from "./config-files.ts";

export type Tsconfig = ReturnType<typeof tsconfigOf>;

type FindPackage = (name: string) => string | undefined;

/** The options that affect resolution, after applying `extends`. */
function tsconfigOf(path: string, settings: Settings, references: readonly string[]) {
	const folder = folderOf(path);
	const { baseUrl, outDir, declarationDir, rootDir, paths } = settings;
	const outputFolders = [outDir, declarationDir].filter((out) => out !== undefined);
	const inPaths = (target: string) => inProject(target, baseUrl ?? paths?.folder ?? "", folder);
	return {
		path,
		folder,
		baseUrl,
		mapped: paths && createPathMappings(paths.value, inPaths),
		rootDirs: settings.rootDirs ?? [],
		// Default: `""`. Drops suffixes without a dot, with which a file could be found under a different name.
		moduleSuffixes: settings.moduleSuffixes?.filter((s) => s === "" || s.startsWith(".")) ?? [""],
		customConditions: settings.customConditions ?? [],
		/** `node10` looks for TypeScript in all places before JavaScript. */
		resolution: resolutionOf(settings),
		allowJs: settings.allowJs ?? settings.checkJs ?? nameOf(path).startsWith("jsconfig"),
		outputFolders,
		rootDir,
		references,
		includes: createIncludes(settings, folder, outputFolders),
	};
}

/** Options after applying `extends`. All paths are project paths. */
type Settings = Partial<
	Record<"baseUrl" | "outDir" | "declarationDir" | "rootDir", string | undefined> &
		Record<"files" | "include" | "exclude" | "rootDirs", string[] | undefined> &
		Record<"moduleSuffixes" | "customConditions", string[] | undefined> &
		Record<"module" | "moduleResolution", string | undefined> &
		Record<"allowJs" | "checkJs", boolean>
> & { paths?: { folder: string; value: ReadonlyMap<string, readonly string[]> } };

interface Chain {
	/** Folder of the configuration that begins the chain. Replaces `${configDir}`. */
	readonly leaf: string;
	readonly files: ConfigFiles;
	readonly findPackage: FindPackage;
	/** Remaining reads. Limited, since nested `extends` lists can grow exponentially. */
	left: number;
	readonly open: Set<string>;
}

const MAX_EXTENDED = 100;

function collect(path: string, settings: Settings, chain: Chain): void {
	if (chain.left-- <= 0 || chain.open.has(path)) return;
	const config = chain.files.object(path);
	if (config === undefined) return;
	chain.open.add(path);
	const bases = ownTexts(config, "extends") ?? [ownText(config, "extends") ?? []].flat();
	for (const base of bases) {
		const found = findBase(base, folderOf(path), chain);
		if (found !== undefined) collect(found, settings, chain);
	}
	chain.open.delete(path);

	const at = (value: string) => inProject(value, folderOf(path), chain.leaf);
	const all = (values?: readonly string[]) => values?.flatMap((value) => at(value) ?? []);
	for (const key of ["files", "include", "exclude"] as const) {
		settings[key] = all(ownTexts(config, key)) ?? settings[key];
	}
	const options = own(config, "compilerOptions");
	if (!isRecord(options)) return;
	for (const key of ["baseUrl", "outDir", "declarationDir", "rootDir"] as const) {
		const value = ownText(options, key);
		if (value !== undefined) settings[key] = at(value);
	}
	for (const key of ["moduleSuffixes", "customConditions"] as const) {
		settings[key] = ownTexts(options, key) ?? settings[key];
	}
	for (const key of ["module", "moduleResolution"] as const) {
		settings[key] = ownText(options, key)?.toLowerCase() ?? settings[key];
	}
	for (const key of ["allowJs", "checkJs"] as const) {
		const value = own(options, key);
		if (typeof value === "boolean") settings[key] = value;
	}
	settings.rootDirs = all(ownTexts(options, "rootDirs")) ?? settings.rootDirs;
	const paths = own(options, "paths");
	if (isRecord(paths)) {
		const value = Object.keys(paths).map((key) => [key, ownTexts(paths, key) ?? []] as const);
		settings.paths = { folder: folderOf(path), value: new Map(value) };
	}
}

/** Undefined for absolute paths and for paths outside the project. */
function inProject(value: string, folder: string, leaf: string): string | undefined {
	const ofLeaf = /^\$\{configDir\}(.*)$/is.exec(value)?.[1];
	if (ofLeaf !== undefined) return joinPath(leaf, ofLeaf);
	return /^\/|^[a-z]:/i.test(value) ? undefined : joinPath(folder, value);
}

function findBase(name: string, folder: string, chain: Chain): string | undefined {
	const { files, findPackage, leaf } = chain;
	const exists = (path: string) => files.object(path) !== undefined;
	if (/^\.{0,2}\/|^\.\.?$|^\$\{/.test(name)) {
		const path = inProject(name, folder, leaf);
		if (path === undefined) return undefined;
		return [path, `${path}.json`].find((one) => nameOf(one) !== "" && exists(one));
	}
	const [, packageName = "", rest = ""] = /^((?:@[^/]+\/)?[^/]+)\/?(.*)$/.exec(name) ?? [];
	const ownFolder = findPackage(packageName);
	const folders = [...foldersUpwards(folder)].map((f) => below(f, `node_modules/${packageName}`));
	if (ownFolder !== undefined) folders.unshift(ownFolder);
	for (const packageFolder of folders) {
		const found = baseInPackage(packageFolder, rest, files).find(exists);
		if (found !== undefined) return found;
	}
	return undefined;
}

function baseInPackage(folder: string, rest: string, files: ConfigFiles): string[] {
	const manifest = files.object(below(folder, "package.json")) ?? {};
	const exports = own(manifest, "exports");
	const named = isRecord(exports) ? own(exports, rest === "" ? "." : `./${rest}`) : exports;
	const target = typeof named === "string" ? joinPath(folder, named) : undefined;
	const candidates = target === undefined ? [] : [target];
	if (rest !== "") {
		const path = joinPath(folder, rest);
		if (path !== undefined) candidates.push(path, `${path}.json`, below(path, "tsconfig.json"));
	} else {
		const main = ownText(manifest, "tsconfig");
		const path = main === undefined ? undefined : joinPath(folder, main);
		if (path !== undefined) candidates.push(path);
		candidates.push(below(folder, "tsconfig.json"));
	}
	return candidates.filter((path) => path.endsWith(".json"));
}

/** The default is `bundler`, which finds everything that the compiler's outdated default finds. */
function resolutionOf({ module, moduleResolution }: Settings): "node10" | "node16" | "bundler" {
	if (moduleResolution !== undefined) {
		if (moduleResolution === "node" || moduleResolution === "node10") return "node10";
		return moduleResolution.startsWith("node") ? "node16" : "bundler";
	}
	if (module === "commonjs") return "node10";
	return module?.startsWith("node") ? "node16" : "bundler";
}

function referencesOf(path: string, files: ConfigFiles): string[] {
	const references = own(files.object(path) ?? {}, "references");
	if (!Array.isArray(references)) return [];
	return references.flatMap((reference) => {
		const named = isRecord(reference) ? ownText(reference, "path") : undefined;
		const found = named === undefined ? undefined : joinPath(folderOf(path), named);
		if (found === undefined) return [];
		return found.endsWith(".json") ? [found] : [below(found, "tsconfig.json")];
	});
}

function createIncludes(
	settings: Settings,
	folder: string,
	outputFolders: readonly string[],
): (path: string) => boolean {
	const files = new Set(settings.files);
	const include = settings.include ?? (settings.files ? [] : [folder]);
	const included = include.map(includePattern);
	const exclude = settings.exclude ?? outputFolders.filter((out) => out !== folder);
	const excluded = exclude.map((path): PathPattern => [...parseLiterally(path), "**"]);
	return (path) => {
		if (files.has(path)) return true;
		const names = path.split("/");
		return (
			included.some((pattern) => matchesPath(pattern, names)) &&
			!excluded.some((pattern) => matchesPath(pattern, names))
		);
	};
}

/** A path is a folder if its last name has no wildcard or extension. */
function includePattern(path: string): PathPattern {
	const pattern = parseLiterally(path);
	const last = path.split("/").findLast((name) => name !== "" && name !== ".") ?? "";
	return /[*?.]/.test(last) ? pattern : [...pattern, "**"];
}

/** Brackets, as in `app/[id]`, are literal in TypeScript. */
function parseLiterally(path: string): PathPattern {
	return parsePathPattern(path.replace(/[[\\]/g, "\\$&"));
}

export interface MappedPlace {
	readonly path: string;
	/** Set if the target has a JavaScript or TypeScript extension. A file with exactly this path then takes precedence. */
	readonly isLiteral?: boolean;
	readonly folderOnly?: boolean;
}

/** Prefers exact names, then the longest prefix. As in TypeScript, ignores entries with two stars. */
function createPathMappings(
	value: ReadonlyMap<string, readonly string[]>,
	inProject: (target: string) => string | undefined,
) {
	const exact = new Map<string, readonly string[]>();
	const patterns: { prefix: string; suffix: string; targets: readonly string[] }[] = [];
	for (const [key, written] of value) {
		const targets = written
			.filter((target) => target.split("*").length <= 2)
			.flatMap((target) => inProject(target) ?? []);
		const [prefix = "", suffix, more] = key.split("*");
		if (suffix === undefined) exact.set(key, targets);
		else if (more === undefined) patterns.push({ prefix, suffix, targets });
	}
	patterns.sort((a, b) => b.prefix.length - a.prefix.length);

	return (specifier: string): { places: MappedPlace[]; isCatchAll: boolean } | undefined => {
		const named = exact.get(specifier);
		if (named) return { places: named.flatMap((target) => placeAt(target, "")), isCatchAll: false };
		for (const { prefix, suffix, targets } of patterns) {
			if (specifier.length < prefix.length + suffix.length) continue;
			if (!specifier.startsWith(prefix) || !specifier.endsWith(suffix)) continue;
			const star = specifier.slice(prefix.length, specifier.length - suffix.length);
			const places = targets.flatMap((target) => placeAt(target, star));
			return { places, isCatchAll: prefix === "" && suffix === "" };
		}
		return undefined;
	};
}

function placeAt(target: string, star: string): MappedPlace[] {
	const filled = star === "" ? target : target.replace("*", () => star);
	const path = joinPath("", filled);
	if (path === undefined) return [];
	const isLiteral = /\.(?:[cm]?[jt]s|[jt]sx)$/.test(target);
	return [{ path, isLiteral, folderOnly: filled.endsWith("/") }];
}

/** For files to which no configuration applies. */
const NO_TSCONFIG = tsconfigOf("", { allowJs: true }, []);

export class Tsconfigs {
	readonly #files: ConfigFiles;
	readonly #findPackage: FindPackage;
	readonly #byPath = new Map<string, Tsconfig | undefined>();
	readonly #nearest = new Map<string, Tsconfig>();
	readonly #pathsIn = new Map<string, string[]>();

	constructor(files: ConfigFiles, findPackage: FindPackage) {
		this.#files = files;
		this.#findPackage = findPackage;
		for (const path of files.paths) {
			if (!/(?:^|\/)[tj]sconfig[^/]*\.json$/.test(path)) continue;
			getOrAdd(this.#pathsIn, folderOf(path), () => []).push(path);
		}
	}

	/** The nearest configuration, or the one among its references that includes the file. */
	forFile(path: string): Tsconfig {
		const config = this.#nearestTo(folderOf(path));
		if (config.references.length === 0 || config.includes(path)) return config;
		return this.#including(config, path) ?? config;
	}

	inFolder(folder: string): readonly Tsconfig[] {
		return (this.#pathsIn.get(folder) ?? []).flatMap((path) => this.#at(path) ?? []);
	}

	#at(path: string): Tsconfig | undefined {
		return getOrAdd(this.#byPath, path, () => {
			const files = this.#files;
			if (files.object(path) === undefined) return undefined;
			const settings: Settings = {};
			const findPackage = this.#findPackage;
			const limits = { left: MAX_EXTENDED, open: new Set<string>() };
			collect(path, settings, { leaf: folderOf(path), files, findPackage, ...limits });
			return tsconfigOf(path, settings, referencesOf(path, files));
		});
	}

	#nearestTo(folder: string): Tsconfig {
		return getOrAdd(this.#nearest, folder, () => {
			const here =
				this.#at(below(folder, "tsconfig.json")) ?? this.#at(below(folder, "jsconfig.json"));
			return here ?? (folder === "" ? NO_TSCONFIG : this.#nearestTo(folderOf(folder)));
		});
	}

	#including(config: Tsconfig, path: string): Tsconfig | undefined {
		const seen = new Set(config.references);
		for (const reference of seen) {
			const referenced = this.#at(reference);
			if (referenced?.includes(path)) return referenced;
			for (const next of referenced?.references ?? []) {
				if (seen.size < MAX_REFERENCES) seen.add(next);
			}
		}
		return undefined;
	}
}

const MAX_REFERENCES = 500;
