import type { DatabaseSync } from "node:sqlite";
import { ByteReader, ByteWriter } from "../../core/bytes.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Edge, FileId, IndexedFile } from "../index-reader.ts";
import type { KnownFile } from "../scan/scanned-tree.ts";
import { bit, kindsOf } from "./records.ts";

export interface FileRow extends KnownFile {
	readonly id: FileId;
	readonly content?: FileContent;
}

interface FileContent {
	/** In hexadecimal: a list of short strings loads in half the time of a list of arrays. Empty if the file could not be read. */
	readonly hash: string;
	readonly file: IndexedFile;
	readonly symbols: number;
	readonly unresolved: number;
	readonly edges: PackedEdges;
}

/** Target files, with the kinds of the edge as bits. */
type Edges = ReadonlyMap<FileId, number>;

/** In hexadecimal. Most questions look at the edges of few files. */
type PackedEdges = string;

/** The files, in memory since every question compares the tree with them. Writers update the table. */
export class FileTable {
	readonly rows = new Map<string, FileRow>();
	readonly indexed = new Map<FileId, IndexedFile>();
	readonly byId = new Map<FileId, FileRow>();
	/** Derived from all edges by the first question about dependents. */
	#edgesBack: Map<FileId, Map<FileId, number>> | undefined;
	readonly #dependencies = new Map<FileId, readonly Edge[]>();
	readonly #dependents = new Map<FileId, readonly Edge[]>();
	readonly #skeletons = new Set<FileId>();
	#lastId = 0;
	#shape: object = {};

	get shape(): object {
		return this.#shape;
	}

	/** Files whose references and words are not stored yet. */
	get skeletons(): ReadonlySet<FileId> {
		return this.#skeletons;
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
		if (content?.file.isSkeleton) this.#skeletons.add(id);
		else this.#skeletons.delete(id);
		if (before?.file.isTest !== content?.file.isTest) this.#clearLists();
		this.#replaceEdges(id, before?.edges, content?.edges);
	}

	remove(path: string): void {
		const row = this.rows.get(path);
		if (!row) return;
		this.rows.delete(path);
		this.byId.delete(row.id);
		this.indexed.delete(row.id);
		this.#skeletons.delete(row.id);
		this.#replaceEdges(row.id, row.content?.edges);
		this.#clearLists();
	}

	dependencies(id: FileId): readonly Edge[] {
		return this.#list(this.#dependencies, id, () => {
			return unpackEdges(this.byId.get(id)?.content?.edges);
		});
	}

	dependents(id: FileId): readonly Edge[] {
		return this.#list(this.#dependents, id, () => this.#backward().get(id));
	}

	load(database: DatabaseSync): void {
		for (const map of [this.rows, this.indexed, this.byId]) map.clear();
		this.#edgesBack = undefined;
		this.#skeletons.clear();
		this.#clearLists();
		this.#lastId = 0;
		const all = database.prepare(ALL_FILES);
		all.setReturnArrays(true);
		for (const columns of all.all() as unknown as unknown[][]) {
			const row = fromColumns(columns);
			this.rows.set(row.path, row);
			this.byId.set(row.id, row);
			if (row.content) this.indexed.set(row.id, row.content.file);
			if (row.content?.file.isSkeleton) this.#skeletons.add(row.id);
			this.#lastId = row.id;
		}
	}

	#backward(): Map<FileId, Map<FileId, number>> {
		if (this.#edgesBack) return this.#edgesBack;
		this.#edgesBack = new Map();
		for (const { id, content } of this.byId.values()) this.#addBackward(id, content?.edges);
		return this.#edgesBack;
	}

	#addBackward(id: FileId, edges: PackedEdges | undefined): void {
		if (!this.#edgesBack) return;
		for (const [target, kinds] of unpackEdges(edges)) {
			getOrAdd(this.#edgesBack, target, () => new Map()).set(id, kinds);
			this.#dependents.delete(target);
		}
	}

	#replaceEdges(id: FileId, before: PackedEdges = "", edges: PackedEdges = ""): void {
		if (before === edges) return;
		this.#shape = {};
		if (this.#edgesBack) {
			for (const target of unpackEdges(before).keys()) {
				this.#edgesBack.get(target)?.delete(id);
				this.#dependents.delete(target);
			}
		}
		this.#addBackward(id, edges);
		this.#dependencies.delete(id);
	}

	#list(
		memo: Map<FileId, readonly Edge[]>,
		id: FileId,
		edges: () => Edges | undefined,
	): readonly Edge[] {
		return getOrAdd(memo, id, () => {
			const list: Edge[] = [];
			for (const [file, kinds] of edges() ?? []) {
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

const IS_TEST = 1;
const IS_MODULE = 2;
const IS_SKELETON = 4;

export function toColumns(row: FileRow) {
	const { id, path, bytes, mtimeMs, ctimeMs, inode, storedMs, content } = row;
	const common = [id, path, bytes, mtimeMs, ctimeMs, inode, storedMs] as const;
	if (!content) return [...common, null, null, null, null, null, null, null];
	const { file, hash, symbols, unresolved, edges } = content;
	const flags =
		bit(file.isTest, IS_TEST) | bit(file.isModule, IS_MODULE) | bit(file.isSkeleton, IS_SKELETON);
	const [hashBytes, edgeBytes] = [Buffer.from(hash, "hex"), Buffer.from(edges, "hex")];
	const figures = [file.lines, flags, symbols, unresolved, file.problem ?? null] as const;
	return [...common, hashBytes, ...figures, edgeBytes];
}

/** `hex` of NULL is empty, as is that of a file that could not be read. Only the former has no flags. */
const ALL_FILES = `
	SELECT id, path, bytes, mtime, ctime, inode, stored,
		lower(hex(hash)), lines, flags, symbols, unresolved, problem, lower(hex(edges))
	FROM files ORDER BY id
`;

function fromColumns(columns: readonly unknown[]): FileRow {
	const [id, path, bytes, mtimeMs, ctimeMs, inode, storedMs, hash, lines, flags, ...others] =
		columns as Columns;
	const [symbols, unresolved, problem, edges] = others;
	const known = { id, path, bytes, mtimeMs, ctimeMs, inode, storedMs };
	if (flags === null) return known;
	const file: IndexedFile = {
		id,
		path,
		bytes,
		lines,
		isTest: (flags & IS_TEST) !== 0,
		isModule: (flags & IS_MODULE) !== 0,
		...((flags & IS_SKELETON) !== 0 && { isSkeleton: true as const }),
		...(problem === null ? {} : { problem }),
	};
	return { ...known, content: { hash, file, symbols, unresolved, edges } };
}

type Columns = [
	id: FileId,
	path: string,
	bytes: number,
	mtimeMs: number,
	ctimeMs: number,
	inode: number,
	storedMs: number,
	hash: string,
	lines: number,
	flags: number | null,
	symbols: number,
	unresolved: number,
	problem: string | null,
	edges: PackedEdges,
];

export function packEdges(edges: Edges): PackedEdges {
	const writer = new ByteWriter();
	for (const [target, kinds] of edges) {
		writer.number(target);
		writer.number(kinds);
	}
	return Buffer.from(writer.take()).toString("hex");
}

function unpackEdges(packed: PackedEdges = ""): Edges {
	const reader = new ByteReader(Buffer.from(packed, "hex"));
	const edges = new Map<FileId, number>();
	while (!reader.isAtEnd) edges.set(reader.number() as FileId, reader.number());
	return edges;
}
