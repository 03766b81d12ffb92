import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Indexer } from "../../../src/codeindex/indexer.ts";
import { loadLanguages, parseFile } from "../../../src/codeindex/parsing/parse-file.ts";
import type { Parser } from "../../../src/codeindex/parsing/parser.ts";
import { IndexStore } from "../../../src/codeindex/store/index-store.ts";
import { WriterLock } from "../../../src/codeindex/store/writer-lock.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

/** Opens a store with an indexer, in this thread. */
export async function openIndexer(root: string, database = join(tempDir(), "index.db")) {
	const lock = new WriterLock(database);
	const store = await IndexStore.open(database);
	atEnd(() => {
		store.close();
		lock.close();
	});
	return { store, lock, database, indexer: new Indexer(root, store, () => lock, parserHere(root)) };
}

/** Writes files by path; an undefined text removes the file. */
export function writeTree(root: string, files: Record<string, string | undefined>): void {
	for (const [path, text] of Object.entries(files)) {
		if (text === undefined) rmSync(join(root, path), { force: true });
		else {
			mkdirSync(dirname(join(root, path)), { recursive: true });
			writeFileSync(join(root, path), text);
		}
	}
}

/** Parses in this very process: starting another takes longer than all of a small project. */
export function parserHere(root: string): Pick<Parser, "parse" | "close"> {
	return {
		async parse(files, take, _signal, extent) {
			await loadLanguages(files.map(({ path }) => path));
			for (const { path } of files) take(parseFile(root, path, extent));
		},
		close() {},
	};
}
