import { LINE_NUMBER_CLASSES, names } from "./elements.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";

/** Whether the element that `tokens` just opened has no text to read: drawings, templates, line numbers of code. */
export function isUnreadable(tokens: HtmlTokenizer): boolean {
	const { name } = tokens;
	// A template for the shadow of an element is what that element shows.
	if (NON_TEXT.has(name)) return tokens.attribute("shadowrootmode") === undefined;
	if (!tokens.hasAttributes) return false;
	if (GUTTERED.has(name) && GUTTER.test(tokens.attribute("class") ?? "")) return true;
	return INLINE_BOXES.has(name) && isHidden(tokens);
}

/** Whether the element that `tokens` just opened is hidden from readers, and no script or tab would show it. */
export function isHidden(tokens: HtmlTokenizer): boolean {
	if (!tokens.hasAttributes || ALWAYS_VISIBLE.has(tokens.name)) return false;
	if (tokens.attribute("role") === "tabpanel") return false;
	const hidden = tokens.attribute("hidden") ?? "until-found";
	// React sends late parts of a page hidden, with an id like `S:1`.
	if (hidden !== "until-found") return !tokens.attribute("id")?.startsWith("S:");
	return (
		tokens.attribute("aria-hidden") === "true" || HIDING_STYLE.test(tokens.attribute("style") ?? "")
	);
}

const HIDING_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const GUTTER = new RegExp(`(?:^|\\s)(?:${[...LINE_NUMBER_CLASSES].join("|")})(?:\\s|$)`);

const NON_TEXT = names("template svg canvas object select datalist dialog map");
/** Hidden pieces of a line: icons with a name, text for another output of a formula. */
const INLINE_BOXES = names("span i b em a small sup sub");
const GUTTERED = names("td pre span div");
/** Some pages hide these elements until their scripts have run, so hiding them is ignored. */
const ALWAYS_VISIBLE = names("html body main article");
