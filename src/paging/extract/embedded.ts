import { imagedFormula } from "./formula.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapse, escapeTags, type PageLinks } from "./inline-text.ts";

/** The first attribute with a usable address is used, since lazy images have a placeholder in `src`. */
const IMAGE_SOURCES = ["src", "data-src", "data-original", "data-lazy-src"];

/** An image as Markdown, or the formula that it shows. An image without an address is its label. */
export function imageOf(
	tokens: HtmlTokenizer,
	links: PageLinks,
): { readonly markdown: string } | { readonly latex: string } {
	const alt = tokens.attribute("alt") ?? "";
	const latex = imagedFormula(alt, tokens.attribute("class") ?? "");
	if (latex !== undefined) return { latex };
	const label = escapeTags(collapse(alt).trim()).replace(/[[\]]/g, "\\$&");
	const target = IMAGE_SOURCES.map((name) => links.target(tokens.attribute(name) ?? "")).find(
		(found) => found !== undefined,
	);
	return { markdown: target === undefined ? label : `![${label}](${target})` };
}

/** A frame, video or sound as a link with its title, or nothing if it has no address. */
export function embeddedLink(
	tokens: HtmlTokenizer,
	links: PageLinks,
	name: string,
): string | undefined {
	const target = links.target(tokens.attribute("src") ?? "");
	const title = collapse(tokens.attribute("title") ?? "").trim();
	return target === undefined ? undefined : `[${escapeTags(title || name)}](${target})`;
}

/** The mark of a task's state, or nothing for other inputs. */
export function checkboxMark(tokens: HtmlTokenizer): string | undefined {
	if (tokens.attribute("type") !== "checkbox") return undefined;
	return tokens.attribute("checked") !== undefined ? "[x]" : "[ ]";
}
