import type { Binding, Export, Request } from "../facts.ts";
import type { FileId, Resolution } from "../reader.ts";

/** What is decoded together of a file. */
export interface LinkFacts {
	readonly exports: readonly Export[];
	readonly requests: readonly Request[];
	readonly resolutions: readonly Resolution[];
}

/** So many files are kept decoded, at a few KB each. */
const MAX_FILES = 4_000;

/** Facts that were decoded, kept until their file changes: most questions come back to the same files. */
export class FactsCache {
	readonly #bindings = new Map<FileId, readonly Binding[]>();
	readonly #links = new Map<FileId, LinkFacts>();

	bindings(file: FileId, decode: () => readonly Binding[]): readonly Binding[] {
		return remembered(this.#bindings, file, decode);
	}

	links(file: FileId, decode: () => LinkFacts): LinkFacts {
		return remembered(this.#links, file, decode);
	}

	forget(file: FileId): void {
		this.#bindings.delete(file);
		this.#links.delete(file);
	}

	forgetAll(): void {
		this.#bindings.clear();
		this.#links.clear();
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
