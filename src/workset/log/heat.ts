import { type CacheRules, type Ttl, writeRatioFor } from "../../economy/index.ts";

/** Share of requests in which a path changed. Observations fade: work moves between files. */
export interface EditRates {
	/** A path that was not in the previous request counts as new. */
	note(files: readonly { readonly path: string; readonly hash: string }[]): void;
	/** Probability of another text in the next request. */
	of(path: string): number;
}

interface Sightings {
	readonly hash: string;
	/** Faded counts, without the first sighting. */
	readonly seen: number;
	readonly changed: number;
}

/** Weight of an observation per request passed. */
const FADING = 0.96;

/** Prior for a new file. */
const PRIOR = { seen: 4, changed: 0.2 };

export function createEditRates(): EditRates {
	let known = new Map<string, Sightings>();
	return {
		note(files) {
			// Drops paths that are not shown, to bound the memory.
			known = new Map(
				files.map(({ path, hash }) => [path, { hash, ...noted(known.get(path), hash) }]),
			);
		},
		of(path) {
			const { seen, changed } = known.get(path) ?? UNSEEN;
			return (changed + PRIOR.changed) / (seen + PRIOR.seen);
		},
	};
}

const UNSEEN = { seen: 0, changed: 0 };

function noted(before: Sightings | undefined, hash: string): Omit<Sightings, "hash"> {
	if (!before) return UNSEEN;
	const { seen, changed } = before;
	return {
		seen: seen * FADING + 1,
		changed: changed * FADING + (before.hash === hash ? 0 : 1),
	};
}

export interface HeatTerms {
	/** p: probability that the file changes from one request to the next. */
	readonly editRate: number;
	/** q: probability that the next request finds the cache warm. */
	readonly warmShare: number;
	readonly rules: Pick<CacheRules, "readRatio" | "writeRatio" | "writeOneHourRatio">;
	readonly ttl?: Ttl;
}

/**
 * Whether a file belongs in the tail, where each token costs 1 per request. In the log, with prices
 * w to write and r to read, it costs w when cold or changed, else r; a change also leaves a dead
 * copy, read for R more requests: (1 − q)·w + q·(p·(w + r·R) + (1 − p)·r). With q = 1 the file is
 * hot from p = (1 − r) / (w − r + r·R) on.
 */
export function isHot({ editRate, warmShare, rules, ttl }: HeatTerms): boolean {
	const { readRatio } = rules;
	const write = writeRatioFor(ttl ?? "5m", rules);
	const changed = write + readRatio * DEAD_COPY_REQUESTS;
	const whileWarm = editRate * changed + (1 - editRate) * readRatio;
	return (1 - warmShare) * write + warmShare * whileWarm > 1;
}

/** R: requests a dead copy stays in view. The cost hardly depends on it between 1 and 20. */
const DEAD_COPY_REQUESTS = 12;
