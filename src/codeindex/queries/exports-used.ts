import { compareText } from "../../core/compare-text.ts";
import { counted } from "../../text/figures.ts";
import type { Declared, SymbolKind, UsageKind } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import type { Language } from "../language.ts";
import { languageOf } from "../languages.ts";
import { linkerOf } from "../link/linker.ts";
import { type Entity, pairsOf } from "../link/modules.ts";
import { usagesOfExport, usagesOfSymbol } from "../link/usages.ts";
import { usagesByName } from "../link/usages-by-name.ts";
import { describe, splitName } from "./symbols.ts";

export interface UsedExport {
	readonly path: string;
	/** The exported name. For a whole CommonJS module: its value's name or `module.exports`. */
	readonly name: string;
	readonly kind: SymbolKind;
	/** How many other files name the export. */
	readonly otherFiles: number;
	/** These files. True for those that do more than import or re-export it. */
	users(): ReadonlyMap<FileId, boolean>;
	/** Counted as in the query `usages`. For a re-export, only usages through this file count. */
	readonly usages: number;
	readonly files: number;
	/** Where it is used: neither imported, re-exported nor declared. There may be tens of thousands. */
	places(): readonly { readonly file: FileId; readonly line: number }[];
}

export function exportsUsed(reader: IndexReader, files: readonly IndexedFile[]): UsedExport[] {
	return files.flatMap((file) => {
		const { byName } = linkerOf(reader).ownExports(file.id);
		return [...byName.keys()].flatMap((name) => declaredExport(reader, file, name) ?? []);
	});
}

function exportsNamed(reader: IndexReader, file: IndexedFile, wanted: string): UsedExport[] {
	const linker = linkerOf(reader);
	const { byName } = linker.ownExports(file.id);
	const bindings = reader.bindings(file.id);
	const names = [...byName].flatMap(([name, one]) => {
		const inside = one.kind === "local" ? bindings[one.binding]?.name : undefined;
		return name === wanted || inside === wanted ? [name] : [];
	});
	const outside = names.length === 0 ? linker.resolveExport(file.id, wanted) : undefined;
	if (outside) names.push(byName.has("=") ? "=" : wanted);
	const found = names.map(
		(name) => declaredExport(reader, file, name) ?? reExported(reader, file, name),
	);
	// `export *` from a package may provide any name, so the name counts only if a file imports it.
	const isGuess = outside?.kind === "external" || outside?.kind === "unknown";
	return isGuess ? found.filter(({ otherFiles }) => otherFiles > 0) : found;
}

/** In the facts, a whole CommonJS module is named `=`. */
function writtenName(name: string): string {
	return name === "=" ? "module.exports" : name;
}

export function byUse(a: UsedExport, b: UsedExport): number {
	return (
		b.otherFiles - a.otherFiles ||
		b.usages - a.usages ||
		compareText(a.path, b.path) ||
		compareText(a.name, b.name)
	);
}

function declaredExport(
	reader: IndexReader,
	{ id: file, path }: IndexedFile,
	name: string,
): UsedExport | undefined {
	const linker = linkerOf(reader);
	const one = linker.ownExports(file).byName.get(name);
	if (one?.kind !== "local") return undefined;
	const { binding } = one;
	const declared = reader.bindings(file)[binding];
	if (declared?.kind !== "declared") return undefined;
	const language = languageOf(path);
	const sites =
		language?.usages === "names"
			? placesOfName(reader, declared, language, file)
			: usagesOfSymbol(linker, { kind: "declared", file, binding });
	const inside = name === "=" && declared.name !== "default" ? declared.name : name;
	return {
		path,
		name: writtenName(inside),
		kind: declared.symbol,
		...usesOf(reader, file, sites),
	};
}

type Sites = Pick<ReturnType<typeof usagesOfSymbol>, "each">;

/** Other declarations of the name are left out: they do not use this one. */
function placesOfName(
	reader: IndexReader,
	{ name, at }: Declared,
	language: Language,
	file: FileId,
): Sites {
	const sites = usagesByName(reader, name, language, { file, at });
	return {
		each(visit) {
			sites.each((file, at, kind) => {
				if (kind !== "declaration") visit(file, at, kind);
			});
		},
	};
}

function reExported(reader: IndexReader, { id, path }: IndexedFile, name: string): UsedExport {
	const linker = linkerOf(reader);
	const kind = kindOf(reader, linker.resolveExport(id, name));
	const uses = usesOf(reader, id, usagesOfExport(linker, id, name));
	return { path, name: writtenName(name), kind, ...uses };
}

function kindOf(reader: IndexReader, entity: Entity | undefined): SymbolKind {
	if (entity?.kind === "namespace") return "namespace";
	const symbol = entity && describe(reader, entity);
	return (symbol?.facts.symbol as SymbolKind | undefined) ?? "variable";
}

function usesOf(
	reader: IndexReader,
	file: FileId,
	sites: Sites,
): Omit<UsedExport, "path" | "name" | "kind"> {
	const pairs = pairsOf(reader);
	const other = pairs.other(file);
	const isUse = (user: FileId, kind: UsageKind) =>
		kind !== "import" &&
		kind !== "re-export" &&
		(kind !== "declaration" || pairs.implementation(user) === undefined);
	let usages = 0;
	let files = 0;
	let otherFiles = 0;
	let last: FileId | undefined;
	// Sites come file by file.
	sites.each((user) => {
		usages++;
		if (user === last) return;
		last = user;
		files++;
		if (user !== file && user !== other) otherFiles++;
	});
	const users = () => {
		const all = new Map<FileId, boolean>();
		sites.each((user, _, kind) => {
			if (user !== file && user !== other)
				all.set(user, isUse(user, kind) || all.get(user) === true);
		});
		return all;
	};
	const places = () => {
		const all: { file: FileId; line: number }[] = [];
		sites.each((user, [line], kind) => {
			if (kind !== "declaration" && isUse(user, kind)) all.push({ file: user, line });
		});
		return all;
	};
	return { usages, files, otherFiles, users, places };
}

/** If no file exports one of the names, files that export none of them count as wholly changed. */
export function changedExports(reader: IndexReader, change: NamedChange) {
	const { modified, deleted } = change;
	const { names, members } = withOwners(reader, change);
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
		warnings: [...warn(reader, unknown, whole, [...modified, ...deleted]), ...members],
	};
}

/** Of a member, what uses its owner is followed: who calls it may name neither. */
function withOwners(reader: IndexReader, { modified, deleted, names }: NamedChange) {
	const isExported = (name: string) =>
		[...modified, ...deleted].some((file) => exportsNamed(reader, file, name).length > 0);
	const members: string[] = [];
	const all = names.map((name) => {
		const [owner = ""] = splitName(name).owners;
		if (owner === "" || isExported(name) || !isExported(owner)) return name;
		members.push(`${name} is a member: what uses ${owner} is followed.`);
		return owner;
	});
	return { names: [...new Set(all)], members };
}

interface NamedChange {
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
	const names = firstFew(unknown);
	if (files.length === 1) {
		const exported = [...linkerOf(reader).exportedNames(file.id)].sort();
		const has = exported.length > 0 ? firstFew(exported.map(writtenName)) : "nothing";
		const taken = whole.length > 0 ? ": all of the file is taken as changed" : "";
		return [`${file.path} exports nothing named ${names} (it exports ${has})${taken}.`];
	}
	const taken = whole.length > 0 ? ": all of these files is taken as changed" : "";
	return [`None of ${counted(files.length, "file")} exports anything named ${names}${taken}.`];
}

export function firstFew(names: readonly string[], most = 8): string {
	const more = names.length - most;
	return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
