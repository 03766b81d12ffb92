import { compareText } from "../../../core/compare-text.ts";
import { getOrAdd } from "../../../core/get-or-add.ts";
import { below, folderOf, nameOf, restBelow } from "../../../core/project-path.ts";
import type { RequestResolver } from "../../language.ts";
import type { ResolverOptions } from "../resolver.ts";
import type { ModuleResolution } from "../specifier.ts";
import { STANDARD_LIBRARY } from "./standard-library.ts";

export function createPythonResolver({ files }: Pick<ResolverOptions, "files">): RequestResolver {
	return new PythonResolver(files);
}

const PYTHON = /\.py[iw]?$/;

/** There is nothing to find: the name is an attribute of a module that was found. */
const NO_MODULE: ModuleResolution = { kind: "external", name: "" };

/**
 * Finds modules by dotted names: from the folders above top-level packages, `src` and the root, then from
 * the importing file's own folder. Folders without `__init__.py` are packages too (PEP 420).
 */
class PythonResolver implements RequestResolver {
	readonly #files: ReadonlySet<string>;
	readonly #folders = new Set<string>();
	/** Roots that hold a module or folder of the name, deepest first. */
	readonly #rootsOf: ReadonlyMap<string, readonly string[]>;
	readonly #answers = new Map<string, ModuleResolution>();

	constructor(files: ReadonlySet<string>) {
		this.#files = files;
		const roots = new Set(["", "src", "lib", "python"]);
		for (const path of files) {
			if (!PYTHON.test(path)) continue;
			for (let at = folderOf(path); !this.#folders.has(at); at = folderOf(at)) {
				this.#folders.add(at);
				if (nameOf(at) === "src") roots.add(at);
				if (at === "") break;
			}
		}
		for (const folder of this.#folders) {
			if (!this.#isPackage(folder) || this.#isPackage(folderOf(folder))) continue;
			if (folder !== "") roots.add(folderOf(folder));
		}
		this.#rootsOf = this.#topLevel(roots);
	}

	#topLevel(roots: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
		const found = new Map<string, Set<string>>();
		const add = (path: string, name: string) => {
			const root = folderOf(path);
			if (path !== "" && roots.has(root)) getOrAdd(found, name, () => new Set()).add(root);
		};
		for (const folder of this.#folders) add(folder, nameOf(folder));
		for (const path of this.#files) {
			if (PYTHON.test(path)) add(path, nameOf(path).replace(PYTHON, ""));
		}
		// Deeper roots are more specific: a package inside of another project's folder.
		const byDepth = (a: string, b: string) => b.length - a.length || compareText(a, b);
		return new Map([...found].map(([name, all]) => [name, [...all].sort(byDepth)]));
	}

	/** A specifier `package?name` asks for a submodule that may be an attribute instead. */
	resolve(from: string, specifier: string): ModuleResolution {
		return getOrAdd(this.#answers, `${folderOf(from)} ${specifier}`, () => {
			const [module = "", name] = specifier.split("?");
			if (name === undefined) return this.#module(from, module);
			const inner = this.#module(from, module.endsWith(".") ? module + name : `${module}.${name}`);
			return inner.kind === "file" ? inner : NO_MODULE;
		});
	}

	#module(from: string, name: string): ModuleResolution {
		const [dots = ""] = /^\.*/.exec(name) ?? [];
		const path = name.slice(dots.length).replaceAll(".", "/");
		if (dots !== "") return this.#relative(from, dots.length, path, name);
		const [top = ""] = path.split("/", 1);
		const places = this.#placesFor(from, top);
		for (const root of places) {
			const found = this.#at(below(root, path));
			if (found !== undefined) return { kind: "file", path: found };
		}
		if (places.some((root) => this.#folders.has(below(root, path)))) return NO_MODULE;
		const isOwn = places.some((root) => this.#at(below(root, top)) !== undefined);
		if (isOwn && path !== top)
			return { kind: "unresolved", reason: `${name} is not in the project` };
		return { kind: "external", name: top };
	}

	/** Folders that may hold the module, nearest first. Modules of Python itself hide those of other roots. */
	#placesFor(from: string, top: string): readonly string[] {
		const folder = folderOf(from);
		const roots = this.#rootsOf.get(top) ?? [];
		const around = roots.filter((root) => restBelow(root, from) !== undefined);
		// A script finds modules beside it; a module of a package does not.
		const own = this.#isPackage(folder) ? [] : [folder];
		const others = STANDARD_LIBRARY.has(top) ? [] : roots;
		return [...new Set([...own, ...around, ...others])];
	}

	#relative(from: string, dots: number, path: string, name: string): ModuleResolution {
		let folder = folderOf(from);
		for (let up = 1; up < dots; up++) {
			if (folder === "")
				return { kind: "unresolved", reason: `${name} points outside the project` };
			folder = folderOf(folder);
		}
		const found = this.#at(below(folder, path));
		if (found !== undefined) return { kind: "file", path: found };
		if (this.#folders.has(below(folder, path))) return NO_MODULE;
		return { kind: "unresolved", reason: `${below(folder, path)} is not in the project` };
	}

	#at(path: string): string | undefined {
		const candidates =
			path === ""
				? ["__init__.py", "__init__.pyi"]
				: [
						`${path}/__init__.py`,
						`${path}.py`,
						`${path}/__init__.pyi`,
						`${path}.pyi`,
						`${path}.pyw`,
					];
		return candidates.find((one) => this.#files.has(one));
	}

	#isPackage(folder: string): boolean {
		return (
			this.#files.has(below(folder, "__init__.py")) ||
			this.#files.has(below(folder, "__init__.pyi"))
		);
	}
}
