import type { Config } from "../core/settings.ts";
import type { BirthParts } from "./birth.ts";
import { defaultBirth } from "./settings.ts";

export type BirthConfig = Omit<Config["birth"], "mode">;

/** The parameters of the engine for a user's settings. */
export function partsFor({ minLines, minChars, minTokens, quiet }: BirthConfig): BirthParts {
	const minSavedTokens = minTokens;
	return {
		dedupe: { ...defaultBirth.dedupe, minLines, minChars, minSavedTokens },
		...(quiet === "on" && { quiet: { ...defaultBirth.quiet, minSavedTokens } }),
	};
}
