import type { PageDocument, PageElement } from "./page-document.ts";

/**
 * Keeps the words of headings that link to a place on the page, such as the function's name in a signature: Defuddle
 * takes every such link for a sign that leads to the heading.
 */
export function keepHeadingLinks(document: PageDocument): void {
	for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
		for (const link of heading.querySelectorAll('a[href^="#"]')) {
			if (!isPermalink(link)) link.removeAttribute("href");
		}
	}
}

function isPermalink(link: PageElement): boolean {
	const hints = ["class", "title", "aria-label"].map((name) => link.getAttribute(name) ?? "");
	return PERMALINK_TEXT.test(link.textContent) || PERMALINK_HINT.test(hints.join(" "));
}

/** Signs only, or a word that says what it is. */
const PERMALINK_TEXT = /^[^\p{L}\p{N}]*(?:(?:perma|copy )?link|anchor)?[^\p{L}\p{N}]*$/iu;
const PERMALINK_HINT = /anchor|permalink|headerlink|hash-?link|link to/i;
