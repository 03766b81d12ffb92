import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { CODE_INDEX_STORE, codeIndexFolder } from "../codeindex/index.ts";
import { BLOB_STORE, blobFolder } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { readCacheFolder } from "../readcache/index.ts";
import { counted, megabytes } from "../text/figures.ts";
import { TIER_STORE, tierStateFolder } from "../tiers/index.ts";

/** A folder pi-strata writes to and can rebuild when needed. */
export interface Store {
	name: string;
	folder: string;
	/** What deleting it costs the user, in a few words. */
	loss: string;
}

export interface MeasuredStore extends Store {
	/** `foreign`: the folder lacks this store's version file, so it is left alone. */
	state: "absent" | "ours" | "foreign";
	files: number;
	bytes: number;
	note: string;
}

/** Every store this version writes, also in its default folder if another one is configured. */
export function knownStores(config: Config, cwd: string): Store[] {
	const folders = [config.readcache, { ...config.readcache, storeDir: "" }].map((settings) =>
		readCacheFolder(settings, cwd),
	);
	return [
		...[...new Set(folders)].map((folder) => ({
			name: "readcache",
			folder,
			loss: "the next changed file is sent whole instead of as a diff",
		})),
		{
			name: BLOB_STORE,
			folder: blobFolder(config.blobs),
			loss: "shortened answers and pruned results can no longer be read in full",
		},
		{
			name: TIER_STORE,
			folder: tierStateFolder(cwd),
			loss: "working files count as new, and rise through the tiers again",
		},
		{
			name: CODE_INDEX_STORE,
			folder: codeIndexFolder(),
			loss: "every project is indexed anew when it is next asked about",
		},
	];
}

/** Never throws: unreadable content counts as nothing. */
export async function measureStore(store: Store): Promise<MeasuredStore> {
	const state = await stateOf(store);
	if (state === "absent") return { ...store, state, files: 0, bytes: 0, note: "empty" };
	const { files, bytes } = await sizeOf(store.folder);
	const size = `${counted(files, "file")}, ${formatBytes(bytes)}`;
	return {
		...store,
		state,
		files,
		bytes,
		note: state === "ours" ? size : `${size}, not made by pi-strata`,
	};
}

async function stateOf(store: Store): Promise<MeasuredStore["state"]> {
	try {
		await stat(store.folder);
	} catch {
		return "absent";
	}
	try {
		// A repository can bring this file: a link to a device or a pipe must not block.
		const file = await readRegularFile(join(store.folder, "version.json"), 4096);
		if (file.kind !== "read") return "foreign";
		const marker: unknown = JSON.parse(file.bytes.toString());
		return (marker as { store?: unknown } | null)?.store === store.name ? "ours" : "foreign";
	} catch {
		return "foreign"; // no readable version file: not provably ours
	}
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
	const total = { files: 0, bytes: 0 };
	try {
		for await (const entry of await opendir(folder, { recursive: true })) {
			if (!entry.isFile()) continue;
			const info = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
			total.files += 1;
			total.bytes += info?.size ?? 0;
		}
	} catch {
		// A folder that vanishes or cannot be read meanwhile: report what was counted.
	}
	return total;
}

function formatBytes(bytes: number): string {
	if (bytes < 1024) return `${bytes} B`;
	if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KB`;
	return megabytes(bytes);
}
