import type { Binding, Export, Reference, Request } from "../facts.ts";
import type { BindingRef, FileId, Resolution } from "../reader.ts";
import { ImportLists } from "./import-lists.ts";
import { unpackReferences } from "./references.ts";

/** What is decoded together of a file. */
export interface LinkFacts {
	readonly exports: readonly Export[];
	readonly requests: readonly Request[];
	readonly resolutions: readonly Resolution[];
}

/** So many files are kept decoded, at a few KB each. */
const MAX_FILES = 4_000;
/** References are kept as they are stored: those of 10,000 files take 8 MB. */
const MAX_REFERENCE_BYTES = 32 * 1024 * 1024;
/** References that are kept decoded, at some 120 bytes each: those of the symbols that most files use. */
const MAX_DECODED = 200_000;

/** Facts that were decoded, kept until their file changes: most questions come back to the same files. */
export class FactsCache {
	readonly #bindings = new Map<FileId, readonly Binding[]>();
	readonly #links = new Map<FileId, LinkFacts>();
	readonly #references = new Map<FileId, Uint8Array>();
	#referenceBytes = 0;
	readonly #decoded = new Map<FileId, Map<number, readonly Reference[]>>();
	#decodedCount = 0;
	readonly imports = new ImportLists();

	bindings(file: FileId, decode: () => readonly Binding[]): readonly Binding[] {
		return remembered(this.#bindings, file, decode);
	}

	links(file: FileId, decode: () => LinkFacts): LinkFacts {
		return remembered(this.#links, file, decode);
	}

	/** The packed references of a file, if they are kept. */
	references(file: FileId): Uint8Array | undefined {
		return this.#references.get(file);
	}

	keepReferences(file: FileId, bytes: Uint8Array): void {
		if (this.#referenceBytes + bytes.length > MAX_REFERENCE_BYTES) this.#forgetReferences();
		this.#references.set(file, bytes);
		this.#referenceBytes += bytes.length;
	}

	/** The references to one binding, from the packed ones of its file. */
	decodedReferences({ file, binding }: BindingRef, packed: Uint8Array): readonly Reference[] {
		const known = this.#decoded.get(file)?.get(binding);
		if (known) return known;
		const references = unpackReferences(packed, binding);
		if (this.#decodedCount + references.length > MAX_DECODED) this.#forgetDecoded();
		const ofFile = this.#decoded.get(file);
		if (ofFile) ofFile.set(binding, references);
		else this.#decoded.set(file, new Map([[binding, references]]));
		this.#decodedCount += references.length;
		return references;
	}

	forget(file: FileId): void {
		this.#bindings.delete(file);
		this.#links.delete(file);
		this.#referenceBytes -= this.#references.get(file)?.length ?? 0;
		this.#references.delete(file);
		for (const { length } of this.#decoded.get(file)?.values() ?? []) this.#decodedCount -= length;
		this.#decoded.delete(file);
		this.imports.forget(file);
	}

	forgetAll(): void {
		this.#bindings.clear();
		this.#links.clear();
		this.#forgetReferences();
		this.imports.forgetAll();
	}

	#forgetReferences(): void {
		this.#references.clear();
		this.#referenceBytes = 0;
		this.#forgetDecoded();
	}

	#forgetDecoded(): void {
		this.#decoded.clear();
		this.#decodedCount = 0;
	}
}

/** The one asked for longest ago goes first. */
function remembered<T>(kept: Map<FileId, T>, file: FileId, decode: () => T): T {
	const found = kept.get(file);
	const value = found ?? decode();
	if (found !== undefined) kept.delete(file);
	else if (kept.size >= MAX_FILES) kept.delete(kept.keys().next().value as FileId);
	kept.set(file, value);
	return value;
}
