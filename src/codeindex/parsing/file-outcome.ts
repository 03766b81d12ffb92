import { fileWords } from "../extract/words.ts";
import type { FileFacts } from "../facts.ts";
import { type PackedFile, packFile } from "../store/packed-file.ts";

export type FileOutcome =
	| {
			readonly kind: "parsed";
			readonly path: string;
			readonly hash: Uint8Array;
			readonly packed: PackedFile;
	  }
	| { readonly kind: "gone"; readonly path: string };

/** For a file that cannot be read or parsed. Without a hash, the file is retried. */
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
