import { cut } from "../signature.ts";

/** First sentence of a comment's or docstring's first paragraph. */
export function firstSentence(text: string): string | undefined {
	const [paragraph = ""] = text.trim().split(/\n\s*\n/, 1);
	const line = paragraph.replace(/\s+/g, " ").trim();
	const sentence = /^.*?[.!?](?=\s+[A-Z`]|$)/.exec(line)?.[0] ?? line;
	return sentence === "" ? undefined : cut(sentence);
}

/** First sentence of the comment lines right before `offset`. `marker` matches what begins such a line. */
export function commentBefore(source: string, offset: number, marker: RegExp): string | undefined {
	let end = source.lastIndexOf("\n", offset - 1);
	// The comment of what begins the line is not that of what follows.
	if (source.slice(end + 1, offset).trim() !== "") return undefined;
	const lines: string[] = [];
	while (end > 0 && lines.length < MAX_LINES) {
		const start = source.lastIndexOf("\n", end - 1) + 1;
		const line = source.slice(start, end).trim();
		const found = marker.exec(line);
		if (!found) break;
		lines.unshift(line.slice(found[0].length).replace(XML_TAG, ""));
		end = start - 1;
	}
	return firstSentence(lines.join("\n"));
}

const MAX_LINES = 30;
/** What C# puts around the first sentences. */
const XML_TAG = /<\/?summary>/g;

/** First sentence of a block comment that ends right before `offset`. */
export function blockBefore(source: string, offset: number): string | undefined {
	let end = offset;
	while (end > 0 && source.charCodeAt(end - 1) <= 32) end--;
	if (!source.endsWith("*/", end)) return undefined;
	const start = source.lastIndexOf("/*", end - 3);
	if (start < 0) return undefined;
	const text = source.slice(start, end - 2).replace(/^[ \t]*\/?\*+[ \t]?/gm, "");
	return firstSentence(text.split(/^@/m, 1)[0] ?? "");
}
