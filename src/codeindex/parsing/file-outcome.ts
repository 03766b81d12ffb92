import { fileWords } from "../extract/words.ts";
import type { FileFacts } from "../facts.ts";
import { type PackedFile, packFile } from "../store/packed-file.ts";

/** What became of reading and parsing a file. */
export type FileOutcome =
	| {
			readonly kind: "parsed";
			readonly path: string;
			readonly hash: Uint8Array;
			readonly packed: PackedFile;
	  }
	| { readonly kind: "gone"; readonly path: string };

/** A file that is known to be there, and of which nothing else is known. Without a hash it is tried again. */
export function failedFile(path: string, problem: string): FileOutcome & { kind: "parsed" } {
	const facts = { ...NOTHING, problem };
	const packed = packFile(facts, fileWords(path, "", facts));
	return { kind: "parsed", path, hash: new Uint8Array(), packed };
}

const NOTHING: FileFacts = {
	status: "broken",
	isModule: true,
	lines: 0,
	requests: [],
	bindings: [],
	exports: [],
	references: [],
	looseAccesses: new Map(),
};
