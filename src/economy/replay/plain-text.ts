import { collapsed } from "../../text/one-line.ts";
/** Makes untrusted text safe for a terminal: no control or bidirectional characters. */
export function plainText(text: string, maxLength = 120): string {
	const plain = collapsed(text.replace(UNSAFE, ""));
	return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1)}…`;
}

/** Whole escape sequences first, so that no letters of them remain. Line ends and tabs stay. */
const UNSAFE =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be found
	/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
