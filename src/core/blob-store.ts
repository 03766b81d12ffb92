import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { Config } from "./config.ts";
import { type Hash, hashBytes, isHash } from "./hash.ts";
import { ObjectStore } from "./object-store.ts";
import { configuredFolder } from "./places.ts";

export type BlobSettings = Omit<Config["blobs"], "scope">;

export interface Blob {
	readonly id: Hash;
	readonly path: string;
}

type KeepResult =
	| { readonly kind: "kept"; readonly blob: Blob }
	| { readonly kind: "not-kept"; readonly why: string };

type LoadResult =
	| { readonly kind: "found"; readonly text: string }
	| { readonly kind: "missing" }
	| { readonly kind: "failed"; readonly why: string };

export type BlobStore = ReturnType<typeof createBlobStore>;

/** The store's name in its `version.json`. */
export const BLOB_STORE = "blobs";

const EXTENSION = ".txt";
const DAY_MS = 24 * 60 * 60 * 1000;

export function blobFolder({ dir }: Pick<BlobSettings, "dir">): string {
	return configuredFolder(dir, homedir());
}

/** Stores full copies of shortened texts, readable by the user only. Evicts by age and size. Never throws. */
export function createBlobStore(settings: BlobSettings, now?: () => number) {
	const folder = blobFolder(settings);
	const fileName = (hash: Hash) => `${hash}${EXTENSION}`;
	const pathOf = (hash: Hash) => join(folder, fileName(hash));
	const objects = new ObjectStore({
		folder,
		name: BLOB_STORE,
		version: 1,
		fileName,
		// pi-kota may have stored answers under these names. The store leaves such files alone.
		isLegacy: (entry) => entry.endsWith(".json") && isHash(entry.slice(0, -".json".length)),
		maxBytes: settings.maxBytes,
		maxAgeMs: settings.maxAgeDays * DAY_MS,
		...(now && { now }),
	});

	/** Returns the id in a blob's path, or `undefined` for any other path. Does not access the disk. */
	function idOf(path: string): Hash | undefined {
		const id = basename(path, EXTENSION);
		return isHash(id) && path === pathOf(id) ? id : undefined;
	}

	return {
		/** The id and path of a text, whether or not it is stored. Does not access the disk. */
		nameOf(text: string): Blob {
			const id = hashBytes(text);
			return { id, path: pathOf(id) };
		},
		async keep(text: string): Promise<KeepResult> {
			if (!settings.enabled) return { kind: "not-kept", why: "blobs.enabled is false" };
			const put = await objects.put(Buffer.from(text));
			if (put.kind === "failed") return { kind: "not-kept", why: put.message };
			return { kind: "kept", blob: { id: put.hash, path: pathOf(put.hash) } };
		},
		/** Verifies the hash, and records a use, which delays eviction. */
		async load(id: string): Promise<LoadResult> {
			if (!isHash(id)) return { kind: "missing" };
			const got = await objects.get(id);
			if (got.kind === "failed") return { kind: "failed", why: got.message };
			return got.kind === "found" ? { kind: "found", text: got.bytes.toString() } : got;
		},
		/** Evicts texts unused for `maxAgeDays`, then the least recently used above `maxBytes`. */
		sweep: () => objects.sweep(),
		clear: () => objects.clear(),
		/** Most recently used first. */
		async latest(count: number) {
			const newest = (await objects.list()).sort((a, b) => b.usedMs - a.usedMs);
			return newest.slice(0, count).flatMap((file) => {
				const id = idOf(file.path);
				return id ? [{ ...file, id }] : [];
			});
		},
		idOf,
		stats: () => objects.stats(),
	};
}

/** Reads the stored copy back, since an existing copy may be damaged. Returns why it is not stored. */
export async function storeVerified(text: string, blobs: BlobStore): Promise<Blob | string> {
	for (let attempt = 1; ; attempt++) {
		const kept = await blobs.keep(text);
		if (kept.kind === "not-kept") return kept.why;
		const loaded = await blobs.load(kept.blob.id);
		if (loaded.kind === "found" && loaded.text === text) return kept.blob;
		// Loading deletes a damaged copy, so the next attempt stores a new one.
		if (attempt === 2)
			return loaded.kind === "failed" ? loaded.why : "the stored copy differs from the text";
	}
}
