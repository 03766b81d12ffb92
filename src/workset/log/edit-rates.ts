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
