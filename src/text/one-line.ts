/**
 * Untrusted text as one line: escapes line breaks and terminal controls, replaces lone surrogates.
 */
export function oneLine(text: string): string {
	if (/^[\x20-\x7e]*$/.test(text)) return text; // the usual case, ten times as fast
	return escaped(text.toWellFormed(), /[^\P{Cc}\t]|[\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu);
}

/** Writes each match of `characters` as in JSON: `\u001b`. */
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
