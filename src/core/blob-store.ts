import { homedir } from "node:os";
import { basename, join } from "node:path";
import { type Hash, isHash } from "./hash.ts";
import { createObjectStore, type StoreStats, type SweepResult } from "./object-store.ts";
import { configuredFolder } from "./places.ts";

/** The `blobs` settings, as far as the store needs them. */
export interface BlobSettings {
	readonly enabled: boolean;
	/** A leading `~` is the home folder; relative folders are taken from it too. */
	readonly dir: string;
	readonly maxBytes: number;
	readonly maxAgeDays: number;
}

/** A text that is kept: its sha256 and the file that holds it, which any tool can read. */
export interface Blob {
	readonly id: Hash;
	readonly path: string;
}

/** A text in the folder: the size of its file, and when it was kept or last used (ms since 1970). */
export interface StoredBlob extends Blob {
	readonly bytes: number;
	readonly usedMs: number;
}

/** Whether a text was kept; if not, `why` is a part of a sentence for people. */
export type KeepResult =
	| { readonly kind: "kept"; readonly blob: Blob }
	| { readonly kind: "not-kept"; readonly why: string };

/** What became of a text that was kept. */
export type LoadResult =
	| { readonly kind: "found"; readonly text: string }
	| { readonly kind: "missing" }
	| { readonly kind: "failed"; readonly why: string };

/**
 * Full copies of texts that are shown shortened, each in a file `<sha256>.txt` that only the user can read. Like
 * every store it may lose a copy, by age, by size or by a broken disk, and never loses one silently: no method
 * throws, and what is not there is said to be missing.
 */
export interface BlobStore {
	/** Keeps a text before it is shortened. A text that is kept already counts as used. */
	keep(text: string): Promise<KeepResult>;
	/** The text behind an id, proven to be the one that was kept; counts as a use. */
	load(id: string): Promise<LoadResult>;
	/** Drops what was not used for `maxAgeDays`, then the least recently used above `maxBytes`. */
	sweep(): Promise<SweepResult>;
	/** Deletes all texts. */
	clear(): Promise<SweepResult>;
	/** The texts kept or used last, newest first, at most so many. */
	latest(count: number): Promise<StoredBlob[]>;
	/** The id of the text that a file of the folder holds; `undefined` for every other path. Looks at the name only. */
	idOf(path: string): Hash | undefined;
	/** How much is kept, or why that cannot be told. */
	stats(): Promise<StoreStats>;
}

/** What the folder calls itself. */
export const BLOB_STORE = "blobs";

const EXTENSION = ".txt";
const DAY_MS = 24 * 60 * 60 * 1000;

/** The folder of the blobs. */
export function blobFolder({ dir }: Pick<BlobSettings, "dir">): string {
	return configuredFolder(dir, homedir());
}

/** Makes the store; nothing touches the disk before the first call. */
export function createBlobStore(settings: BlobSettings, now?: () => number): BlobStore {
	const folder = blobFolder(settings);
	const fileName = (hash: Hash) => `${hash}${EXTENSION}`;
	const pathOf = (hash: Hash) => join(folder, fileName(hash));
	const objects = createObjectStore({
		folder,
		name: BLOB_STORE,
		version: 1,
		fileName,
		// Pi-kota may keep answers in this form too; they are its own, and left alone.
		isLegacy: (entry) => entry.endsWith(".json") && isHash(entry.slice(0, -".json".length)),
		maxBytes: settings.maxBytes,
		maxAgeMs: settings.maxAgeDays * DAY_MS,
		...(now && { now }),
	});

	function idOf(path: string): Hash | undefined {
		const id = basename(path, EXTENSION);
		return isHash(id) && path === pathOf(id) ? id : undefined;
	}

	return {
		async keep(text) {
			if (!settings.enabled) return { kind: "not-kept", why: "blobs.enabled is false" };
			const put = await objects.put(Buffer.from(text));
			if (put.kind === "failed") return { kind: "not-kept", why: put.message };
			return { kind: "kept", blob: { id: put.hash, path: pathOf(put.hash) } };
		},
		async load(id) {
			if (!isHash(id)) return { kind: "missing" };
			const got = await objects.get(id);
			if (got.kind === "failed") return { kind: "failed", why: got.message };
			return got.kind === "found" ? { kind: "found", text: got.bytes.toString() } : got;
		},
		sweep: objects.sweep,
		clear: objects.clear,
		async latest(count) {
			const newest = (await objects.list()).sort((a, b) => b.usedMs - a.usedMs);
			return newest.slice(0, count).flatMap((file) => {
				const id = idOf(file.path);
				return id ? [{ ...file, id }] : [];
			});
		},
		idOf,
		stats: objects.stats,
	};
}
