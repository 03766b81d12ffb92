import { VOID } from "./elements.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";

/**
 * XHTML as HTML: an element that closes itself gets an end tag. HTML reads `<script/>` as the beginning of a script, and the rest of the page as
 * its text.
 */
export function xhtmlToHtml(xhtml: string): string {
	const out: string[] = [];
	const tokens = new HtmlTokenizer(xhtml, { xml: true });
	let at = 0;
	for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
		if (kind !== "open" || !tokens.selfClosing || VOID.has(tokens.name)) continue;
		out.push(xhtml.slice(at, tokens.end - 2), `></${tokens.name}>`);
		at = tokens.end;
	}
	return at === 0 ? xhtml : out.join("") + xhtml.slice(at);
}
