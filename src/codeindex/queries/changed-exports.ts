import { counted } from "../../text/figures.ts";
import { linkerOf } from "../link/index.ts";
import type { IndexedFile, IndexReader } from "../reader.ts";
import { exportsNamed, type UsedExport, writtenName } from "./exports-used.ts";

/** What a change of some exports comes down to. */
export interface ChangedExports {
	/** The exports that were named, of the files that have them. */
	readonly used: readonly UsedExport[];
	/** Modified files that have to be taken as changed altogether. */
	readonly whole: readonly IndexedFile[];
	/** Names that no file exports, in words. */
	readonly warnings: readonly string[];
}

/**
 * Which exports of the modified files the names stand for. Where a name is unknown, it may be a misspelt one of any
 * file that exports none of the others: such files count whole, so that nothing is said to be safe that is not.
 */
export function changedExports(
	reader: IndexReader,
	{ modified, deleted, names }: NamedChange,
): ChangedExports {
	const perFile = modified.map((file) => ({
		file,
		found: new Map(names.map((name) => [name, exportsNamed(reader, file, name)])),
	}));
	const unknown = names.filter(
		(name) =>
			perFile.every(({ found }) => found.get(name)?.length === 0) &&
			deleted.every((file) => exportsNamed(reader, file, name).length === 0),
	);
	const without = perFile
		.filter(({ found }) => [...found.values()].every((some) => some.length === 0))
		.map(({ file }) => file);
	const whole = unknown.length > 0 ? without : [];
	const used = perFile.flatMap(({ found }) => [...found.values()].flat());
	return {
		used: [...new Map(used.map((one) => [`${one.path} ${one.name}`, one])).values()],
		whole,
		warnings: warn(reader, unknown, whole, [...modified, ...deleted]),
	};
}

/** A change of which the names of exports are known. */
export interface NamedChange {
	readonly modified: readonly IndexedFile[];
	readonly deleted: readonly IndexedFile[];
	readonly names: readonly string[];
}

function warn(
	reader: IndexReader,
	unknown: readonly string[],
	whole: readonly IndexedFile[],
	changed: readonly IndexedFile[],
): string[] {
	const files = whole.length > 0 ? whole : changed;
	const [file] = files;
	if (unknown.length === 0 || !file) return [];
	const names = some(unknown);
	if (files.length === 1) {
		const exported = [...linkerOf(reader).exportedNames(file.id)].sort();
		const has = exported.length > 0 ? some(exported.map(writtenName)) : "nothing";
		const taken = whole.length > 0 ? ": all of the file is taken as changed" : "";
		return [`${file.path} exports nothing named ${names} (it exports ${has})${taken}.`];
	}
	const taken = whole.length > 0 ? ": all of these files is taken as changed" : "";
	return [`None of ${counted(files.length, "file")} exports anything named ${names}${taken}.`];
}

const MAX_NAMES = 8;

function some(names: readonly string[]): string {
	const more = names.length - MAX_NAMES;
	return names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
