import { getOrAdd } from "../../core/get-or-add.ts";
import { folderOf } from "../../core/project-path.ts";
import type { FileId, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";

/** What the linker asks about packages. */
export interface PackageLookup {
	readonly isEmpty: boolean;
	/** The other files of the file's package. */
	others(file: FileId): readonly FileId[];
	/** The file that stands for the folder's package when others import it: programs and tests come last. */
	entry(file: FileId): FileId;
	/** Files to which an import of the file's package may resolve, besides its own. */
	doors(file: FileId): readonly FileId[];
	/** All files that are compiled when the file's package is imported: tests are not. */
	compiled(file: FileId): readonly FileId[];
}

/**
 * Packages: files of one folder that form one module, as in Go. A file names its package in its first
 * request, which has no kinds.
 */
export class Packages implements PackageLookup {
	readonly #reader: IndexReader;
	readonly #folders = new Map<string, FileId[]>();
	readonly #names = new Map<FileId, string>();

	constructor(reader: IndexReader) {
		this.#reader = reader;
		for (const { id, path } of reader.files.values()) {
			if (languageOf(path)?.hasPackages) getOrAdd(this.#folders, folderOf(path), () => []).push(id);
		}
	}

	readonly isEmpty = false;

	others(file: FileId): readonly FileId[] {
		const all = this.#inFolder(file);
		if (all.length < 2) return [];
		const name = this.#nameOf(file);
		return all.filter((one) => one !== file && this.#nameOf(one) === name);
	}

	entry(file: FileId): FileId {
		const all = this.#inFolder(file);
		if (all.length < 2) return file;
		const rankOf = (one: FileId) => {
			const name = this.#nameOf(one);
			return name.endsWith("_test")
				? 3
				: name.includes(" ", 8)
					? 2
					: name === "package main"
						? 1
						: 0;
		};
		return all.reduce((best, one) => (rankOf(one) < rankOf(best) ? one : best), file);
	}

	doors(file: FileId): readonly FileId[] {
		const all = this.#inFolder(file);
		if (all.length < 2) return [];
		const name = this.#nameOf(file);
		return this.#nameOf(this.entry(file)) === name
			? all.filter((one) => this.#nameOf(one) !== name)
			: [];
	}

	compiled(file: FileId): readonly FileId[] {
		const isTest = (one: FileId) => this.#reader.files.get(one)?.path.endsWith("_test.go") === true;
		const entry = this.entry(file);
		return [entry, ...this.others(entry)].filter((one) => !isTest(one));
	}

	#inFolder(file: FileId): readonly FileId[] {
		const path = this.#reader.files.get(file)?.path;
		if (path === undefined || !languageOf(path)?.hasPackages) return [];
		return this.#folders.get(folderOf(path)) ?? [];
	}

	#nameOf(file: FileId): string {
		return getOrAdd(this.#names, file, () => {
			const [first] = this.#reader.requests(file);
			return first?.kinds.length === 0 ? first.specifier : "";
		});
	}
}
