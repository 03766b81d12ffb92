import { getOrAdd } from "../../../core/get-or-add.ts";
import {
	below,
	folderOf,
	foldersUpwards,
	joinPath,
	nameOf,
	restBelow,
} from "../../../core/project-path.ts";
import type { RequestResolver } from "../../language.ts";
import type { ReadConfig } from "../config-files.ts";
import type { ResolverOptions } from "../resolver.ts";
import type { ModuleResolution } from "../specifier.ts";

export function createGoResolver(
	project: Pick<ResolverOptions, "files" | "configs" | "readConfig">,
): RequestResolver {
	return new GoResolver(project);
}

interface GoModule {
	/** The import path of `folder`; empty for the standard library. */
	readonly path: string;
	readonly folder: string;
}

/** Finds a package's folder by import path, through `go.mod`, `replace` and `vendor`. It answers with the folder's first file. */
class GoResolver implements RequestResolver {
	readonly #firstIn = new Map<string, string>();
	/** Longest import path first. */
	readonly #modules: readonly GoModule[];
	readonly #answers = new Map<string, ModuleResolution>();

	constructor({
		files,
		configs,
		readConfig,
	}: Pick<ResolverOptions, "files" | "configs" | "readConfig">) {
		for (const path of files) {
			if (!path.endsWith(".go") || path.endsWith("_test.go")) continue;
			const folder = folderOf(path);
			const known = this.#firstIn.get(folder);
			if (known === undefined || path < known) this.#firstIn.set(folder, path);
		}
		const modules = [...configs]
			.filter((path) => nameOf(path) === "go.mod")
			.flatMap((path) => readModule(path, readConfig));
		this.#modules = modules.sort(
			(a, b) => b.path.length - a.path.length || a.folder.length - b.folder.length,
		);
	}

	/** A request for the package of the file itself leads to the file: its siblings are found by folder. */
	resolve(from: string, specifier: string): ModuleResolution {
		if (specifier.startsWith("package ")) return { kind: "file", path: from };
		return getOrAdd(this.#answers, `${folderOf(from)} ${specifier}`, () =>
			this.#find(from, specifier),
		);
	}

	#find(from: string, specifier: string): ModuleResolution {
		if (/^\.{1,2}(?:\/|$)/.test(specifier)) {
			const folder = joinPath(folderOf(from), specifier);
			return (
				this.#package(folder) ?? {
					kind: "unresolved",
					reason: `${folder ?? specifier} is not in the project`,
				}
			);
		}
		for (const folder of foldersUpwards(folderOf(from))) {
			const vendored = this.#package(below(folder, `vendor/${specifier}`));
			if (vendored) return vendored;
		}
		for (const { path, folder } of this.#modules) {
			const rest = restBelow(path, specifier);
			if (rest === undefined) continue;
			const found = this.#package(below(folder, rest));
			if (found) return found;
			// The standard library's modules have no path of their own.
			if (path !== "")
				return {
					kind: "unresolved",
					reason: `${below(folder, rest) || "the root"} has no Go files`,
				};
		}
		return { kind: "external", name: externalName(specifier) };
	}

	#package(folder: string | undefined): ModuleResolution | undefined {
		const path = folder === undefined ? undefined : this.#firstIn.get(folder);
		return path === undefined ? undefined : { kind: "file", path };
	}
}

function readModule(path: string, readConfig: ReadConfig): GoModule[] {
	const folder = folderOf(path);
	const text = readOrNothing(path, readConfig).replace(/\/\/.*$/gm, "");
	const name = /^\s*module\s+"?([^\s"]+)/m.exec(text)?.[1];
	if (name === undefined) return [];
	const modules = [{ path: name === "std" ? "" : name, folder }];
	for (const [, from = "", to = ""] of text.matchAll(
		/^\s*(?:replace\s+)?"?([^\s"()]+)"?(?:\s+v\S+)?\s+=>\s+"?(\.{1,2}\/[^\s"]*|\.{1,2})/gm,
	)) {
		const target = joinPath(folder, to);
		if (target !== undefined) modules.push({ path: from, folder: target });
	}
	return modules;
}

function readOrNothing(path: string, readConfig: ReadConfig): string {
	try {
		return readConfig(path) ?? "";
	} catch {
		return "";
	}
}

/** `fmt` and `net/http` are the standard library; `github.com/owner/name/inner` is a module. */
function externalName(specifier: string): string {
	const [host = "", owner, name] = specifier.split("/");
	if (!host.includes(".")) return specifier;
	return [host, owner, name].filter((part) => part !== undefined && !/^v\d+$/.test(part)).join("/");
}
