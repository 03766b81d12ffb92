/**
 * The full text queries for words, the strictest first: files that have all of them just so, then files that have all
 * of them or something that begins with them, then files that have any. A word may be of several parts, divided by
 * spaces, which then all have to be there; it is the last part that may go on. The first query is also the quickest by
 * far, and enough for words that are in every file.
 */
export function textQueries(words: readonly string[]): readonly string[] {
	const exact = words.map((word) => term(word, "")).filter((text) => text !== "");
	const begun = words.map((word) => term(word, "*")).filter((text) => text !== "");
	if (begun.length === 0) return [];
	const all = [exact.join(" AND "), begun.join(" AND ")];
	return begun.length === 1 ? all : [...all, begun.join(" OR ")];
}

function term(word: string, end: "" | "*"): string {
	const parts = word.split(/\s+/).filter((part) => part !== "");
	if (parts.length === 0) return "";
	// In double quotes nothing is an operator of SQLite's query language.
	const quoted = parts.map((part) => `"${part.replaceAll('"', '""').replaceAll("\0", "")}"`);
	const text = quoted.join(" AND ") + end;
	return quoted.length === 1 ? text : `(${text})`;
}
