import { getOrAdd } from "../../core/get-or-add.ts";
import { below, folderOf, joinPath, restBelow } from "../../core/project-path.ts";
import type { EdgeKind } from "../facts.ts";
import type { Symlink } from "../scan/scanned-tree.ts";
import { createConfigFiles, type ReadConfig } from "./config-files.ts";
import { createFileLookup, type FileLookup, type Wanted } from "./file-lookup.ts";
import {
	anyCondition,
	createPackageFiles,
	firstOf,
	type Scope,
	tableTargets,
} from "./package-files.ts";
import { createPackages, type Package, type Packages } from "./packages.ts";
import {
	builtinName,
	isAsset,
	type ModuleResolution,
	specifierKind,
	withoutLoaderHints,
} from "./specifier.ts";
import { createTsconfigs, type MappedPlace, type Tsconfig, type Tsconfigs } from "./tsconfig.ts";

export interface ResolverOptions {
	/** Absolute specifiers below it are resolved. */
	readonly root: string;
	readonly files: ReadonlySet<string>;
	readonly configs: ReadonlySet<string>;
	readonly links?: readonly Symlink[];
	readonly readConfig: ReadConfig;
}

export type Resolver = ReturnType<typeof createResolver>;

/**
 * Agrees with TypeScript where that finds a file. Packages of the project resolve to their sources,
 * built or not. Deterministic.
 */
export function createResolver(options: ResolverOptions) {
	const configs = createConfigFiles(options.configs, options.readConfig);
	const packages = createPackages(configs);
	const lookup = createFileLookup(options.files, options.links ?? [], packages.at);
	const tsconfigs = createTsconfigs(configs, (name) => packages.named(name, undefined)?.folder);
	const packageFiles = createPackageFiles(lookup, tsconfigs);
	const requesterOf = createRequesters(tsconfigs, packages);

	/** `require` selects other files of some packages. */
	function resolve(from: string, specifier: string, kinds: readonly EdgeKind[]): ModuleResolution {
		const requester = requesterOf(from);
		const isRequire = asksByRequire(requester.isCommonJs, kinds);
		const { scope, answers } = isRequire ? requester.require : requester.import;
		// A relative path may follow a loader prefix.
		const isLocal = specifier.startsWith(".") || specifier.includes("!");
		const known = isLocal ? requester.relative : answers;
		const answer = known.get(specifier);
		if (answer) return answer;
		const resolution = resolveNew({ ...scope, folder: requester.folder }, specifier);
		known.set(specifier, resolution);
		return resolution;
	}

	function resolveNew(scope: FolderScope, specifier: string): ModuleResolution {
		const found = find(scope, specifier, 0);
		if (found.kind !== "unresolved") return found;
		const plain = withoutLoaderHints(specifier);
		const again = plain === specifier ? found : find(scope, plain, 0);
		if (again.kind !== "unresolved" || !isAsset(plain)) return again;
		const path = plain.startsWith(".") ? joinPath(scope.folder, plain) : undefined;
		return { kind: "external", name: `asset:${path ?? plain}` };
	}

	/** `depth` counts redirects through a package's `imports`. */
	function find(scope: FolderScope, specifier: string, depth: number): ModuleResolution {
		const sorted = specifierKind(specifier);
		if (sorted.kind === "invalid") return unresolved(sorted.reason);
		if (sorted.kind === "relative") return findRelative(scope, specifier, sorted.folderOnly);
		const mapped = findMapped(scope, specifier);
		if (mapped.kind === "file") return mapped;
		if (sorted.kind === "scheme") return { kind: "external", name: sorted.name };
		if (sorted.kind === "absolute") return findAbsolute(scope, specifier);
		if (specifier.startsWith("#")) return findImport(scope, specifier, depth);
		const { packageName, subpath } = sorted;
		const own = packageName && selfOrWorkspace(scope, packageName);
		if (own) return findInPackage(scope, own, subpath);
		const builtin = builtinName(specifier);
		if (builtin !== undefined) return { kind: "external", name: builtin };
		if (packageName === undefined) return unresolved(mapped.reason ?? "no configuration maps it");
		if (mapped.reason === undefined || packages.dependsOn(packageName, scope.owner)) {
			return { kind: "external", name: packageName };
		}
		return unresolved(mapped.reason);
	}

	function findRelative(
		scope: FolderScope,
		specifier: string,
		folderOnly: boolean,
	): ModuleResolution {
		const path = joinPath(scope.folder, specifier);
		if (path === undefined) return unresolved("it leads out of the project");
		const paths = [path, ...otherRootDirs(scope.tsconfig, path)];
		const places = paths.map((each) => ({ path: each, folderOnly }));
		const found = findFirst(scope, places);
		if (found !== undefined) return file(found);
		const lenient = folderOnly ? undefined : (unusual(lookup, path) ?? sourceOfOutput(path));
		return lenient === undefined ? unresolved(`${path} is not in the project`) : file(lenient);
	}

	/** Such as `../dist/cli.js` in `bin/cli.js`. */
	function sourceOfOutput(path: string): string | undefined {
		if (!/\.[cm]?js$/.test(path)) return undefined;
		const found = packageFiles.configured(path, packages.around(folderOf(path)));
		// Same name only: change detection could not track others.
		return found !== undefined && stemOf(found) === stemOf(path) ? found : undefined;
	}

	function findAbsolute(scope: FolderScope, specifier: string): ModuleResolution {
		const root = options.root.replaceAll("\\", "/").replace(/\/$/, "");
		const inRoot = specifier.startsWith(`${root}/`) ? specifier.slice(root.length) : specifier;
		const path = joinPath("", inRoot);
		const found = path === undefined ? undefined : findFirst(scope, [{ path }]);
		return found === undefined ? unresolved("the path is not in the project") : file(found);
	}

	/** Returns a reason if a mapping matches but no file exists. */
	function findMapped(
		scope: FolderScope,
		specifier: string,
	): { kind: "file"; path: string } | { kind?: never; reason?: string } {
		const { mapped, baseUrl, path: configPath } = scope.tsconfig;
		const match = mapped?.(specifier);
		if (match) {
			const found = findFirst(scope, match.places);
			if (found !== undefined) return file(found);
			const isInstalled = match.places.some(({ path }) => /(?:^|\/)node_modules\//.test(path));
			if (match.isCatchAll || isInstalled) return {};
			return { reason: `paths of ${configPath} lead to no file of the project` };
		}
		if (baseUrl === undefined) return {};
		const path = joinPath(baseUrl, specifier);
		const folderOnly = specifier.endsWith("/");
		const found = path === undefined ? undefined : findFirst(scope, [{ path, folderOnly }]);
		if (found !== undefined) return file(found);
		const top = below(baseUrl, specifier.split("/", 1)[0] ?? "");
		const isThere = specifier.includes("/") && top !== "" && lookup.hasFolder(top);
		return isThere ? { reason: `${path} is not in the project` } : {};
	}

	function findFirst(scope: Scope, places: readonly MappedPlace[]): string | undefined {
		const { moduleSuffixes } = scope.tsconfig;
		for (const wanted of scope.passes) {
			for (const { path, isLiteral, folderOnly } of places) {
				const found =
					(isLiteral ? lookup.literal(path, moduleSuffixes) : undefined) ??
					(folderOnly || path === "" ? undefined : lookup.module(path, wanted, moduleSuffixes)) ??
					lookup.folder(path, wanted, moduleSuffixes);
				if (found !== undefined) return found;
			}
		}
		return undefined;
	}

	function findImport(scope: FolderScope, specifier: string, depth: number): ModuleResolution {
		const { owner } = scope;
		if (owner?.imports === undefined || depth >= MAX_REDIRECTS) {
			return unresolved("no package.json around the file has imports for it");
		}
		for (const conditions of [scope.conditions, anyCondition]) {
			const targets = tableTargets(owner.imports, specifier, conditions);
			if (!targets) break;
			const found = packageFiles.target(scope, owner, targets);
			if (found !== undefined) return file(found);
			for (const target of targets) {
				if (/^\.{0,2}\//.test(target)) continue;
				const other = find({ ...scope, folder: owner.folder }, target, depth + 1);
				if (other.kind !== "unresolved") return other;
			}
		}
		return unresolved(`imports of ${below(owner.folder, "package.json")} lead to no file for it`);
	}

	/** A self-reference needs `exports`. */
	function selfOrWorkspace(scope: Scope, name: string): Package | undefined {
		const { owner } = scope;
		if (owner?.name === name && owner.exports !== undefined) return owner;
		return packages.named(name, owner);
	}

	function findInPackage(scope: Scope, owner: Package, subpath: string): ModuleResolution {
		const found = packageFiles.offered(scope, owner, subpath);
		if (found !== undefined) return file(found);
		if (isAsset(subpath)) {
			return { kind: "external", name: `asset:${below(owner.folder, subpath.slice(2))}` };
		}
		return unresolved(`the package in ${owner.folder || "the root"} has no source for ${subpath}`);
	}

	return { resolve, problems: configs.problems, lookedFor: configs.looked };
}

interface FolderScope extends Scope {
	readonly folder: string;
}

function createRequesters(tsconfigs: Tsconfigs, packages: Packages) {
	const requesters = new Map<string, ReturnType<typeof add>>();
	const shared = new Map<Tsconfig, Map<Package | undefined, ReturnType<typeof share>>>();

	function add(from: string) {
		const folder = folderOf(from);
		const tsconfig = tsconfigs.of(from);
		const owner = packages.around(folder);
		const ofConfig = getOrAdd(shared, tsconfig, () => new Map());
		const { relativeTo, ...both } = getOrAdd(ofConfig, owner, () => share(tsconfig, owner));
		const relative = getOrAdd(relativeTo, folder, () => new Map());
		return { ...both, folder, relative, isCommonJs: isCommonJs(from, tsconfig, owner) };
	}

	return (from: string) => getOrAdd(requesters, from, () => add(from));
}

/** For files with the same configuration and package; `relativeTo` is by folder. */
function share(tsconfig: Tsconfig, owner: Package | undefined) {
	const answers = () => new Map<string, ModuleResolution>();
	return {
		import: { scope: createScope(tsconfig, owner, "import"), answers: answers() },
		require: { scope: createScope(tsconfig, owner, "require"), answers: answers() },
		relativeTo: new Map<string, ReturnType<typeof answers>>(),
	};
}

function asksByRequire(isCommonJs: boolean, kinds: readonly EdgeKind[]): boolean {
	if (kinds.length > 0 && kinds.every((kind) => kind === "require")) return true;
	return isCommonJs && !kinds.includes("dynamic");
}

function createScope(
	tsconfig: Tsconfig,
	owner: Package | undefined,
	condition: "import" | "require",
): Scope {
	const passes: Wanted[] = tsconfig.resolution === "node10" ? ["typed", "plain"] : ["all"];
	const holding = new Set([condition, "types", ...tsconfig.customConditions]);
	if (tsconfig.resolution !== "bundler") holding.add("node");
	return { tsconfig, owner, conditions: (name) => holding.has(name), passes };
}

/** The package decides only where TypeScript follows Node. */
function isCommonJs(from: string, tsconfig: Tsconfig, owner: Package | undefined): boolean {
	if (/\.c[jt]s$/.test(from)) return true;
	if (tsconfig.resolution !== "node16") return false;
	return !/\.m[jt]s$/.test(from) && owner?.isModule !== true;
}

const MAX_REDIRECTS = 5;

const unresolved = (reason: string): ModuleResolution => ({ kind: "unresolved", reason });
const file = (path: string) => ({ kind: "file", path }) as const;
function otherRootDirs({ rootDirs }: Tsconfig, path: string): string[] {
	const around = rootDirs
		.filter((dir) => restBelow(dir, path))
		.sort((a, b) => b.length - a.length)[0];
	if (around === undefined) return [];
	const rest = restBelow(around, path) ?? "";
	return rootDirs.filter((dir) => dir !== around).map((dir) => below(dir, rest));
}

/** Only some bundlers find these without an extension. */
function unusual(lookup: FileLookup, path: string): string | undefined {
	const extensions = [".mts", ".cts", ".mjs", ".cjs", ".d.mts", ".d.cts"];
	const paths = [path, `${path}/index`].flatMap((stem) => extensions.map((end) => stem + end));
	return firstOf(paths, lookup.file);
}

function stemOf(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1).split(".")[0] ?? "";
}
