import { getOrAdd } from "../../core/get-or-add.ts";
import { below, folderOf, joinPath, restBelow } from "../../core/project-path.ts";
import type { EdgeKind } from "../facts.ts";
import type { Symlink } from "../scan/scanned-tree.ts";
import { ConfigFiles, type ConfigProblem, type ReadConfig } from "./config-files.ts";
import { FileLookup, type Wanted } from "./file-lookup.ts";
import { anyCondition, firstOf, PackageFiles, type Scope, tableTargets } from "./package-files.ts";
import { type Package, Packages } from "./packages.ts";
import {
	builtinName,
	isAsset,
	type ModuleResolution,
	specifierKind,
	withoutLoaderHints,
} from "./specifier.ts";
import { type MappedPlace, type Tsconfig, Tsconfigs } from "./tsconfig.ts";

export interface ResolverOptions {
	/** Absolute specifiers are resolved below this folder. */
	readonly root: string;
	readonly files: ReadonlySet<string>;
	readonly configs: ReadonlySet<string>;
	readonly links?: readonly Symlink[];
	readonly readConfig: ReadConfig;
}

/** Finds the file that TypeScript finds, if any. The project's packages resolve to their sources. */
export class ModuleResolver {
	readonly problems: readonly ConfigProblem[];
	/** Configuration files outside the scan that were looked for, even if missing. */
	readonly lookedFor: ReadonlySet<string>;
	readonly #root: string;
	readonly #packages: Packages;
	readonly #lookup: FileLookup;
	readonly #packageFiles: PackageFiles;
	readonly #importerOf: ReturnType<typeof createImporters>;

	constructor({ root, files, configs, links = [], readConfig }: ResolverOptions) {
		this.#root = root.replaceAll("\\", "/").replace(/\/$/, "");
		const configFiles = new ConfigFiles(configs, readConfig);
		this.problems = configFiles.problems;
		this.lookedFor = configFiles.unscanned;
		this.#packages = new Packages(configFiles);
		this.#lookup = new FileLookup(files, links, this.#packages);
		const findPackage = (name: string) => this.#packages.named(name, undefined)?.folder;
		const tsconfigs = new Tsconfigs(configFiles, findPackage);
		this.#packageFiles = new PackageFiles(this.#lookup, tsconfigs);
		this.#importerOf = createImporters(tsconfigs, this.#packages);
	}

	/** `kinds` matters because some packages have separate files for `require`. */
	resolve(from: string, specifier: string, kinds: readonly EdgeKind[]): ModuleResolution {
		const importer = this.#importerOf(from);
		const onlyRequires = kinds.length > 0 && kinds.every((kind) => kind === "require");
		const isRequire = onlyRequires || (importer.isCommonJs && !kinds.includes("dynamic"));
		const { scope, answers } = isRequire ? importer.require : importer.import;
		// A relative path may follow a loader prefix (`!`).
		const isLocal = specifier.startsWith(".") || specifier.includes("!");
		const known = isLocal ? importer.relative : answers;
		const ownScope = { ...scope, folder: importer.folder };
		const found = getOrAdd(known, specifier, () => this.#resolveNew(ownScope, specifier));
		const isRun = found.kind === "file" && importer.isJavaScript && isDeclaration(found.path);
		if (!isRun || kinds.every((kind) => kind === "type")) return found;
		if (!this.#namesPackage(importer.folder, specifier)) return found;
		return getOrAdd(importer.loaded, `${isRequire} ${specifier}`, () =>
			this.#loadedFor(ownScope, specifier, found),
		);
	}

	/**
	 * A package may have its declarations in another folder than its entry (`types/index.d.ts`, `lib/index.js`). JavaScript
	 * that imports it depends on what it loads, and only the package's own files know that both are one module.
	 */
	#loadedFor(
		scope: FolderScope,
		specifier: string,
		declared: ModuleResolution & { kind: "file" },
	): ModuleResolution {
		const conditions: Scope["conditions"] = (name) => name !== "types" && scope.conditions(name);
		const loaded = this.#resolveNew({ ...scope, conditions, passes: ["plain"] }, specifier);
		if (loaded.kind !== "file" || !isJavaScript(loaded.path)) return declared;
		return folderOf(loaded.path) === folderOf(declared.path) ? declared : loaded;
	}

	/** Whether the specifier is the name or the folder of a package of the project. */
	#namesPackage(folder: string, specifier: string): boolean {
		const sorted = specifierKind(specifier);
		if (sorted.kind === "relative") {
			const path = joinPath(folder, specifier.replace(/\/$/, ""));
			return path !== undefined && this.#packages.byFolder.has(path);
		}
		const name = sorted.kind === "bare" ? sorted.packageName : undefined;
		return name !== undefined && this.#packages.named(name, undefined) !== undefined;
	}

	#resolveNew(scope: FolderScope, specifier: string): ModuleResolution {
		const found = this.#find(scope, specifier, 0);
		if (found.kind !== "unresolved") return found;
		const plain = withoutLoaderHints(specifier);
		const again = plain === specifier ? found : this.#find(scope, plain, 0);
		if (again.kind !== "unresolved" || !isAsset(plain)) return again;
		const path = plain.startsWith(".") ? joinPath(scope.folder, plain) : undefined;
		return { kind: "external", name: `asset:${path ?? plain}` };
	}

	/** `depth` counts redirects through a package's `imports`. */
	#find(scope: FolderScope, specifier: string, depth: number): ModuleResolution {
		const sorted = specifierKind(specifier);
		if (sorted.kind === "invalid") return unresolved(sorted.reason);
		if (sorted.kind === "relative") return this.#findRelative(scope, specifier, sorted.folderOnly);
		const mapped = this.#findMapped(scope, specifier);
		if (mapped.kind === "file") return mapped;
		if (sorted.kind === "scheme") return { kind: "external", name: sorted.name };
		if (sorted.kind === "absolute") return this.#findAbsolute(scope, specifier);
		if (specifier.startsWith("#")) return this.#findImport(scope, specifier, depth);
		const { packageName, subpath } = sorted;
		const { owner } = scope;
		// A package can import itself by name only if it has `exports`.
		const isSelf = owner?.name === packageName && owner?.exports !== undefined;
		const own = packageName && (isSelf ? owner : this.#packages.named(packageName, owner));
		if (own) return this.#findInPackage(scope, own, subpath);
		const builtin = builtinName(specifier);
		if (builtin !== undefined) return { kind: "external", name: builtin };
		if (packageName === undefined)
			return unresolved(mapped.reason ?? "no configuration maps it to a file");
		if (mapped.reason === undefined || this.#packages.dependsOn(packageName, owner)) {
			return { kind: "external", name: packageName };
		}
		return unresolved(mapped.reason);
	}

	#findRelative(scope: FolderScope, specifier: string, folderOnly: boolean): ModuleResolution {
		const path = joinPath(scope.folder, specifier);
		if (path === undefined) return unresolved("it points outside the project");
		const paths = [path, ...otherRootDirs(scope.tsconfig, path)];
		const places = paths.map((each) => ({ path: each, folderOnly }));
		const found = this.#findFirst(scope, places);
		if (found !== undefined) return file(found);
		const lenient = folderOnly
			? undefined
			: (unusual(this.#lookup, path) ?? this.#sourceOfOutput(path));
		return lenient === undefined ? unresolved(`${path} is not in the project`) : file(lenient);
	}

	/** For imports of build output, such as `../dist/cli.js` in `bin/cli.js`. */
	#sourceOfOutput(path: string): string | undefined {
		if (!/\.[cm]?js$/.test(path)) return undefined;
		const found = this.#packageFiles.sourceOf(path, this.#packages.enclosing(folderOf(path)));
		// Accepts only a source of the same name, since change detection could not track others.
		return found !== undefined && stemOf(found) === stemOf(path) ? found : undefined;
	}

	#findAbsolute(scope: FolderScope, specifier: string): ModuleResolution {
		const isBelow = specifier.startsWith(`${this.#root}/`);
		const path = joinPath("", isBelow ? specifier.slice(this.#root.length) : specifier);
		const found = path === undefined ? undefined : this.#findFirst(scope, [{ path }]);
		return found === undefined ? unresolved("the path is not in the project") : file(found);
	}

	/** Returns a reason if a mapping other than a catch-all matches but no file exists, or if only `baseUrl` has the folder. */
	#findMapped(
		scope: FolderScope,
		specifier: string,
	): { kind: "file"; path: string } | { kind?: never; reason?: string } {
		const { mapped, baseUrl, path: configPath } = scope.tsconfig;
		const match = mapped?.(specifier);
		if (match) {
			const found = this.#findFirst(scope, match.places);
			if (found !== undefined) return file(found);
			const isInstalled = match.places.some(({ path }) => /(?:^|\/)node_modules\//.test(path));
			if (match.isCatchAll || isInstalled) return {};
			return { reason: `paths in ${configPath} map it to no file in the project` };
		}
		if (baseUrl === undefined) return {};
		const path = joinPath(baseUrl, specifier);
		const folderOnly = specifier.endsWith("/");
		const found = path === undefined ? undefined : this.#findFirst(scope, [{ path, folderOnly }]);
		if (found !== undefined) return file(found);
		const top = below(baseUrl, specifier.split("/", 1)[0] ?? "");
		const isThere = specifier.includes("/") && top !== "" && this.#lookup.hasFolder(top);
		return isThere ? { reason: `${path} is not in the project` } : {};
	}

	#findFirst(scope: Scope, places: readonly MappedPlace[]): string | undefined {
		const { moduleSuffixes } = scope.tsconfig;
		const lookup = this.#lookup;
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

	#findImport(scope: FolderScope, specifier: string, depth: number): ModuleResolution {
		const { owner } = scope;
		if (owner?.imports === undefined || depth >= MAX_REDIRECTS) {
			return unresolved("the nearest package.json has no imports, or they redirect too often");
		}
		for (const conditions of [scope.conditions, anyCondition]) {
			const targets = tableTargets(owner.imports, specifier, conditions);
			if (!targets) break;
			const found = this.#packageFiles.forTargets(scope, owner, targets);
			if (found !== undefined) return file(found);
			for (const target of targets) {
				if (/^\.{0,2}\//.test(target)) continue;
				const other = this.#find({ ...scope, folder: owner.folder }, target, depth + 1);
				if (other.kind !== "unresolved") return other;
			}
		}
		return unresolved(`imports in ${below(owner.folder, "package.json")} map it to no file`);
	}

	#findInPackage(scope: Scope, owner: Package, subpath: string): ModuleResolution {
		const found = this.#packageFiles.forSubpath(scope, owner, subpath);
		if (found !== undefined) return file(found);
		if (isAsset(subpath)) {
			return { kind: "external", name: `asset:${below(owner.folder, subpath.slice(2))}` };
		}
		return unresolved(`the package in ${owner.folder || "the root"} has no source for ${subpath}`);
	}
}

interface FolderScope extends Scope {
	readonly folder: string;
}

function createImporters(tsconfigs: Tsconfigs, packages: Packages) {
	const importers = new Map<string, ReturnType<typeof add>>();
	const shared = new Map<Tsconfig, Map<Package | undefined, ReturnType<typeof share>>>();

	function add(from: string) {
		const folder = folderOf(from);
		const tsconfig = tsconfigs.forFile(from);
		const owner = packages.enclosing(folder);
		const ofConfig = getOrAdd(shared, tsconfig, () => new Map());
		const { relativeTo, ...both } = getOrAdd(ofConfig, owner, () => share(tsconfig, owner));
		const relative = getOrAdd(relativeTo, folder, () => new Map());
		const loaded = new Map<string, ModuleResolution>();
		const ownKind = {
			isJavaScript: isJavaScript(from),
			isCommonJs: isCommonJs(from, tsconfig, owner),
		};
		return { ...both, folder, relative, loaded, ...ownKind };
	}

	return (from: string) => getOrAdd(importers, from, () => add(from));
}

/** Shared by files with the same configuration and package. `relativeTo` is keyed by folder. */
function share(tsconfig: Tsconfig, owner: Package | undefined) {
	const answers = () => new Map<string, ModuleResolution>();
	return {
		import: { scope: createScope(tsconfig, owner, "import"), answers: answers() },
		require: { scope: createScope(tsconfig, owner, "require"), answers: answers() },
		relativeTo: new Map<string, ReturnType<typeof answers>>(),
	};
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

/** The package's `type` matters only if TypeScript resolves like Node (`node16`). */
function isCommonJs(from: string, tsconfig: Tsconfig, owner: Package | undefined): boolean {
	if (/\.c[jt]s$/.test(from)) return true;
	if (tsconfig.resolution !== "node16") return false;
	return !/\.m[jt]s$/.test(from) && owner?.isModule !== true;
}

const MAX_REDIRECTS = 5;

function isJavaScript(path: string): boolean {
	return /\.[cm]?jsx?$/.test(path);
}

function isDeclaration(path: string): boolean {
	return /\.d\.[cm]?ts$/.test(path);
}

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

/** Tries extensions that only some bundlers add to paths. */
function unusual(lookup: FileLookup, path: string): string | undefined {
	const extensions = [".mts", ".cts", ".mjs", ".cjs", ".d.mts", ".d.cts"];
	const paths = [path, `${path}/index`].flatMap((stem) => extensions.map((end) => stem + end));
	return firstOf(paths, (candidate) => lookup.file(candidate));
}

function stemOf(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1).split(".")[0] ?? "";
}
