/**
 * How often files change: for each path, in what share of requests it was not what it had been in the request before.
 * What was seen long ago counts less, since work moves from file to file.
 */
export interface EditRates {
	/** Takes note of what a request shows. A path that was not in the request before is seen for the first time. */
	note(files: readonly { readonly path: string; readonly hash: string }[]): void;
	/** How likely it is that the file is another in the next request. */
	of(path: string): number;
	toJSON(): EditRatesState;
}

/** For each path: its hash, and how many requests and changes were seen, faded. */
export type EditRatesState = Readonly<
	Record<string, readonly [hash: string, seen: number, changed: number]>
>;

/** What an observation is worth a request later. */
const FADING = 0.96;

/** What is believed of a file before it was seen twice: as if it had changed so often in so many requests. */
const PRIOR = { seen: 4, changed: 0.2 };

export function createEditRates(state: EditRatesState = {}): EditRates {
	const known = new Map(Object.entries(state));
	return {
		note(files) {
			for (const { path, hash } of files) {
				const [before, seen, changed] = known.get(path) ?? [hash, -1, 0];
				const isNew = seen < 0;
				known.set(path, [
					hash,
					isNew ? 0 : seen * FADING + 1,
					isNew ? 0 : changed * FADING + (before === hash ? 0 : 1),
				]);
			}
		},
		of(path) {
			const [, seen, changed] = known.get(path) ?? ["", 0, 0];
			return (changed + PRIOR.changed) / (seen + PRIOR.seen);
		},
		toJSON: () => Object.fromEntries(known),
	};
}
