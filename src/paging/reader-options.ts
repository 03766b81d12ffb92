import type { Config } from "../core/config.ts";
import type { ReaderOptions } from "./reader.ts";

/** A reader's options from the user's settings. */
export function readerOptions({ paging }: Config, root: string): ReaderOptions {
	return {
		root,
		allowRanges: paging.allowRanges,
		useProxy: paging.useProxy,
		ttlMs: paging.ttlMinutes * 60_000,
		maxEntries: paging.maxEntries,
		maxCacheBytes: paging.maxCacheBytes,
		maxBytes: paging.maxWebBytes,
		maxPdfBytes: paging.maxPdfBytes,
		timeoutMs: paging.timeoutSeconds * 1000,
		extractMs: paging.extractSeconds * 1000,
	};
}
