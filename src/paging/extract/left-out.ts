import { names } from "./element-names.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";

export interface PlaceInPage {
	readonly wholePage: boolean;
	readonly inQuote: () => boolean;
}

export function isLeftOut(tokens: HtmlTokenizer, { wholePage, inQuote }: PlaceInPage): boolean {
	const { name } = tokens;
	if (NEVER_TEXT.has(name)) return true;
	if (name === "footer" && wholePage) return !inQuote();
	if (name === "nav" && wholePage) return true;
	if (!tokens.hasAttributes) return false;
	if (GUTTERED.has(name) && GUTTER.test(tokens.attribute("class") ?? "")) return true;
	if (!wholePage || ALWAYS_SEEN.has(name)) return false;
	const role = tokens.attribute("role") ?? "";
	return SURROUNDINGS.has(role) || (role !== "tabpanel" && isHidden(tokens));
}

function isHidden(tokens: HtmlTokenizer): boolean {
	const hidden = tokens.attribute("hidden") ?? "until-found";
	// React sends late parts of a page hidden.
	if (hidden !== "until-found") return !tokens.attribute("id")?.startsWith("S:");
	return (
		tokens.attribute("aria-hidden") === "true" || HIDING_STYLE.test(tokens.attribute("style") ?? "")
	);
}

const HIDING_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const GUTTER =
	/(?:^|\s)(?:gutter|rouge-gutter|lineno|linenos|linenodiv|blob-num|hljs-ln-numbers)(?:\s|$)/;

const NEVER_TEXT = names("template svg noscript canvas object select datalist dialog map");
const GUTTERED = names("td pre span div");
/** Pages hide these until their scripts have run. */
const ALWAYS_SEEN = names("html body main article");
const SURROUNDINGS = names("navigation contentinfo banner search dialog alertdialog");
