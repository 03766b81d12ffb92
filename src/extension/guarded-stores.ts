import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { BlobStore } from "../core/blob-store.ts";
import { hashBytes } from "../core/hash.ts";
import type { ObjectStore } from "../core/object-store.ts";
import { projectRoot } from "../core/places.ts";
import { createExcludedValues, type ExcludedValues } from "../readcache/index.ts";
import type { ConfigFor } from "./system.ts";

/** What the excluded files of a session's project hold. */
export type ValuesFor = (ctx: ExtensionContext) => ExcludedValues;

const WHY = "it holds a value of a file on readcache.exclude";

/** One for each working folder in turn, shared by all that stores texts. */
export function createValuesFor(configFor: ConfigFor): ValuesFor {
	let open: { cwd: string; exclude: readonly string[]; values: ExcludedValues } | undefined;
	return (ctx) => {
		const { cwd } = ctx;
		const { exclude } = configFor(ctx).config.readcache;
		if (open?.cwd !== cwd || open.exclude !== exclude) {
			open = { cwd, exclude, values: createExcludedValues({ root: projectRoot(cwd), exclude }) };
		}
		return open.values;
	};
}

/** A store of texts that takes none with a value of an excluded file in it. */
export function guardBlobs(blobs: BlobStore, values: ExcludedValues): BlobStore {
	return {
		...blobs,
		async keep(text) {
			await values.refresh();
			return values.appearIn(text) ? { kind: "not-kept", why: WHY } : await blobs.keep(text);
		},
	};
}

/** The same for file versions: a copy of an excluded file may have any name. */
export function guardObjects(store: ObjectStore, values: ExcludedValues): ObjectStore {
	return {
		...store,
		async put(bytes, hash) {
			await values.refresh();
			if (!values.appearIn(Buffer.from(bytes).toString())) return await store.put(bytes, hash);
			return { kind: "failed", reason: "excluded", message: WHY, hash: hash ?? hashBytes(bytes) };
		},
	};
}
