import { isAbsolute } from "node:path";
import { nameOf } from "../../core/project-path.ts";
import { CodeIndexError } from "../code-index.ts";
import type { IndexedFile, IndexReader } from "../index-reader.ts";
import { MAX_SOURCE_BYTES } from "../scan/scanned-tree.ts";

/** For an unknown path, throws an error that suggests files of the same name. */
export function knownFile(reader: IndexReader, path: string): IndexedFile {
	const file = reader.fileAt(path);
	if (file) return file;
	if (path === "" || isOutside(path)) {
		const what =
			path === "" ? "The project's root is not a file" : `${path} is outside of the project`;
		throw new CodeIndexError("outside-project", `${what}. Name a source file of the project.`);
	}
	const hint =
		hintFor(reader, path) ??
		`The index holds the project's source files, in the languages it knows, of up to ${MAX_SOURCE_BYTES / 1024 ** 2} MiB that git does not ignore.`;
	throw new CodeIndexError("unknown-file", `${path} is not in the index. ${hint}`);
}

export function isOutside(path: string): boolean {
	return /^\.\.(?:\/|$)/.test(path) || isAbsolute(path);
}

/** Suggests files of the same name, ignoring folder, case and extension. */
export function hintFor(reader: IndexReader, path: string): string | undefined {
	const wanted = stemOf(path).toLowerCase();
	const paths = [...reader.files.values()].map((file) => file.path);
	const similar = paths.filter((other) => stemOf(other).toLowerCase() === wanted).sort();
	return similar.length > 0 ? `Did you mean ${similar.slice(0, 3).join(" or ")}?` : undefined;
}

/** Returns `decide` for `src/decide.ts`. */
export function stemOf(path: string): string {
	return nameOf(path).replace(/\.[^.]+$/, "");
}

/** Whether the file was written by a program for programs: minified code and bundles. */
export function isMinified({ path, bytes, lines }: IndexedFile): boolean {
	if (/[.-]min\.[cm]?js$/.test(path)) return true;
	return bytes > MIN_MINIFIED_BYTES && bytes / Math.max(1, lines) > MINIFIED_LINE_BYTES;
}

const MIN_MINIFIED_BYTES = 2_000;
/** People write lines of 30 to 100 bytes on average. */
const MINIFIED_LINE_BYTES = 250;

/** Whether the file declares global names. Their uses are not in the index. */
export function isGlobalFile(reader: IndexReader, file: IndexedFile): boolean {
	if (file.isModule) return false;
	return (
		/\.d\.ts$/.test(file.path) || reader.bindings(file.id).some(({ kind }) => kind === "declared")
	);
}
