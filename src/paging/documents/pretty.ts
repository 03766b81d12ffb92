/** Deeper values are not indented further, since the indentation would outgrow the text. */
const MAX_DEPTH = 40;

/** Whether the text is JSON or XML on one line, too long to be read. */
export function isOneLine(text: string): boolean {
	return (
		text.length > 200 &&
		/^\s*[[{<]/.test(text.slice(0, 100)) &&
		!text.trimEnd().slice(0, 100_000).includes("\n")
	);
}

/** Indents JSON without changing its tokens: numbers keep their digits, keys their order. */
export function prettyJson(text: string): string {
	const out: string[] = [];
	let depth = 0;
	const newLine = () => `\n${"  ".repeat(Math.min(depth, MAX_DEPTH))}`;
	for (const [token = ""] of text.matchAll(JSON_TOKENS)) {
		const before = out.at(-1) ?? "";
		if (token === "{" || token === "[") {
			depth++;
			out.push(token, newLine());
		} else if (token === "}" || token === "]") {
			depth = Math.max(0, depth - 1);
			const isEmpty = /^\n/.test(before) && /^[[{]$/.test(out.at(-2) ?? "");
			if (isEmpty) out.pop();
			out.push(isEmpty ? token : newLine() + token);
		} else if (token === ",") out.push(",", newLine());
		else out.push(token === ":" ? ": " : token);
	}
	return out.join("");
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"?|[[\]{},:]|[^\s"[\]{},:]+/gs;

/** Puts each element of XML on a line of its own, unless it holds text. */
export function prettyXml(text: string): string {
	const out: string[] = [];
	let depth = 0;
	let isAfterText = false;
	for (const [token = ""] of text.matchAll(XML_TOKENS)) {
		if (!token.startsWith("<")) {
			if (token.trim() === "") continue;
			out.push(token);
			isAfterText = true;
			continue;
		}
		const isEnd = token.startsWith("</");
		if (isEnd) depth = Math.max(0, depth - 1);
		const isOpened = isEnd && out.at(-1)?.startsWith(`<${token.slice(2, -1).trim()}`) === true;
		if (out.length > 0 && !isAfterText && !isOpened)
			out.push(`\n${"  ".repeat(Math.min(depth, MAX_DEPTH))}`);
		out.push(token);
		isAfterText = false;
		if (!isEnd && !/^<[!?]|\/>$/.test(token)) depth++;
	}
	return out.join("");
}

const XML_TOKENS = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<[^>]*>|[^<]+|</g;
