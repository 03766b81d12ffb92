import { property } from "../core/property.ts";
import { matchesAll, type Wildcard } from "../text/wildcard.ts";

/** Bounds the cost of a comparison, since the model writes the command. */
const MAX_COMPARED = 4096;

/** Matches the calls of commands whose output stays as it is. `*` in a pattern matches any text. */
export function createLoudMatcher(patterns: readonly string[]): (input: unknown) => boolean {
	const compiled = patterns.map((pattern) =>
		Array.from(pattern.trim(), (wanted): Wildcard<string> => {
			return wanted === "*" ? "**" : { matches: (character) => character === wanted };
		}),
	);
	return (input) => {
		const command = property(input, "command") ?? property(input, "cmd");
		if (compiled.length === 0 || typeof command !== "string") return false;
		const characters = Array.from(command.trim().slice(0, MAX_COMPARED));
		return compiled.some((pattern) => matchesAll(pattern, characters));
	};
}
