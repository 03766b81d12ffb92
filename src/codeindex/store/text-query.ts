/**
 * The full text queries for words, the strictest first: files that have all of them, then files that have any.
 * A word may be of several parts, divided by spaces, which then all have to be there; its last part may go on.
 */
export function textQueries(words: readonly string[]): readonly string[] {
	const terms = words.map(term).filter((text) => text !== "");
	if (terms.length === 0) return [];
	if (terms.length === 1) return terms;
	return [terms.join(" AND "), terms.join(" OR ")];
}

function term(word: string): string {
	const parts = word.split(/\s+/).filter((part) => part !== "");
	if (parts.length === 0) return "";
	// In double quotes nothing is an operator of SQLite's query language.
	const quoted = parts.map((part) => `"${part.replaceAll('"', '""').replaceAll("\0", "")}"`);
	const text = `${quoted.join(" AND ")}*`;
	return quoted.length === 1 ? text : `(${text})`;
}
