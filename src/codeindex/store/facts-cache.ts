import type { Binding, Reference } from "../facts.ts";
import type { BindingRef, FileId, ImportOf } from "../reader.ts";
import type { LinkFacts } from "./records.ts";
import { unpackReferences } from "./references.ts";

/** Decoded files, at a few KB each. */
const MAX_FILES = 4_000;
/** Stored as bytes: 10,000 files take 8 MB. */
const MAX_REFERENCE_BYTES = 32 * 1024 * 1024;
/** At some 120 bytes each. */
const MAX_DECODED = 200_000;

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

	references(file: FileId): Uint8Array | undefined {
		return this.#references.get(file);
	}

	keepReferences(file: FileId, bytes: Uint8Array): void {
		if (this.#referenceBytes + bytes.length > MAX_REFERENCE_BYTES) this.#forgetReferences();
		this.#references.set(file, bytes);
		this.#referenceBytes += bytes.length;
	}

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

/** Evicts the least recently used. */
function remembered<T>(kept: Map<FileId, T>, file: FileId, decode: () => T): T {
	const found = kept.get(file);
	const value = found ?? decode();
	if (found !== undefined) kept.delete(file);
	else if (kept.size >= MAX_FILES) kept.delete(kept.keys().next().value as FileId);
	kept.set(file, value);
	return value;
}

export interface ImportSource {
	all(): readonly ImportOf[];
	of(file: FileId): readonly ImportOf[];
}

/** Shorter lists are read from the database just as fast. */
const LONG_LIST = 100;
/** In total, at some 200 bytes each. */
const MAX_IMPORTS = 100_000;

/** Long import lists. After a change, only the changed file's imports are reread. */
export class ImportLists {
	readonly #lists = new Map<string, { all: readonly ImportOf[]; readonly stale: Set<FileId> }>();
	#kept = 0;

	get(key: string, source: ImportSource): readonly ImportOf[] {
		const list = this.#lists.get(key);
		if (!list) return this.#keep(key, source.all());
		if (list.stale.size === 0) return list.all;
		const files = [...list.stale].sort((one, other) => one - other);
		const renewed = files.flatMap((file) => source.of(file));
		const lasting = list.all.filter(({ file }) => !list.stale.has(file));
		this.#kept += lasting.length + renewed.length - list.all.length;
		list.all = merged(lasting, renewed);
		list.stale.clear();
		return list.all;
	}

	forget(file: FileId): void {
		for (const { stale } of this.#lists.values()) stale.add(file);
	}

	forgetAll(): void {
		this.#lists.clear();
		this.#kept = 0;
	}

	#keep(key: string, all: readonly ImportOf[]): readonly ImportOf[] {
		if (all.length < LONG_LIST || all.length > MAX_IMPORTS) return all;
		if (this.#kept + all.length > MAX_IMPORTS) this.forgetAll();
		this.#lists.set(key, { all, stale: new Set() });
		this.#kept += all.length;
		return all;
	}
}

function merged(one: readonly ImportOf[], other: readonly ImportOf[]): readonly ImportOf[] {
	if (other.length === 0) return one;
	const all: ImportOf[] = [];
	let at = 0;
	for (const item of one) {
		for (let next = other[at]; next && next.file < item.file; next = other[at]) {
			all.push(next);
			at++;
		}
		all.push(item);
	}
	return [...all, ...other.slice(at)];
}
