/** A pattern for paths, cut at its slashes. `**` stands for any number of names, `*` and `?` stay within one. */
export type PathPattern = readonly string[];

/** Cuts a pattern for {@link matchesPath}; empty and `.` parts say nothing and are dropped. */
export function parsePathPattern(pattern: string): PathPattern {
	return pattern.split("/").filter((part) => part !== "" && part !== ".");
}

/**
 * Whether the names of a path match a pattern as a whole. The work is bounded by pattern times path, however hostile
 * they are: that is why it is not a regular expression.
 */
export function matchesPath(pattern: PathPattern, names: readonly string[]): boolean {
	let wantedAt = 0;
	let nameAt = 0;
	// Going back to the last `**` only is enough: an earlier one could take nothing that the last cannot.
	let starAt = -1;
	let takenUpTo = 0;
	while (nameAt < names.length) {
		const wanted = pattern[wantedAt];
		if (wanted === "**") {
			starAt = wantedAt++;
			takenUpTo = nameAt;
		} else if (wanted !== undefined && matchesName(wanted, names[nameAt] ?? "")) {
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

/**
 * Whether one name matches a pattern of `*`, `?`, `[a-z]`, `[!a-z]` and `\` before a character that is meant
 * literally. Bounded like {@link matchesPath}.
 */
export function matchesName(pattern: string, name: string): boolean {
	if (!/[*?[\\]/.test(pattern)) return pattern === name;
	let wantedAt = 0;
	let at = 0;
	let starAt = -1;
	let takenUpTo = 0;
	while (at < name.length) {
		const wanted = pattern[wantedAt];
		const length = wanted === "*" ? 0 : matchOne(pattern, wantedAt, name.charCodeAt(at));
		if (wanted === "*") {
			starAt = wantedAt++;
			takenUpTo = at;
		} else if (length > 0) {
			wantedAt += length;
			at++;
		} else if (starAt >= 0) {
			wantedAt = starAt + 1;
			at = ++takenUpTo;
		} else {
			return false;
		}
	}
	while (pattern[wantedAt] === "*") wantedAt++;
	return wantedAt === pattern.length;
}

/** How many characters of the pattern stand for this one character; 0 if they do not match it. */
function matchOne(pattern: string, at: number, code: number): number {
	const wanted = pattern[at];
	if (wanted === undefined) return 0;
	if (wanted === "?") return 1;
	if (wanted === "[") return matchClass(pattern, at, code);
	if (wanted === "\\") return pattern.charCodeAt(at + 1) === code ? 2 : 0;
	return wanted.charCodeAt(0) === code ? 1 : 0;
}

function matchClass(pattern: string, start: number, code: number): number {
	let at = start + 1;
	const negated = pattern[at] === "!" || pattern[at] === "^";
	if (negated) at++;
	let found = false;
	for (let isFirst = true; isFirst || pattern[at] !== "]"; isFirst = false) {
		// Without its end, a class matches nothing.
		if (at >= pattern.length) return 0;
		if (pattern[at] === "\\") at++;
		const low = pattern.charCodeAt(at++);
		let high = low;
		if (pattern[at] === "-" && at + 1 < pattern.length && pattern[at + 1] !== "]") {
			if (pattern[++at] === "\\") at++;
			high = pattern.charCodeAt(at++);
		}
		if (low <= code && code <= high) found = true;
	}
	return found === negated ? 0 : at + 1 - start;
}
