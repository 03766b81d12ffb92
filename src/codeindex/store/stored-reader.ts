import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ByteReader } from "../../core/bytes.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Binding, Export, ModuleRequest, Reference } from "../facts.ts";
import type {
	BindingRef,
	Edge,
	FileId,
	ImportOf,
	IndexedFile,
	IndexReader,
	Resolution,
	TextMatch,
} from "../index-reader.ts";
import type { FileTable } from "./file-table.ts";
import type { NameIds } from "./names.ts";
import {
	importEntries,
	type LinkFacts,
	unpackBindings,
	unpackDeclarations,
	unpackLinks,
	unpackMentions,
} from "./records.ts";
import { unpackReferences } from "./references.ts";

/** Reads lazily from the tables. Valid until the store changes. */
export class StoredReader implements IndexReader {
	readonly files: ReadonlyMap<FileId, IndexedFile>;
	readonly #table: FileTable;
	readonly #names: NameIds;
	readonly #facts: StoredFacts;
	#unresolved: readonly { file: FileId; specifier: string }[] | undefined;

	constructor(table: FileTable, names: NameIds, facts: StoredFacts) {
		this.files = table.indexed;
		this.#table = table;
		this.#names = names;
		this.#facts = facts;
	}

	get shape(): object {
		return this.#table.shape;
	}

	fileAt(path: string): IndexedFile | undefined {
		return this.#table.rows.get(path)?.content?.file;
	}

	bindings(file: FileId): readonly Binding[] {
		return this.#facts.bindings(file);
	}

	exports(file: FileId): readonly Export[] {
		return this.#facts.links(file).exports;
	}

	requests(file: FileId): readonly ModuleRequest[] {
		return this.#facts.links(file).requests;
	}

	resolutions(file: FileId): readonly Resolution[] {
		const stored = this.#facts.links(file).resolutions;
		if (this.files.size === this.#table.rows.size) return stored;
		return stored.map((resolution) =>
			resolution.kind === "file" && !this.files.has(resolution.file) ? NOT_YET : resolution,
		);
	}

	references(at: BindingRef): readonly Reference[] {
		return this.#facts.references(at);
	}

	referencesOfAll(at: readonly BindingRef[]): readonly (readonly Reference[])[] {
		return this.#facts.referencesOfAll(at);
	}

	looseAccesses(name: string): ReadonlyMap<FileId, number> {
		const counts = new Map<FileId, number>();
		for (const { file, data } of this.#rowsOf("mentions", name)) {
			const { loose } = unpackMentions(data);
			if (loose > 0) counts.set(file, loose);
		}
		return counts;
	}

	unresolved(): readonly { readonly file: FileId; readonly specifier: string }[] {
		this.#unresolved ??= [...this.#table.rows.values()].flatMap(({ id: file, content }) => {
			if (!content || content.unresolved === 0) return [];
			const { requests, resolutions } = this.#facts.links(file);
			return requests.flatMap(({ specifier }, index) =>
				resolutions[index]?.kind === "unresolved" ? [{ file, specifier }] : [],
			);
		});
		return this.#unresolved;
	}

	dependencies(file: FileId): readonly Edge[] {
		return this.#table.dependencies(file);
	}

	dependents(file: FileId): readonly Edge[] {
		return this.#table.dependents(file);
	}

	importsOf(file: FileId, imported: string): readonly ImportOf[] {
		const name = this.#names.find(imported);
		return name === undefined ? [] : this.#facts.importsOf(file, name, imported);
	}

	exportsFrom(file: FileId): readonly { readonly file: FileId; readonly export: Export }[] {
		return this.#facts.sql.passes.all(file).flatMap((row) => {
			const exports = this.exports(row.file as FileId);
			const indexes = new ByteReader(row.data as Uint8Array);
			const found: { file: FileId; export: Export }[] = [];
			while (!indexes.isAtEnd) {
				const passed = exports[indexes.number()];
				if (passed) found.push({ file: row.file as FileId, export: passed });
			}
			return found;
		});
	}

	named(name: string): readonly (BindingRef & { readonly isMember: boolean })[] {
		return this.#rowsOf("declared", name).flatMap(({ file, data }) =>
			unpackDeclarations(data).map((declaration) => ({ file, ...declaration })),
		);
	}

	namesLike(part: string, limit: number): readonly string[] {
		return this.#names.containing(part, limit);
	}

	accessing(name: string): readonly (BindingRef & { readonly reference: Reference })[] {
		return this.#rowsOf("mentions", name).flatMap(({ file, data }) =>
			unpackMentions(data).bindings.flatMap((binding) =>
				this.references({ file, binding })
					.filter(({ steps }) => steps?.some((step) => step.name === name))
					.map((reference) => ({ file, binding, reference })),
			),
		);
	}

	matching(words: readonly string[], limit: number): readonly TextMatch[] {
		const found = new Map<FileId, TextMatch>();
		for (const query of textQueries(words)) {
			if (found.size >= limit) break;
			for (const row of this.#facts.sql.matching.all(query, limit)) {
				const file = row.file as FileId;
				if (!found.has(file)) found.set(file, { file, rank: row.rank as number });
			}
		}
		return [...found.values()].slice(0, limit);
	}

	declaring(stem: string): readonly FileId[] {
		const query = term(stem, "");
		if (query === "") return [];
		const { files } = this.#facts.sql.declaring.get(query) as { files: string };
		return JSON.parse(files);
	}

	#rowsOf(table: "declared" | "mentions", name: string): { file: FileId; data: Uint8Array }[] {
		const id = this.#names.find(name);
		if (id === undefined) return [];
		return this.#facts.sql[table].all(id) as unknown as { file: FileId; data: Uint8Array }[];
	}
}

const NOT_YET: Resolution = { kind: "unresolved", reason: "that file is not indexed yet" };

/** Strictest and fastest first: all words exactly, all as prefixes (in their last part), any as a prefix. */
function textQueries(words: readonly string[]): readonly string[] {
	const exact = words.map((word) => term(word, "")).filter((text) => text !== "");
	const begun = words.map((word) => term(word, "*")).filter((text) => text !== "");
	if (begun.length === 0) return [];
	const all = [exact.join(" AND "), begun.join(" AND ")];
	return begun.length === 1 ? all : [...all, begun.join(" OR ")];
}

function term(word: string, end: "" | "*"): string {
	const parts = word.split(/\s+/).filter((part) => part !== "");
	if (parts.length === 0) return "";
	// Double quotes disable SQLite's query operators.
	const quoted = parts.map((part) => `"${part.replaceAll('"', '""').replaceAll("\0", "")}"`);
	const text = quoted.join(" AND ") + end;
	return quoted.length === 1 ? text : `(${text})`;
}

/** Maximum number of decoded files per cache, at a few KB each. */
const MAX_FILES = 4_000;
/** Maximum size of undecoded references. Those of 10,000 files take 8 MB. */
const MAX_REFERENCE_BYTES = 32 * 1024 * 1024;
/** Maximum number of decoded references, at about 120 bytes each. */
const MAX_DECODED = 200_000;
const MANY = 16;

/** Facts of files, cached across readers until the file changes. */
export class StoredFacts {
	readonly sql: ReturnType<typeof prepare>;
	readonly #bindings = new Map<FileId, readonly Binding[]>();
	readonly #links = new Map<FileId, LinkFacts>();
	readonly #references = new Map<FileId, Uint8Array>();
	#referenceBytes = 0;
	readonly #decoded = new Map<FileId, Map<number, readonly Reference[]>>();
	#decodedCount = 0;
	readonly #imports = new ImportLists();

	constructor(database: DatabaseSync) {
		this.sql = prepare(database);
	}

	bindings(file: FileId): readonly Binding[] {
		return cached(this.#bindings, file, () => {
			const data = this.sql.bindings.get(file)?.data as Uint8Array | undefined;
			return data ? unpackBindings(data) : [];
		});
	}

	links(file: FileId): LinkFacts {
		return cached(this.#links, file, () => {
			const row = this.sql.links.get(file);
			return row ? unpackLinks(row) : { exports: [], requests: [], resolutions: [] };
		});
	}

	references({ file, binding }: BindingRef): readonly Reference[] {
		const data = this.#references.get(file) ?? this.sql.references.get(file)?.data;
		return data ? unpackReferences(data as Uint8Array, binding) : [];
	}

	referencesOfAll(at: readonly BindingRef[]): readonly (readonly Reference[])[] {
		if (at.length < MANY) return at.map((one) => this.references(one));
		const known = at.map(({ file, binding }) => this.#decoded.get(file)?.get(binding));
		const left = at.filter((_, index) => known[index] === undefined);
		if (left.length === 0) return known as (readonly Reference[])[];
		const packed = this.#packedReferences(left);
		return at.map((one, index) => known[index] ?? this.#decode(one, packed.get(one.file)));
	}

	#packedReferences(at: readonly BindingRef[]): ReadonlyMap<FileId, Uint8Array> {
		const wanted = new Set<FileId>();
		const byFile = new Map<FileId, Uint8Array>();
		for (const { file } of at) {
			const known = this.#references.get(file);
			if (known) byFile.set(file, known);
			else wanted.add(file);
		}
		// One statement for all takes half the time of one per file.
		const rows = wanted.size > 0 ? this.sql.manyReferences.all(JSON.stringify([...wanted])) : [];
		for (const { id, data } of rows as unknown as { id: FileId; data: Uint8Array }[]) {
			byFile.set(id, data);
			if (this.#referenceBytes + data.length > MAX_REFERENCE_BYTES) this.#evictReferences();
			this.#references.set(id, data);
			this.#referenceBytes += data.length;
		}
		return byFile;
	}

	importsOf(target: FileId, name: number, imported: string): readonly ImportOf[] {
		return this.#imports.get(`${target} ${name}`, {
			all: () => unpackRows(this.sql.imports.all(target, name), imported),
			ofFile: (file) => unpackRows(this.sql.importsOfFile.all(target, name, file), imported),
		});
	}

	evict(file: FileId): void {
		this.#bindings.delete(file);
		this.#links.delete(file);
		this.#referenceBytes -= this.#references.get(file)?.length ?? 0;
		this.#references.delete(file);
		for (const { length } of this.#decoded.get(file)?.values() ?? []) this.#decodedCount -= length;
		this.#decoded.delete(file);
		this.#imports.invalidate(file);
	}

	clear(): void {
		this.#bindings.clear();
		this.#links.clear();
		this.#evictReferences();
		this.#imports.clear();
	}

	#decode({ file, binding }: BindingRef, packed: Uint8Array | undefined): readonly Reference[] {
		const known = this.#decoded.get(file)?.get(binding);
		if (known || !packed) return known ?? [];
		const references = unpackReferences(packed, binding);
		if (this.#decodedCount + references.length > MAX_DECODED) this.#evictDecoded();
		getOrAdd(this.#decoded, file, () => new Map()).set(binding, references);
		this.#decodedCount += references.length;
		return references;
	}

	#evictReferences(): void {
		this.#references.clear();
		this.#referenceBytes = 0;
		this.#evictDecoded();
	}

	#evictDecoded(): void {
		this.#decoded.clear();
		this.#decodedCount = 0;
	}
}

function prepare(database: DatabaseSync) {
	const sql = (text: string): StatementSync => database.prepare(text);
	return {
		bindings: sql("SELECT data FROM bindings WHERE id = ?"),
		links: sql("SELECT exports, requests, resolutions FROM links WHERE id = ?"),
		references: sql("SELECT data FROM refs WHERE id = ?"),
		manyReferences: sql(
			"SELECT refs.id, data FROM json_each(?) JOIN refs ON refs.id = json_each.value",
		),
		mentions: sql("SELECT file, data FROM mentions WHERE name = ?"),
		declared: sql("SELECT file, data FROM declared WHERE name = ?"),
		imports: sql("SELECT file, data FROM imports WHERE target = ? AND name = ? ORDER BY file"),
		importsOfFile: sql("SELECT file, data FROM imports WHERE target = ? AND name = ? AND file = ?"),
		passes: sql("SELECT file, data FROM passes WHERE target = ?"),
		// Weights of bm25: path words count most, then declared names.
		matching: sql(
			"SELECT rowid AS file, bm25(words, 4.0, 3.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
		),
		// One row with all files: thousands of rows take ten times as long.
		declaring: sql("SELECT json_group_array(rowid) AS files FROM stems WHERE stems MATCH ?"),
	};
}

/** When full, evicts the least recently used file. */
function cached<T>(cache: Map<FileId, T>, file: FileId, decode: () => T): T {
	const found = cache.get(file);
	const value = found ?? decode();
	if (found !== undefined) cache.delete(file);
	else if (cache.size >= MAX_FILES) cache.delete(cache.keys().next().value as FileId);
	cache.set(file, value);
	return value;
}

function unpackRows(rows: readonly Record<string, unknown>[], imported: string): ImportOf[] {
	return rows.flatMap(({ file, data }) => {
		const entries = importEntries(new ByteReader(data as Uint8Array), imported);
		return entries.map(({ binding, as, isExported }) => {
			return { file: file as FileId, binding, as, isExported };
		});
	});
}

interface ImportSource {
	all(): readonly ImportOf[];
	ofFile(file: FileId): readonly ImportOf[];
}

/** Minimum length of a cached list. Shorter lists are read from the database just as fast. */
const LONG_LIST = 100;
/** Maximum number of imports in all lists together, at about 200 bytes each. */
const MAX_IMPORTS = 100_000;

/** Caches long import lists. After a change, only the changed file's imports are reread. */
export class ImportLists {
	readonly #lists = new Map<string, { all: readonly ImportOf[]; readonly stale: Set<FileId> }>();
	#cached = 0;

	get(key: string, source: ImportSource): readonly ImportOf[] {
		const list = this.#lists.get(key);
		if (!list) return this.#add(key, source.all());
		if (list.stale.size === 0) return list.all;
		const current = list.all.filter(({ file }) => !list.stale.has(file));
		const reread = [...list.stale].flatMap((file) => source.ofFile(file));
		this.#cached += current.length + reread.length - list.all.length;
		list.all = [...current, ...reread].sort((one, other) => one.file - other.file);
		list.stale.clear();
		return list.all;
	}

	invalidate(file: FileId): void {
		for (const { stale } of this.#lists.values()) stale.add(file);
	}

	clear(): void {
		this.#lists.clear();
		this.#cached = 0;
	}

	#add(key: string, all: readonly ImportOf[]): readonly ImportOf[] {
		if (all.length < LONG_LIST || all.length > MAX_IMPORTS) return all;
		if (this.#cached + all.length > MAX_IMPORTS) this.clear();
		this.#lists.set(key, { all, stale: new Set() });
		this.#cached += all.length;
		return all;
	}
}
