/**
 * Names the algorithm with its form of references and folds. A conversation that began under one
 * version keeps it, since another version may shorten the same results differently.
 */
export const BIRTH_VERSION = 1;

/** All lengths are in UTF-16 units. */
export interface BirthSettings {
	readonly dedupe: DedupeSettings;
	readonly quiet: QuietSettings;
}

export interface DedupeSettings {
	/** A run of repeated lines has at least this many lines and characters, line ends included. */
	readonly minLines: number;
	readonly minChars: number;
	/** A result that would save less stays as it is. */
	readonly minSavedTokens: number;
	/** How many places of equal lines are compared, the newest first. */
	readonly maxPlaces: number;
	/** Bounds of memory. The oldest results are evicted: later ones do not refer to them. */
	readonly maxIndexedLines: number;
	readonly maxIndexedChars: number;
	readonly maxIndexedResults: number;
}

export interface QuietSettings {
	/** Equal lines in a row, from which on they are folded. */
	readonly minEqual: number;
	/** The same for lines that are equal up to their numbers. */
	readonly minSimilar: number;
	/** The last lines of an output, which are never folded. */
	readonly tail: number;
	/** Lines before and after a line that reports a problem, which are never folded. */
	readonly near: number;
	/** An output that would save less stays as it is. */
	readonly minSavedTokens: number;
}

export const defaultBirth: BirthSettings = {
	dedupe: {
		minLines: 6,
		minChars: 300,
		minSavedTokens: 25,
		maxPlaces: 16,
		maxIndexedLines: 262_144,
		maxIndexedChars: 8_000_000,
		maxIndexedResults: 16_384,
	},
	quiet: { minEqual: 4, minSimilar: 8, tail: 20, near: 2, minSavedTokens: 25 },
};
