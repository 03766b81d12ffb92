import type { DatabaseSync } from "node:sqlite";
import { ByteReader, ByteWriter } from "../../core/bytes.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Edge, FileId, IndexedFile } from "../index-reader.ts";
import type { KnownFile } from "../scan/scanned-tree.ts";
import { kindsOf } from "./records.ts";

export interface FileRow extends KnownFile {
	readonly id: FileId;
	readonly content?: FileContent;
}

export interface FileContent {
	/** Empty if the file could not be read. */
	readonly hash: Uint8Array;
	readonly file: IndexedFile;
	readonly symbols: number;
	readonly unresolved: number;
	readonly edges: Edges;
}

/** Target files, with the kinds of the edge as bits. */
type Edges = ReadonlyMap<FileId, number>;

const NO_EDGES: Edges = new Map();

/** The files, in memory since every question compares the tree with them. Writers update the table. */
export class FileTable {
	readonly rows = new Map<string, FileRow>();
	readonly indexed = new Map<FileId, IndexedFile>();
	readonly byId = new Map<FileId, FileRow>();
	readonly #edgesBack = new Map<FileId, Map<FileId, number>>();
	readonly #dependencies = new Map<FileId, readonly Edge[]>();
	readonly #dependents = new Map<FileId, readonly Edge[]>();
	#lastId = 0;
	#shape: object = {};

	get shape(): object {
		return this.#shape;
	}

	/** For what queries derive from files besides their edges. */
	changeShape(): void {
		this.#shape = {};
	}

	total(field: "symbols" | "unresolved"): number {
		let sum = 0;
		for (const { content } of this.rows.values()) sum += content?.[field] ?? 0;
		return sum;
	}

	/** An id is never reused while the table is loaded. */
	newId(): FileId {
		return ++this.#lastId as FileId;
	}

	set(row: FileRow): void {
		const { path, content, id } = row;
		const before = this.rows.get(path)?.content;
		this.rows.set(path, row);
		this.byId.set(id, row);
		if (content) this.indexed.set(id, content.file);
		if (before?.file.isTest !== content?.file.isTest) this.#clearLists();
		this.#replaceEdges(id, before?.edges, content?.edges);
	}

	remove(path: string): void {
		const row = this.rows.get(path);
		if (!row) return;
		this.rows.delete(path);
		this.byId.delete(row.id);
		this.indexed.delete(row.id);
		this.#replaceEdges(row.id, row.content?.edges);
		this.#clearLists();
	}

	dependencies(id: FileId): readonly Edge[] {
		return this.#list(this.#dependencies, id, this.byId.get(id)?.content?.edges);
	}

	dependents(id: FileId): readonly Edge[] {
		return this.#list(this.#dependents, id, this.#edgesBack.get(id));
	}

	load(database: DatabaseSync): void {
		for (const map of [this.rows, this.indexed, this.byId, this.#edgesBack]) map.clear();
		this.#clearLists();
		this.#lastId = 0;
		for (const row of database.prepare("SELECT * FROM files ORDER BY id").iterate()) {
			const loaded = fromColumns(row);
			this.#lastId = loaded.id;
			this.set(loaded);
		}
	}

	#replaceEdges(id: FileId, before: Edges = NO_EDGES, edges: Edges = NO_EDGES): void {
		if (areSame(before, edges)) return;
		this.#shape = {};
		for (const target of before.keys()) {
			this.#edgesBack.get(target)?.delete(id);
			this.#dependents.delete(target);
		}
		for (const [target, kinds] of edges) {
			getOrAdd(this.#edgesBack, target, () => new Map()).set(id, kinds);
			this.#dependents.delete(target);
		}
		this.#dependencies.delete(id);
	}

	#list(memo: Map<FileId, readonly Edge[]>, id: FileId, edges: Edges | undefined): readonly Edge[] {
		return getOrAdd(memo, id, () => {
			const list: Edge[] = [];
			for (const [file, kinds] of edges ?? []) {
				// Files not yet indexed are invisible to readers.
				if (this.indexed.has(file)) list.push({ file, kinds: kindsOf(kinds) });
			}
			return list;
		});
	}

	#clearLists(): void {
		this.#shape = {};
		this.#dependencies.clear();
		this.#dependents.clear();
	}
}

function areSame(one: Edges, other: Edges): boolean {
	if (one.size !== other.size) return false;
	for (const [target, kinds] of one) if (other.get(target) !== kinds) return false;
	return true;
}

const IS_TEST = 1;
const IS_MODULE = 2;

export function toColumns(row: FileRow) {
	const { id, path, bytes, mtimeMs, ctimeMs, inode, storedMs, content } = row;
	const common = [id, path, bytes, mtimeMs, ctimeMs, inode, storedMs] as const;
	if (!content) return [...common, null, null, null, null, null, null, null];
	const { file, hash, symbols, unresolved, edges } = content;
	const flags = (file.isTest ? IS_TEST : 0) | (file.isModule ? IS_MODULE : 0);
	const packed = packEdges(edges);
	return [...common, hash, file.lines, flags, symbols, unresolved, file.problem ?? null, packed];
}

function fromColumns(columns: Record<string, unknown>): FileRow {
	const { id, path, bytes } = columns as Pick<FileRow, "id" | "path" | "bytes">;
	const known = {
		id,
		path,
		bytes,
		mtimeMs: columns.mtime as number,
		ctimeMs: columns.ctime as number,
		inode: columns.inode as number,
		storedMs: columns.stored as number,
	};
	if (columns.hash === null) return known;
	const flags = columns.flags as number;
	const file: IndexedFile = {
		id,
		path,
		bytes,
		lines: columns.lines as number,
		isTest: (flags & IS_TEST) !== 0,
		isModule: (flags & IS_MODULE) !== 0,
		...(columns.problem === null ? {} : { problem: columns.problem as string }),
	};
	const content = {
		hash: columns.hash as Uint8Array,
		file,
		symbols: columns.symbols as number,
		unresolved: columns.unresolved as number,
		edges: unpackEdges(columns.edges as Uint8Array),
	};
	return { ...known, content };
}

function packEdges(edges: Edges): Uint8Array {
	const writer = new ByteWriter();
	for (const [target, kinds] of edges) {
		writer.number(target);
		writer.number(kinds);
	}
	return writer.take();
}

function unpackEdges(bytes: Uint8Array): Edges {
	const reader = new ByteReader(bytes);
	const edges = new Map<FileId, number>();
	while (!reader.isAtEnd) edges.set(reader.number() as FileId, reader.number());
	return edges;
}
