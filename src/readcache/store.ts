import { join } from "node:path";
import type { Config } from "../core/config.ts";
import { type ExcludedValues, refuseExcluded } from "../core/excluded-values.ts";
import { ObjectStore } from "../core/object-store.ts";
import { configuredFolder, projectRoot } from "../core/places.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The configured folder, or `.pi/readcache` at the git root or in the working folder. */
export function readCacheFolder({ storeDir }: Config["readcache"], cwd: string): string {
	return configuredFolder(storeDir || join(".pi", "readcache"), projectRoot(cwd));
}

/** Does not access the disk before its first use. Refuses versions that contain excluded `values`. */
export function createReadCacheStore(
	settings: Config["readcache"],
	cwd: string,
	values?: ExcludedValues,
): ObjectStore {
	return new ObjectStore({
		folder: readCacheFolder(settings, cwd),
		name: "readcache",
		version: 1,
		maxBytes: settings.storeMaxBytes,
		maxAgeMs: settings.storeMaxAgeDays * DAY_MS,
		maxObjectBytes: settings.maxFileBytes,
		...(values && { refuse: refuseExcluded(values) }),
	});
}
