import type { FileId, ImportOf } from "../reader.ts";

/** What a list is read from. */
export interface ImportSource {
	/** The imports of all files, by file in rising order. */
	all(): readonly ImportOf[];
	/** Those of one file. */
	of(file: FileId): readonly ImportOf[];
}

/** Shorter lists are read from the database as quickly. */
const WORTHWHILE = 100;
/** Imports kept in all, at some 200 bytes each. */
const MAX_KEPT = 100_000;

/**
 * Long lists of the imports that ask a file for a name, kept while files change: only the imports of a file that has
 * changed are read again.
 */
export class ImportLists {
	readonly #lists = new Map<string, { all: readonly ImportOf[]; readonly stale: Set<FileId> }>();
	#kept = 0;

	/** The list of a key, from `source` as far as it is not known. */
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

	/** To be called for a file that has changed. */
	forget(file: FileId): void {
		for (const { stale } of this.#lists.values()) stale.add(file);
	}

	forgetAll(): void {
		this.#lists.clear();
		this.#kept = 0;
	}

	#keep(key: string, all: readonly ImportOf[]): readonly ImportOf[] {
		if (all.length < WORTHWHILE || all.length > MAX_KEPT) return all;
		if (this.#kept + all.length > MAX_KEPT) this.forgetAll();
		this.#lists.set(key, { all, stale: new Set() });
		this.#kept += all.length;
		return all;
	}
}

/** Two lists in rising order of files, which they have none in common, as one. */
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
