import { type CacheRules, type Ttl, writeRatioFor } from "../../economy/index.ts";

/**
 * How often files change: for each path, in what share of requests it was not what it had been in the request before.
 * What was seen long ago counts less, since work moves from file to file.
 */
export interface EditRates {
	/** Takes note of what a request shows. A path that was not in the request before is seen for the first time. */
	note(files: readonly { readonly path: string; readonly hash: string }[]): void;
	/** How likely it is that the file is another in the next request. */
	of(path: string): number;
}

interface Sightings {
	readonly hash: string;
	/** In how many requests after the first it was seen, and in how many of them with other text; faded. */
	readonly seen: number;
	readonly changed: number;
}

/** What an observation is worth a request later. */
const FADING = 0.96;

/** What is believed of a file before it was seen twice: as if it had changed so often in so many requests. */
const PRIOR = { seen: 4, changed: 0.2 };

/** Makes it for a session of which nothing was seen yet. */
export function createEditRates(): EditRates {
	let known = new Map<string, Sightings>();
	return {
		note(files) {
			// What is not shown is forgotten, so that this does not grow with the session.
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

/** What decides where the current text of a file costs least. */
export interface HeatTerms {
	/** p: how likely it is that the file changes from one request to the next. */
	readonly editRate: number;
	/** q: how likely it is that the next request finds the cache warm. */
	readonly warmShare: number;
	readonly rules: Pick<CacheRules, "readRatio" | "writeRatio" | "writeOneHourRatio">;
	readonly ttl?: Ttl;
}

/**
 * Whether a file belongs in the tail, where each of its tokens costs 1 in every request. In the log, with w and r the
 * prices of writing and reading, it costs w when the cache is cold or the file has changed, and r when neither. A change
 * leaves a dead copy as well, read for R more requests: (1 − q)·w + q·(p·(w + r·R) + (1 − p)·r). In a session without
 * pauses the file is hot from p = (1 − r) / (w − r + r·R) on.
 */
export function isHot({ editRate, warmShare, rules, ttl }: HeatTerms): boolean {
	const { readRatio } = rules;
	const write = writeRatioFor(ttl ?? "5m", rules);
	const changed = write + readRatio * DEAD_COPY_REQUESTS;
	const whileWarm = editRate * changed + (1 - editRate) * readRatio;
	return (1 - warmShare) * write + warmShare * whileWarm > 1;
}

/** R: for how many requests a dead copy stays in view. The cost hardly depends on it between 1 and 20. */
const DEAD_COPY_REQUESTS = 12;
