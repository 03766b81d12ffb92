import { counted } from "../../text/figures.ts";
import type { ImpactQuery } from "../answers.ts";
import { dependentsOf, pairsOf } from "../link/index.ts";
import type { FileId, IndexedFile, IndexReader } from "../reader.ts";
import { cyclesOf } from "./cycles.ts";
import { isGlobalFile, isOutside, namedAlike } from "./known-file.ts";
import { byPath } from "./reach.ts";

export interface ImpactWarnings {
	readonly all: readonly string[];
	/** Imports of files that stay, of files that go. */
	readonly brokenImports: number;
	/** Changed files whose names are used without being imported, which cannot be followed. */
	readonly globalFiles: number;
}

export function impactWarnings(reader: IndexReader, query: ImpactQuery): ImpactWarnings {
	const { modify = [], create = [], delete: remove = [] } = query;
	const broken = brokenImports(reader, remove);
	const global = [...new Set([...modify, ...remove])].filter((path) => {
		const file = reader.fileAt(path);
		return file && isGlobalFile(reader, file);
	});
	return {
		all: [
			...[...modify, ...remove].flatMap((path) => unknownPath(reader, path)),
			...global.map(
				(path) => `${path}: this file's top level is global: uses in other files are not followed.`,
			),
			...broken.slice(0, MAX_LISTED),
			...(broken.length > MAX_LISTED
				? [`${counted(broken.length - MAX_LISTED, "more import")} will break.`]
				: []),
			...create.flatMap((path) => creation(reader, path)),
			...touchedCycles(reader, [...modify, ...remove]),
		],
		brokenImports: broken.length,
		globalFiles: global.length,
	};
}

const MAX_LISTED = 20;

function unknownPath(reader: IndexReader, path: string): string[] {
	if (reader.fileAt(path)) return [];
	if (isOutside(path)) return [outside(path)];
	const similar = namedAlike(reader, path);
	const hint = similar.length > 0 ? ` Did you mean ${similar.join(" or ")}?` : "";
	return [`${path} is not in the index.${hint}`];
}

function outside(path: string): string {
	return `${path} is outside of the project.`;
}

function brokenImports(reader: IndexReader, remove: readonly string[]): string[] {
	const gone = new Set(remove.flatMap((path) => reader.fileAt(path)?.id ?? []));
	const pairs = pairsOf(reader);
	// The declaration file of a pair is not loaded: an import breaks with the JavaScript.
	const breaks = (target: FileId) => gone.has(pairs.implementation(target) ?? target);
	const importers = new Map<FileId, IndexedFile>();
	for (const id of gone) {
		for (const { file } of dependentsOf(reader, id)) {
			const importer = reader.files.get(file);
			if (importer && !gone.has(file)) importers.set(file, importer);
		}
	}
	return [...importers.values()].sort(byPath).flatMap(({ id, path }) => {
		const resolutions = reader.resolutions(id);
		return reader.requests(id).flatMap(({ specifier, at }, index) => {
			const target = resolutions[index];
			if (target?.kind !== "file" || !breaks(target.file)) return [];
			return [`${path}:${at[0]} imports ${specifier}, which will be gone.`];
		});
	});
}

/** A file that comes into being can mend imports, and can stand before another one that has the same name. */
function creation(reader: IndexReader, path: string): string[] {
	if (reader.fileAt(path)) return [`${path} exists already.`];
	if (isOutside(path)) return [outside(path)];
	const stem = withoutExtension(path);
	const warnings: string[] = [];
	for (const other of shadowed(reader, path)) {
		const askers = dependentsOf(reader, other.id).filter(({ file }) =>
			asksWithoutExtension(reader, file, other, stem),
		);
		if (askers.length === 0) continue;
		warnings.push(
			`${path} may take the place of ${other.path} for ${counted(askers.length, "file")} asking for "${baseName(stem)}".`,
		);
	}
	const mended = new Set<string>();
	for (const { file, specifier } of reader.unresolved()) {
		const from = reader.files.get(file)?.path;
		if (from === undefined || !specifier.startsWith(".")) continue;
		if (withoutExtension(joined(from, specifier)) === stem) mended.add(from);
	}
	if (mended.size > 0) {
		const files = [...mended].sort().slice(0, 3).join(", ");
		warnings.push(`${path} is asked for already, by ${counted(mended.size, "file")}: ${files}.`);
	}
	return warnings;
}

/** Files that an import without an extension can mean besides one at this path. */
function shadowed(reader: IndexReader, path: string): IndexedFile[] {
	const stem = withoutExtension(path);
	const endings = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
	// A declaration file describes what is beside it.
	return (/\.d\.[cm]?ts$/.test(path) ? ["/index"] : ["", "/index"]).flatMap((middle) =>
		endings.flatMap((ending) => reader.fileAt(`${stem}${middle}.${ending}`) ?? []),
	);
}

function asksWithoutExtension(
	reader: IndexReader,
	file: FileId,
	other: IndexedFile,
	stem: string,
): boolean {
	const resolutions = reader.resolutions(file);
	const name = baseName(stem);
	const pair = pairsOf(reader).other(other.id);
	return reader.requests(file).some(({ specifier }, index) => {
		const target = resolutions[index];
		if (target?.kind !== "file" || (target.file !== other.id && target.file !== pair)) return false;
		return baseName(specifier) === name;
	});
}

function touchedCycles(reader: IndexReader, paths: readonly string[]): string[] {
	const cycles = cyclesOf(reader);
	const touched = new Set(
		paths.flatMap((path) => {
			const file = reader.fileAt(path);
			const group = file && cycles.of(file.id);
			return group ? [group] : [];
		}),
	);
	return [...touched].map((group) => {
		const some = group.slice(0, 4).join(", ");
		const more = group.length > 4 ? ` and ${group.length - 4} more` : "";
		return `Import cycle of ${group.length} files: ${some}${more}.`;
	});
}

function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

function withoutExtension(path: string): string {
	return path.replace(/\.(d\.)?[cm]?[jt]sx?$/, "");
}

/** Where a relative specifier of a file leads, without looking. */
function joined(from: string, specifier: string): string {
	const names = from.split("/").slice(0, -1);
	for (const name of specifier.split("/")) {
		if (name === "..") names.pop();
		else if (name !== "." && name !== "") names.push(name);
	}
	return names.join("/");
}
