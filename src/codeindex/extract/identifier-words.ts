/** Maximum word length, in characters. Longer words are hashes or data. */
const MAX_WORD = 40;
export const MAX_IDENTIFIER = 4 * MAX_WORD;

/** `getUserName` gives `get`, `user`, `name` and `getusername`. */
export function identifierWords(identifier: string): string[] {
	if (identifier.length > MAX_IDENTIFIER) return [];
	const parts = partsOf(identifier);
	// `utf8` also yields `utf`.
	const stems = parts.map((part) => part.replace(/\p{N}+$/u, ""));
	const words: string[] = [];
	for (const text of [...parts, ...stems, parts.join("")]) {
		const word = text.toLowerCase();
		if (word !== "" && word.length <= MAX_WORD && !words.includes(word)) words.push(word);
	}
	return words;
}

/** `HTTPServer2_main` becomes `HTTP`, `Server2`, `main`. */
function partsOf(identifier: string): readonly string[] {
	// Fast path for ASCII: Unicode classes are far slower.
	if (/^[\w$]*$/.test(identifier)) {
		return identifier.match(/[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+/g) ?? [];
	}
	return identifier
		.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
		.replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
		.split(/[ _$]+/)
		.filter((part) => part !== "");
}
