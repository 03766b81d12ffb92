import { isAbsolute } from "node:path";
import { CodeIndexError } from "../code-index.ts";
import type { IndexedFile, IndexReader } from "../reader.ts";
import { maxSourceBytes } from "../scan/scanned-tree.ts";

/** Throws an error that suggests files of the same name. */
export function knownFile(reader: IndexReader, path: string): IndexedFile {
	const file = reader.fileAt(path);
	if (file) return file;
	if (path === "" || isOutside(path)) {
		const what =
			path === "" ? "The project's root is no file" : `${path} is outside of the project`;
		throw new CodeIndexError("outside-project", `${what}. Name a source file of the project.`);
	}
	const similar = namedAlike(reader, path);
	const hint =
		similar.length > 0
			? `Did you mean ${similar.join(" or ")}?`
			: `The index holds the project's TypeScript and JavaScript files of up to ${maxSourceBytes / 1024 ** 2} MiB that git does not ignore.`;
	throw new CodeIndexError("unknown-file", `${path} is not in the index. ${hint}`);
}

export function isOutside(path: string): boolean {
	return /^\.\.(?:\/|$)/.test(path) || isAbsolute(path);
}

export function namedAlike(reader: IndexReader, path: string): readonly string[] {
	const wanted = stemOf(path).toLowerCase();
	const found: string[] = [];
	for (const file of reader.files.values()) {
		if (stemOf(file.path).toLowerCase() === wanted) found.push(file.path);
	}
	return found.sort().slice(0, 3);
}

/** `decide` for `src/decide.ts`. */
export function stemOf(path: string): string {
	const name = path.slice(path.lastIndexOf("/") + 1);
	return name.replace(/\.[^.]+$/, "");
}

/** Uses of global names are not in the index. */
export function isGlobalFile(reader: IndexReader, file: IndexedFile): boolean {
	if (file.isModule) return false;
	return (
		/\.d\.ts$/.test(file.path) || reader.bindings(file.id).some(({ kind }) => kind === "declared")
	);
}
