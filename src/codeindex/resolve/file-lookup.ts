import { below, folderOf, joinPath, nameOf, restBelow } from "../../core/project-path.ts";
import type { Symlink } from "../scan/scanned-tree.ts";
import type { Packages } from "./packages.ts";

/** `typed`: TypeScript and declaration files. `plain`: JavaScript. */
export type Wanted = "typed" | "plain" | "all";
type Suffixes = readonly string[];

/** Finds files as TypeScript does, but only among the scanned files, in memory. */
export class FileLookup {
	readonly #files: ReadonlySet<string>;
	readonly #linkTargets: ReadonlyMap<string, string>;
	readonly #packages: Packages;
	#folders: Set<string> | undefined;

	constructor(files: ReadonlySet<string>, links: readonly Symlink[], packages: Packages) {
		this.#files = files;
		this.#linkTargets = new Map(links.map(({ path, target }) => [path, target]));
		this.#packages = packages;
	}

	file(path: string): string | undefined {
		if (this.#files.has(path)) return path;
		return this.#linkTargets.size === 0 ? undefined : this.#behindLinks(path);
	}

	hasFolder(folder: string): boolean {
		this.#folders ??= foldersOf(this.#files);
		return this.#folders.has(folder);
	}

	/** Finds the path as written, or with a suffix such as `.ios` before the extension. */
	literal(path: string, suffixes: Suffixes): string | undefined {
		const extension = extensionOf(path);
		return this.#first(path.slice(0, path.length - extension.length), [extension], suffixes);
	}

	/** Finds a path without an extension, or with the extension of the output (`.js` for `.ts`). */
	module(path: string, wanted: Wanted, suffixes: Suffixes): string | undefined {
		return (
			this.#withExtension(path, wanted, suffixes) ??
			this.#first(path, WITHOUT_EXTENSION[wanted], suffixes)
		);
	}

	/** Finds a path from `package.json`, where TypeScript extensions match literally. */
	exactly(path: string, wanted: Wanted, suffixes: Suffixes): string | undefined {
		if (wanted !== "plain" && /\.(?:[cm]?ts|tsx)$/.test(path)) {
			return this.file(path) ?? this.literal(path, suffixes);
		}
		return this.#withExtension(path, wanted, suffixes);
	}

	/** The folder's entry file: from `package.json`, or else `index`. */
	folder(path: string, wanted: Wanted, suffixes: Suffixes): string | undefined {
		const found = this.#packages.byFolder.get(path);
		const entry = wanted === "plain" ? found?.main : (found?.types ?? found?.main);
		const entryPath = entry === undefined ? undefined : joinPath(path, entry);
		// Entries outside the folder are ignored: change detection could not track them.
		if (entryPath !== undefined && restBelow(path, entryPath) !== undefined) {
			const target =
				this.exactly(entryPath, wanted, suffixes) ??
				this.module(entryPath, wanted, suffixes) ??
				this.module(below(entryPath, "index"), wanted, suffixes);
			if (target !== undefined) return target;
		}
		return this.module(below(path, "index"), wanted, suffixes);
	}

	source(output: string): string | undefined {
		const extension = extensionOf(output);
		const known = SOURCE_CANDIDATES.get(extension);
		if (known === undefined) return undefined;
		const stem = extension === "" ? output : output.slice(0, -extension.length);
		return this.#first(stem, known, NO_SUFFIX) ?? this.#first(`${stem}/index`, known, NO_SUFFIX);
	}

	/** Follows one link only, since the scan already resolves links to links. */
	#behindLinks(path: string): string | undefined {
		for (let at = path; at !== ""; at = folderOf(at)) {
			const target = this.#linkTargets.get(at);
			if (target === undefined) continue;
			const real = target + path.slice(at.length);
			return this.#files.has(real) ? real : undefined;
		}
		return undefined;
	}

	#withExtension(path: string, wanted: Wanted, suffixes: Suffixes): string | undefined {
		const extension = extensionOf(path);
		if (extension === "") return undefined;
		const stem = path.slice(0, -extension.length);
		const known = CANDIDATES.get(extension);
		if (known) return this.#first(stem, known[wanted], suffixes);
		// `a.d.css.ts` may declare the types of `a.css`.
		return wanted === "plain" ? undefined : this.#first(stem, [`.d${extension}.ts`], suffixes);
	}

	#first(stem: string, extensions: readonly string[], suffixes: Suffixes): string | undefined {
		for (const extension of extensions) {
			for (const suffix of suffixes) {
				const found = this.file(stem + suffix + extension);
				if (found !== undefined) return found;
			}
		}
		return undefined;
	}
}

function foldersOf(files: Iterable<string>): Set<string> {
	const folders = new Set([""]);
	for (const path of files) {
		for (let at = folderOf(path); !folders.has(at); at = folderOf(at)) folders.add(at);
	}
	return folders;
}

const NO_SUFFIX = [""];

/** `.d.ts` is one extension. Unknown extensions count too, such as `.config` in `vite.config`. */
function extensionOf(path: string): string {
	const name = nameOf(path);
	const declaration = /\.d\.[cm]?ts$/.exec(name)?.[0];
	if (declaration !== undefined) return declaration;
	const dot = name.lastIndexOf(".");
	return dot < 0 ? "" : name.slice(dot);
}

function byWanted(typed: readonly string[], plain: readonly string[]) {
	return { typed, plain, all: [...typed, ...plain] };
}

const WITHOUT_EXTENSION = byWanted([".ts", ".tsx", ".d.ts"], [".js", ".jsx"]);
const FOR_MODULE = byWanted([".mts", ".d.mts"], [".mjs"]);
const FOR_COMMONJS = byWanted([".cts", ".d.cts"], [".cjs"]);
const FOR_JSX = byWanted([".tsx", ".ts", ".d.ts"], [".jsx", ".js"]);

/** Extensions to try, in order of preference, by the specifier's extension. */
const CANDIDATES = byExtension(WITHOUT_EXTENSION, FOR_JSX, FOR_MODULE, FOR_COMMONJS);

const ANY_SOURCE = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const preferring = (extension: string) => [extension, ...ANY_SOURCE.filter((e) => e !== extension)];

/** Source extensions, by output extension. Bundlers build `.mjs` from `.ts`. */
const SOURCE_CANDIDATES = byExtension(
	ANY_SOURCE,
	preferring(".tsx"),
	preferring(".mts"),
	preferring(".cts"),
).set("", ANY_SOURCE);

function byExtension<T>(plain: T, jsx: T, module: T, commonJs: T): Map<string, T> {
	return new Map([
		...[".js", ".ts", ".d.ts"].map((extension) => [extension, plain] as const),
		...[".jsx", ".tsx"].map((extension) => [extension, jsx] as const),
		...[".mjs", ".mts", ".d.mts"].map((extension) => [extension, module] as const),
		...[".cjs", ".cts", ".d.cts"].map((extension) => [extension, commonJs] as const),
	]);
}
