import { type NamePattern, type OnStep, parseNamePattern } from "./name-pattern.ts";

/** A pattern for paths, cut at its slashes. `**` stands for any number of names, `*` and `?` stay within one. */
export type PathPattern = readonly ("**" | NamePattern)[];

/** Parses a pattern for {@link matchesPath}; empty and `.` parts say nothing and are dropped. */
export function parsePathPattern(pattern: string): PathPattern {
	return pathPatternOf(pattern.split("/").filter((part) => part !== "" && part !== "."));
}

/** The pattern of parts that are cut already. */
export function pathPatternOf(parts: readonly string[]): PathPattern {
	return parts.map((part) => (part === "**" ? part : parseNamePattern(part)));
}

/**
 * Whether the names of a path match a pattern as a whole. The work is bounded by pattern times path, however hostile
 * they are: that is why it is not a regular expression. `onStep` gets the steps that each comparison of a name takes.
 */
export function matchesPath(
	pattern: PathPattern,
	names: readonly string[],
	onStep?: OnStep,
): boolean {
	let wantedAt = 0;
	let nameAt = 0;
	// Going back to the last `**` only is enough: an earlier one could take nothing that the last cannot.
	let starAt = -1;
	let takenUpTo = 0;
	while (nameAt < names.length) {
		const wanted = pattern[wantedAt];
		if (wanted !== "**") onStep?.(wanted?.steps ?? 1);
		if (wanted === "**") {
			starAt = wantedAt++;
			takenUpTo = nameAt;
		} else if (wanted?.matches(names[nameAt] ?? "", onStep)) {
			wantedAt++;
			nameAt++;
		} else if (starAt >= 0) {
			wantedAt = starAt + 1;
			nameAt = ++takenUpTo;
		} else {
			return false;
		}
	}
	while (pattern[wantedAt] === "**") wantedAt++;
	return wantedAt === pattern.length;
}
