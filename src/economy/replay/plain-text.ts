import { collapsed } from "../../text/one-line.ts";
/**
 * Text out of a session file, harmless on a terminal: without control characters (colours, cursor movements, bells),
 * without marks that turn the direction of text, on one line and no longer than `maxLength`.
 */
export function plainText(text: string, maxLength = 120): string {
	const plain = collapsed(text.replace(UNSAFE, ""));
	return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1)}…`;
}

/**
 * Whole escape sequences first, so that their letters do not stay behind; then control, format, unassigned and private
 * characters. Line ends and tabs stay for the caller to turn into spaces.
 */
const UNSAFE =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be found
	/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
