import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ByteReader, ByteWriter } from "../../core/bytes.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import { stemsOf } from "../extract/symbol-words.ts";
import type { Export, Imported, ModuleRequest } from "../facts.ts";
import type { FileId, IndexedFile, Resolution } from "../index-reader.ts";
import type { ScannedFile } from "../scan/scanned-tree.ts";
import { type FileRow, type FileTable, packEdges, toColumns } from "./file-table.ts";
import type { NameIds } from "./names.ts";
import { type PackedFile, unpackNames } from "./packed-file.ts";
import * as records from "./records.ts";

interface ParsedFile {
	readonly scanned: ScannedFile;
	readonly storedMs: number;
	readonly hash: Uint8Array;
	readonly isTest: boolean;
	readonly packed: PackedFile;
	readonly requests: readonly ModuleRequest[];
	readonly resolutions: readonly Resolution[];
}

interface WriterParts {
	readonly files: FileTable;
	readonly names: NameIds;
	/** Called for every file whose facts were written or removed. */
	readonly onChange: (file: FileId) => void;
}

/** Writes in the caller's transaction. Rows for reverse lookup are derived from a file's stored facts. */
export class IndexWriter {
	readonly #files: FileTable;
	readonly #names: NameIds;
	readonly #onChange: WriterParts["onChange"];
	readonly #sql: ReturnType<typeof prepare>;
	readonly #bytes = new ByteWriter();

	constructor(database: DatabaseSync, { files, names, onChange }: WriterParts) {
		this.#files = files;
		this.#names = names;
		this.#onChange = onChange;
		this.#sql = prepare(database);
	}

	/** Assigns an id before indexing, so that other files' requests can point to it. */
	register(scanned: ScannedFile): FileId {
		const row = this.#files.rows.get(scanned.path);
		if (row) return row.id;
		const id = this.#files.newId();
		// Size -1 is a sentinel that forces a re-index.
		this.#setFile({ ...scanned, id, bytes: -1, storedMs: 0 });
		return id;
	}

	put({ scanned, storedMs, hash, isTest, packed, requests, resolutions }: ParsedFile): FileId {
		const id = this.register(scanned);
		const before = this.#files.indexed.has(id) ? this.#removeContent(id) : undefined;
		if (packageOf(before) !== packageOf(requests)) this.#files.changeShape();

		this.#sql.setLinks.run(id, packed.exports, packed.requests, this.#resolutions(resolutions));
		this.#sql.setBindings.run(id, packed.bindings);
		this.#sql.setRefs.run(id, packed.references);
		this.#addNames(id, packed.names);
		if (!packed.isSkeleton) this.#addText(id, packed);
		this.#sql.addStems.run(id, `${stemsOf(scanned.path).join(" ")} ${packed.stems}`);
		const imported = new Map(records.importedOnly(new ByteReader(packed.imported)));
		const exports = records.exports(new ByteReader(packed.exports));
		this.#addLinkRows(id, linkRows(imported, exports, resolutions));

		const file: IndexedFile = {
			id,
			path: scanned.path,
			bytes: scanned.bytes,
			lines: packed.lines,
			isTest,
			isModule: packed.isModule,
			...(packed.problem === undefined ? {} : { problem: packed.problem }),
			...(packed.isSkeleton && { isSkeleton: true }),
		};
		const figures = linkFigures(requests, resolutions);
		const content = { hash: hexOf(hash), file, symbols: packed.symbols, ...figures };
		this.#setFile({ ...scanned, id, storedMs, content });
		this.#onChange(id);
		return id;
	}

	/** Adds the references and words that a skeleton lacks. If the file is another by now, the next refresh reads it again. */
	complete(row: FileRow, hash: Uint8Array, packed: PackedFile): void {
		const { id, content } = row;
		if (!content) return;
		const bindings = this.#sql.getBindings.get(id)?.data as Uint8Array;
		const isSame = content.hash === hexOf(hash) && Buffer.compare(bindings, packed.bindings) === 0;
		if (!isSame) {
			this.#setFile({ ...row, bytes: -1, storedMs: 0, content: { ...content, hash: "" } });
			return;
		}
		this.#sql.setRefs.run(id, packed.references);
		this.#addNames(id, packed.names);
		this.#addText(id, packed);
		this.settle(row, packed.problem);
	}

	/** Marks a skeleton as all that will be read of its file. */
	settle(row: FileRow, problem: string | undefined): void {
		if (!row.content) return;
		const { isSkeleton: _, ...file } = row.content.file;
		const settled = { ...file, ...(problem === undefined ? {} : { problem }) };
		this.#setFile({ ...row, content: { ...row.content, file: settled } });
		this.#onChange(row.id);
	}

	setResolutions(id: FileId, resolutions: readonly Resolution[]): void {
		const links = this.#linksOf(id);
		const row = this.#files.byId.get(id);
		if (!links || !row?.content) return;
		this.#sql.setResolutions.run(this.#resolutions(resolutions), id);
		const { imported, exports, requests } = links;
		this.#removeLinkRows(id, linkRows(imported, exports, links.resolutions));
		this.#addLinkRows(id, linkRows(imported, exports, resolutions));
		const figures = linkFigures(requests, resolutions);
		this.#setFile({ ...row, content: { ...row.content, ...figures } });
		this.#onChange(id);
	}

	/** Stores new metadata of a file whose content is unchanged. */
	confirm(scanned: ScannedFile, storedMs: number): void {
		const row = this.#files.rows.get(scanned.path);
		if (row) this.#setFile({ ...row, ...scanned, storedMs });
	}

	/** The caller must re-resolve the requests that resolved to the file. */
	remove(path: string): void {
		const row = this.#files.rows.get(path);
		if (!row) return;
		if (row.content) {
			this.#removeContent(row.id);
			for (const statement of this.#sql.removeRows) statement.run(row.id);
		}
		this.#sql.removeFile.run(row.id);
		this.#files.remove(path);
		this.#onChange(row.id);
	}

	#setFile(row: FileRow): void {
		this.#sql.setFile.run(...toColumns(row));
		this.#files.set(row);
	}

	/** Returns the file's requests. */
	#removeContent(id: FileId): readonly ModuleRequest[] | undefined {
		const links = this.#linksOf(id);
		if (!links) return undefined;
		this.#removeLinkRows(id, linkRows(links.imported, links.exports, links.resolutions));
		const owned = new ByteReader(this.#sql.getOwned.get(id)?.names as Uint8Array);
		for (let name = 0; !owned.isAtEnd; ) {
			name += owned.number();
			this.#sql.removeDeclared.run(name, id);
			this.#sql.removeMention.run(name, id);
		}
		this.#sql.removeText.run(id);
		this.#sql.removeStems.run(id);
		return links.requests;
	}

	#addText(id: FileId, { text: words }: PackedFile): void {
		this.#sql.addText.run(id, words.path, words.symbols, words.text);
	}

	#addNames(id: FileId, names: Uint8Array): void {
		const ids: number[] = [];
		for (const { name, declared, mentioned } of unpackNames(names)) {
			const nameId = this.#names.idFor(name, declared !== undefined);
			ids.push(nameId);
			if (declared) this.#sql.addDeclared.run(nameId, id, declared);
			if (mentioned) this.#sql.addMention.run(nameId, id, mentioned);
		}
		let last = 0;
		for (const nameId of ids.sort((one, other) => one - other)) {
			this.#bytes.number(nameId - last);
			last = nameId;
		}
		this.#sql.setOwned.run(id, this.#bytes.take());
	}

	#addLinkRows(id: FileId, { imports, passes }: LinkRows): void {
		for (const [target, byName] of imports) {
			for (const [name, entries] of byName) {
				records.importEntries(this.#bytes, name, entries);
				const nameId = this.#names.idFor(name, false);
				this.#sql.addImport.run(target, nameId, id, this.#bytes.take());
			}
		}
		for (const [target, indexes] of passes) {
			for (const index of indexes) this.#bytes.number(index);
			this.#sql.addPass.run(target, id, this.#bytes.take());
		}
	}

	#removeLinkRows(id: FileId, { imports, passes }: LinkRows): void {
		for (const [target, byName] of imports) {
			for (const name of byName.keys()) {
				this.#sql.removeImport.run(target, this.#names.idFor(name, false), id);
			}
		}
		for (const target of passes.keys()) this.#sql.removePass.run(target, id);
	}

	#linksOf(id: FileId) {
		const row = this.#sql.getLinks.get(id);
		if (!row) return undefined;
		const imported = new Map<number, Imported>();
		const data = this.#sql.getBindings.get(id)?.data as Uint8Array;
		records.unpackBindings(data).forEach((binding, index) => {
			if (binding.kind === "imported") imported.set(index, binding);
		});
		return { imported, ...records.unpackLinks(row) };
	}

	#resolutions(resolutions: readonly Resolution[]): Uint8Array {
		records.resolutions(this.#bytes, resolutions);
		return this.#bytes.take();
	}
}

/** A file's first request names its package, if it has no kinds. */
function packageOf([first]: readonly ModuleRequest[] = []): string | undefined {
	return first?.kinds.length === 0 ? first.specifier : undefined;
}

type LinkRows = ReturnType<typeof linkRows>;

function linkRows(
	imported: ReadonlyMap<number, Imported>,
	exports: readonly Export[],
	resolutions: readonly Resolution[],
) {
	const imports = new Map<FileId, Map<string, records.ImportEntry[]>>();
	const passes = new Map<FileId, number[]>();
	const exported = new Set<number>();
	exports.forEach((item, index) => {
		if (item.kind === "local") {
			exported.add(item.binding);
			return;
		}
		const target = resolutions[item.request];
		if (target?.kind !== "file") return;
		getOrAdd(passes, target.file, () => []).push(index);
	});
	imported.forEach((as, binding) => {
		const target = resolutions[as.request];
		if (target?.kind !== "file") return;
		const byName = getOrAdd(imports, target.file, () => new Map());
		const entry = { binding, as, isExported: exported.has(binding) };
		getOrAdd(byName, as.imported, () => []).push(entry);
	});
	return { imports, passes };
}

function linkFigures(requests: readonly ModuleRequest[], resolutions: readonly Resolution[]) {
	const edges = new Map<FileId, number>();
	let unresolved = 0;
	resolutions.forEach((resolution, index) => {
		if (resolution.kind === "unresolved") unresolved++;
		if (resolution.kind !== "file") return;
		const kinds = records.kindBits(requests[index]?.kinds ?? []);
		if (kinds === 0) return;
		edges.set(resolution.file, (edges.get(resolution.file) ?? 0) | kinds);
	});
	return { edges: packEdges(edges), unresolved };
}

function hexOf(bytes: Uint8Array): string {
	return Buffer.from(bytes).toString("hex");
}

function prepare(database: DatabaseSync) {
	const sql = (text: string): StatementSync => database.prepare(text);
	return {
		setFile: sql(`INSERT OR REPLACE INTO files VALUES (${Array(14).fill("?").join(", ")})`),
		removeFile: sql("DELETE FROM files WHERE id = ?"),
		getLinks: sql("SELECT exports, requests, resolutions FROM links WHERE id = ?"),
		setLinks: sql("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)"),
		setResolutions: sql("UPDATE links SET resolutions = ? WHERE id = ?"),
		getBindings: sql("SELECT data FROM bindings WHERE id = ?"),
		setBindings: sql("INSERT OR REPLACE INTO bindings VALUES (?, ?)"),
		setRefs: sql("INSERT OR REPLACE INTO refs VALUES (?, ?)"),
		getOwned: sql("SELECT names FROM owned WHERE id = ?"),
		setOwned: sql("INSERT OR REPLACE INTO owned VALUES (?, ?)"),
		removeRows: ["links", "bindings", "refs", "owned"].map((table) =>
			sql(`DELETE FROM ${table} WHERE id = ?`),
		),
		addDeclared: sql("INSERT OR REPLACE INTO declared VALUES (?, ?, ?)"),
		removeDeclared: sql("DELETE FROM declared WHERE name = ? AND file = ?"),
		addMention: sql("INSERT OR REPLACE INTO mentions VALUES (?, ?, ?)"),
		removeMention: sql("DELETE FROM mentions WHERE name = ? AND file = ?"),
		addImport: sql("INSERT OR REPLACE INTO imports VALUES (?, ?, ?, ?)"),
		removeImport: sql("DELETE FROM imports WHERE target = ? AND name = ? AND file = ?"),
		addPass: sql("INSERT OR REPLACE INTO passes VALUES (?, ?, ?)"),
		removePass: sql("DELETE FROM passes WHERE target = ? AND file = ?"),
		addText: sql("INSERT INTO words (rowid, path, symbols, text) VALUES (?, ?, ?, ?)"),
		removeText: sql("DELETE FROM words WHERE rowid = ?"),
		addStems: sql("INSERT INTO stems (rowid, words) VALUES (?, ?)"),
		removeStems: sql("DELETE FROM stems WHERE rowid = ?"),
	};
}
