/** Clusters of up to this many UTF-16 units are never cut: longer than any emoji family or stacked syllable in use. */
export const longestCluster = 64;

/**
 * The last place in `(floor, at]` where no grapheme cluster of up to {@link longestCluster} units is cut. `floor` must
 * be 0 or an earlier result, and at least that many units before `at`.
 *
 * Looks at some 64 units whatever the size of the text; only a row of flags is followed further, to where it begins.
 */
export function clusterBoundary(text: string, floor: number, at: number): number {
	return boundaryBefore(text, floor, at) ?? placeWithin(text, at);
}

/** Whether this is a boundary between two clusters; `floor` as above, but at any distance. */
export function isClusterBoundary(text: string, floor: number, at: number): boolean {
	return boundaryBefore(text, floor, at) === at;
}

/** Whether a cut here would go between the two halves of one character. */
export function splitsPair(text: string, at: number): boolean {
	return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/** The last boundary in `(floor, at]`, if a cluster that reaches over `at` is not overlong. */
function boundaryBefore(text: string, floor: number, at: number): number | undefined {
	const anchor = anchorAt(text, floor, Math.max(floor, at - longestCluster));
	// Whether there is a boundary depends on what is before it and the one code point after it: hence the two units.
	const tail = text.slice(anchor, at + 2);
	const found = segmenter.segment(tail).containing(at - anchor)?.index ?? 0;
	return found > 0 ? anchor + found : undefined;
}

/** A place in an overlong cluster: not within a character, nor within a flag, lest all that follow are cut in half. */
function placeWithin(text: string, at: number): number {
	const place = splitsPair(text, at) ? at - 1 : at;
	const splitsFlag = isFlagLetter(text, place) && isFlagLetter(text, place - 2);
	return splitsFlag ? place - 2 : place;
}

/** Flags are pairs of these letters: only their number from the beginning of the row tells which belong together. */
function isFlagLetter(text: string, at: number): boolean {
	const low = text.charCodeAt(at + 1);
	return text.charCodeAt(at) === 0xd83c && low >= 0xdde6 && low <= 0xddff;
}

/**
 * The last place up to `at` from which segmenting may begin. Anywhere else the rules of Unicode (UAX #29) look back
 * within one cluster only: begun in its middle, segmenting can go wrong up to the end of that cluster, which reaches
 * over the place asked for only if it is overlong.
 */
function anchorAt(text: string, floor: number, at: number): number {
	let anchor = splitsPair(text, at) ? at - 1 : at;
	while (anchor > floor && isFlagLetter(text, anchor)) {
		anchor -= splitsPair(text, anchor - 1) ? 2 : 1;
	}
	return Math.max(anchor, floor);
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
