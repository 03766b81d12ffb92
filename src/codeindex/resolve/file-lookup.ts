import { below, folderOf, joinPath, nameOf, restBelow } from "../scan/project-path.ts";
import type { Symlink } from "../scan/scanned-tree.ts";
import type { Package } from "./packages.ts";

/** Which kinds of files may be found: `typed` are TypeScript and declarations. */
export type Wanted = "typed" | "plain" | "all";

/** Finds files of the project as TypeScript does, in memory: what a scan did not find does not exist. */
export type FileLookup = ReturnType<typeof createFileLookup>;

export function createFileLookup(
	files: ReadonlySet<string>,
	links: readonly Symlink[],
	packageAt: (folder: string) => Package | undefined,
) {
	const linkTargets = new Map(links.map(({ path, target }) => [path, target]));
	let folders: Set<string> | undefined;

	/** The file under exactly this path, a link on the way taken into account. */
	function file(path: string): string | undefined {
		if (files.has(path)) return path;
		return linkTargets.size === 0 ? undefined : behindLinks(path);
	}

	/** Links to links are no trouble: the scan names where they end. */
	function behindLinks(path: string): string | undefined {
		for (let at = path; at !== ""; at = folderOf(at)) {
			const target = linkTargets.get(at);
			if (target === undefined) continue;
			const real = target + path.slice(at.length);
			return files.has(real) ? real : undefined;
		}
		return undefined;
	}

	function hasFolder(folder: string): boolean {
		if (folders === undefined) {
			folders = new Set([""]);
			for (const path of files) {
				for (let at = folderOf(path); !folders.has(at); at = folderOf(at)) folders.add(at);
			}
		}
		return folders.has(folder);
	}

	function first(
		stem: string,
		extensions: readonly string[],
		suffixes: readonly string[],
	): string | undefined {
		for (const extension of extensions) {
			for (const suffix of suffixes) {
				const found = file(stem + suffix + extension);
				if (found !== undefined) return found;
			}
		}
		return undefined;
	}

	/** The same, where only a suffix such as `.ios` may come before the extension. */
	function literal(path: string, suffixes: readonly string[]): string | undefined {
		const extension = extensionOf(path);
		return first(path.slice(0, path.length - extension.length), [extension], suffixes);
	}

	/** By a path that has its extension, as those of `exports` do. */
	function withExtension(
		path: string,
		wanted: Wanted,
		suffixes: readonly string[],
	): string | undefined {
		const extension = extensionOf(path);
		if (extension === "") return undefined;
		const stem = path.slice(0, -extension.length);
		const known = candidates.get(extension);
		if (known) return first(stem, known[wanted], suffixes);
		// `a.css` may be described by `a.d.css.ts`.
		return wanted === "plain" ? undefined : first(stem, [`.d${extension}.ts`], suffixes);
	}

	/** By a path as imports write it: without extension, or with the one that the compiler will give it. */
	function module(path: string, wanted: Wanted, suffixes: readonly string[]): string | undefined {
		return withExtension(path, wanted, suffixes) ?? first(path, withoutExtension[wanted], suffixes);
	}

	/** By a path of a `package.json`: with TypeScript's extensions it is meant literally. */
	function exactly(path: string, wanted: Wanted, suffixes: readonly string[]): string | undefined {
		if (wanted !== "plain" && /\.(?:[cm]?ts|tsx)$/.test(path)) {
			return file(path) ?? literal(path, suffixes);
		}
		return withExtension(path, wanted, suffixes);
	}

	/** The file that stands for a folder: what its `package.json` names, or `index`. */
	function folder(path: string, wanted: Wanted, suffixes: readonly string[]): string | undefined {
		const found = packageAt(path);
		const entry = wanted === "plain" ? found?.main : (found?.types ?? found?.main);
		const entryPath = entry === undefined ? undefined : joinPath(path, entry);
		// One that leads out of its folder would be found by a change that has nothing to do with the folder.
		if (entryPath !== undefined && restBelow(path, entryPath) !== undefined) {
			const target =
				exactly(entryPath, wanted, suffixes) ??
				module(entryPath, wanted, suffixes) ??
				module(below(entryPath, "index"), wanted, suffixes);
			if (target !== undefined) return target;
		}
		return module(below(path, "index"), wanted, suffixes);
	}

	/** The source that the compiler would turn into this output, at the same place. */
	function source(output: string): string | undefined {
		const extension = extensionOf(output);
		const known = sourceCandidates.get(extension);
		if (known === undefined) return undefined;
		const stem = extension === "" ? output : output.slice(0, -extension.length);
		return first(stem, known, noSuffix) ?? first(`${stem}/index`, known, noSuffix);
	}

	return { file, literal, hasFolder, module, exactly, folder, source };
}

const noSuffix = [""];

/** The extension by which a path is treated: `.d.ts` is one, and so is an unknown one as in `vite.config`. */
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

const withoutExtension = byWanted([".ts", ".tsx", ".d.ts"], [".js", ".jsx"]);
const forModule = byWanted([".mts", ".d.mts"], [".mjs"]);
const forCommonJs = byWanted([".cts", ".d.cts"], [".cjs"]);
const forJsx = byWanted([".tsx", ".ts", ".d.ts"], [".jsx", ".js"]);

/** Which files an import with this extension may mean, first choice first. */
const candidates = byExtension(withoutExtension, forJsx, forModule, forCommonJs);

const anySource = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const preferring = (extension: string) => [extension, ...anySource.filter((e) => e !== extension)];

/** What an output may be made of; bundlers make an `.mjs` of a `.ts`. */
const sourceCandidates = byExtension(
	anySource,
	preferring(".tsx"),
	preferring(".mts"),
	preferring(".cts"),
).set("", anySource);

function byExtension<T>(plain: T, jsx: T, module: T, commonJs: T): Map<string, T> {
	return new Map([
		...[".js", ".ts", ".d.ts"].map((extension) => [extension, plain] as const),
		...[".jsx", ".tsx"].map((extension) => [extension, jsx] as const),
		...[".mjs", ".mts", ".d.mts"].map((extension) => [extension, module] as const),
		...[".cjs", ".cts", ".d.cts"].map((extension) => [extension, commonJs] as const),
	]);
}
