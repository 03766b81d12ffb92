import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Binding, Export, Reference, Request } from "../facts.ts";
import type {
	BindingRef,
	Edge,
	FileId,
	ImportOf,
	IndexedFile,
	IndexReader,
	Resolution,
	TextMatch,
} from "../reader.ts";
import { ByteReader } from "./bytes.ts";
import type { FactsCache } from "./facts-cache.ts";
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

export interface ReaderSources {
	readonly files: FileTable;
	readonly names: NameIds;
	readonly facts: FactsCache;
	readonly statements: ReaderStatements;
}

export type ReaderStatements = ReturnType<typeof prepareReader>;

export function prepareReader(database: DatabaseSync) {
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
		// Weights: path words count most, then declared names.
		matching: sql(
			"SELECT rowid AS file, bm25(words, 4.0, 3.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
		),
	};
}

/** Reads lazily from the tables. Valid until the store changes. */
export class StoredReader implements IndexReader {
	readonly #from: ReaderSources;
	#unresolved: readonly { file: FileId; specifier: string }[] | undefined;

	constructor(sources: ReaderSources) {
		this.#from = sources;
	}

	get files(): ReadonlyMap<FileId, IndexedFile> {
		return this.#from.files.indexed;
	}

	get shape(): object {
		return this.#from.files.shape;
	}

	fileAt(path: string): IndexedFile | undefined {
		return this.#from.files.at(path);
	}

	bindings(file: FileId): readonly Binding[] {
		const { facts, statements } = this.#from;
		return facts.bindings(file, () => {
			const data = statements.bindings.get(file)?.data as Uint8Array | undefined;
			return data ? unpackBindings(data) : [];
		});
	}

	exports(file: FileId): readonly Export[] {
		return this.#links(file).exports;
	}

	requests(file: FileId): readonly Request[] {
		return this.#links(file).requests;
	}

	resolutions(file: FileId): readonly Resolution[] {
		const stored = this.#links(file).resolutions;
		if (this.#from.files.isWhole) return stored;
		return stored.map((resolution) =>
			resolution.kind === "file" && !this.files.has(resolution.file) ? NOT_YET : resolution,
		);
	}

	references(at: BindingRef): readonly Reference[] {
		const { facts, statements } = this.#from;
		const data =
			facts.references(at.file) ??
			(statements.references.get(at.file)?.data as Uint8Array | undefined);
		return data ? unpackReferences(data, at.binding) : [];
	}

	referencesOfAll(at: readonly BindingRef[]): readonly (readonly Reference[])[] {
		if (at.length < MANY) return at.map((one) => this.references(one));
		const { facts, statements } = this.#from;
		const wanted = new Set<FileId>();
		const byFile = new Map<FileId, Uint8Array>();
		for (const { file } of at) {
			const kept = facts.references(file);
			if (kept) byFile.set(file, kept);
			else wanted.add(file);
		}
		// One statement takes half the time of one per file.
		const rows = wanted.size > 0 ? statements.manyReferences.all(JSON.stringify([...wanted])) : [];
		for (const { id, data } of rows) {
			byFile.set(id as FileId, data as Uint8Array);
			facts.keepReferences(id as FileId, data as Uint8Array);
		}
		return at.map((one) => {
			const data = byFile.get(one.file);
			return data ? facts.decodedReferences(one, data) : [];
		});
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
		this.#unresolved ??= [...this.#from.files.rows()].flatMap(({ id, content }) =>
			content && content.unresolved > 0 ? this.#unresolvedOf(id) : [],
		);
		return this.#unresolved;
	}

	dependencies(file: FileId): readonly Edge[] {
		return this.#from.files.dependencies(file);
	}

	dependents(file: FileId): readonly Edge[] {
		return this.#from.files.dependents(file);
	}

	importsOf(file: FileId, imported: string): readonly ImportOf[] {
		const { names, facts, statements } = this.#from;
		const name = names.find(imported);
		if (name === undefined) return [];
		return facts.imports.get(`${file} ${name}`, {
			all: () => unpackRows(statements.imports.all(file, name), imported),
			of: (from) => unpackRows(statements.importsOfFile.all(file, name, from), imported),
		});
	}

	exportsFrom(file: FileId): readonly { readonly file: FileId; readonly export: Export }[] {
		return this.#from.statements.passes.all(file).flatMap((row) => {
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
		return this.#from.names.like(part, limit);
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
			for (const row of this.#from.statements.matching.all(query, limit)) {
				const file = row.file as FileId;
				if (!found.has(file)) found.set(file, { file, rank: row.rank as number });
			}
		}
		return [...found.values()].slice(0, limit);
	}

	#links(file: FileId): LinkFacts {
		const { facts, statements } = this.#from;
		return facts.links(file, () => {
			const row = statements.links.get(file);
			return row ? unpackLinks(row) : { exports: [], requests: [], resolutions: [] };
		});
	}

	#unresolvedOf(file: FileId): { file: FileId; specifier: string }[] {
		const { requests, resolutions } = this.#links(file);
		return requests.flatMap(({ specifier }, index) =>
			resolutions[index]?.kind === "unresolved" ? [{ file, specifier }] : [],
		);
	}

	#rowsOf(table: "declared" | "mentions", name: string): { file: FileId; data: Uint8Array }[] {
		const id = this.#from.names.find(name);
		if (id === undefined) return [];
		return this.#from.statements[table].all(id) as unknown as { file: FileId; data: Uint8Array }[];
	}
}

function unpackRows(rows: readonly Record<string, unknown>[], imported: string): ImportOf[] {
	const found: ImportOf[] = [];
	for (const { file, data } of rows) {
		for (const { binding, as, isExported } of importEntries(
			new ByteReader(data as Uint8Array),
			imported,
		)) {
			found.push({ file: file as FileId, binding, as, isExported });
		}
	}
	return found;
}

const MANY = 16;

const NOT_YET: Resolution = { kind: "unresolved", reason: "that file is not indexed yet" };

/**
 * Strictest and fastest first: all words exact, all as prefixes, any as a prefix. All parts of a
 * word are required; the last is the prefix.
 */
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
