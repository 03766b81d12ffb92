import type { PageDocument, PageElement } from "./page-document.ts";

/**
 * Removes menus, dialogs, footers, hidden parts, related articles, forms and line numbers. A name
 * alone does not decide (`share-config` may be the topic): the part must also be mostly links, or a
 * few words and something to press.
 */
export function removeClutter(page: PageDocument | PageElement): void {
	removeAll(page, NEVER_TEXT, (element) => element.closest("blockquote") === null);
	removeLineNumbers(page);
	removeAll(page, "aside, header", isMostlyLinks);
	removeAll(page, "div, section, p, ul, ol, form", isNamedClutter);
	removeAll(page, "section, div", (element) => {
		const heading = element.firstElementChild;
		const leadsAway = heading?.matches(HEADING) && LEADS_AWAY.test(heading.textContent);
		return leadsAway === true && isMostlyLinks(element);
	});
	removeAll(page, "button", (button) => button.closest(SENTENCE) === null);
}

export function removeLineNumbers(page: PageDocument | PageElement): void {
	removeAll(page, LINE_NUMBERS, () => true);
}

function removeAll(
	page: PageDocument | PageElement,
	selector: string,
	isClutter: (element: PageElement) => boolean,
): void {
	for (const element of page.querySelectorAll(selector)) {
		if (isClutter(element)) element.remove();
	}
}

function isNamedClutter(element: PageElement): boolean {
	const name = `${element.getAttribute("class") ?? ""} ${element.getAttribute("id") ?? ""}`;
	if (!CLUTTER_NAME.test(name) || element.parentElement?.closest(SENTENCE)) return false;
	if (element.matches('[role="main"]')) return false;
	return isMostlyLinks(element) || (REQUEST_NAME.test(name) && isRequest(element));
}

/** Headings do not count; buttons count as links. */
function isMostlyLinks(element: PageElement): boolean {
	const inLinks = signsIn(element, "a, button");
	return inLinks > 0 && inLinks >= (signs(element) - signsIn(element, HEADING)) / 2;
}

function signsIn(element: PageElement, selector: string): number {
	let sum = 0;
	for (const inner of element.querySelectorAll(selector)) sum += signs(inner);
	return sum;
}

function isRequest(element: PageElement): boolean {
	return signs(element) <= 500 && element.querySelector("button, input, a") !== null;
}

function signs(element: PageElement): number {
	return element.textContent.replace(/\s+/g, "").length;
}

const NEVER_TEXT =
	'nav, footer, dialog, [hidden]:not([hidden="until-found"]), ' +
	// Formulae are hidden from screen readers, which get other words.
	'[aria-hidden="true"]:not([class*="math"]):not([class*="paywall"]):not(svg):not(mjx-math), ' +
	["navigation", "search", "dialog", "alertdialog", "banner", "contentinfo"]
		.map((role) => `[role="${role}"]`)
		.join(", ");
const LINE_NUMBERS = "gutter rouge-gutter lineno linenos linenodiv blob-num hljs-ln-numbers"
	.split(" ")
	.map((name) => `.${name}`)
	.join(", ");
const HEADING = "h1, h2, h3, h4, h5, h6";
/** Here names mean something else, and buttons are words of a sentence. */
const SENTENCE = "p, li, dd, td, th, pre, h1, h2, h3, h4, h5, h6";
const CLUTTER_NAME =
	/(?:^|[\s_-])(?:share|sharing|social|related|recommend\w*|promo\w*|sponsor\w*|advert\w*|ads?|breadcrumbs?|byline|author|tags|toc|pagination|menu|nav\w*|sidebar|cookies?|consent|gdpr|newsletter|subscribe|subscription|signup|skip)(?:$|[\s_-])/i;
const REQUEST_NAME = /cookie|consent|gdpr|newsletter|subscri|signup/i;
const LEADS_AWAY =
	/^\s*(?:related|recommended|popular|more|latest)\s+(?:articles?|posts?|stories|news|reading|from)\b|^\s*(?:you (?:may|might) also|read next|share this)/i;
