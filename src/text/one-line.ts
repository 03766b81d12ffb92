/** Makes untrusted text one line: escapes line breaks and control characters, replaces lone surrogates. */
export function oneLine(text: string): string {
	if (/^[\x20-\x7e]*$/.test(text)) return text; // fast path for the usual case: ten times as fast
	return escaped(text.toWellFormed(), /[^\P{Cc}\t]|[\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu);
}

/** Replaces each match of `characters` with its JSON escape, such as `\u001b`. */
export function escaped(text: string, characters: RegExp): string {
	return text.replace(characters, (found) =>
		found
			.split("")
			.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
			.join(""),
	);
}

export function collapsed(text: string): string {
	return text.replaceAll(/\s+/g, " ").trim();
}

/** Makes untrusted text safe for a terminal: removes control and bidirectional characters. */
export function plainText(text: string, maxLength = 120): string {
	const plain = collapsed(text.replace(UNSAFE, ""));
	return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1)}…`;
}

/** Matches whole escape sequences first, so that none of their letters remain. Keeps line ends and tabs. */
const UNSAFE =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
	/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
