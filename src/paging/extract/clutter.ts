import type { PageDocument, PageElement } from "./page-document.ts";

/**
 * Removes from the main part of a page (or a document with nothing else in it) what is no part of its text: menus,
 * dialogs, footers, hidden parts, bars to share it, lists of other articles, forms to subscribe, line numbers of code.
 *
 * A name alone does not decide, since a `share-config` may be what the page is about: beyond elements that say
 * what they are, only what consists of links goes, if its name or its heading says so too.
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

/** Removes the line numbers of code. */
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

/** Whether at least half of the text below headings is that of links and buttons. */
function isMostlyLinks(element: PageElement): boolean {
	const inLinks = signsIn(element, "a, button");
	return inLinks > 0 && inLinks >= (signs(element) - signsIn(element, HEADING)) / 2;
}

function signsIn(element: PageElement, selector: string): number {
	let sum = 0;
	for (const inner of element.querySelectorAll(selector)) sum += signs(inner);
	return sum;
}

/** Whether it is a few words and something to press. */
function isRequest(element: PageElement): boolean {
	return signs(element) <= 500 && element.querySelector("button, input, a") !== null;
}

function signs(element: PageElement): number {
	return element.textContent.replace(/\s+/g, "").length;
}

const NEVER_TEXT =
	'nav, footer, dialog, [hidden]:not([hidden="until-found"]), ' +
	// Formulae are hidden from screen readers, and said to them in other words.
	'[aria-hidden="true"]:not([class*="math"]):not([class*="paywall"]):not(svg):not(mjx-math), ' +
	["navigation", "search", "dialog", "alertdialog", "banner", "contentinfo"]
		.map((role) => `[role="${role}"]`)
		.join(", ");
/** Beside code, or before each line of it. */
const LINE_NUMBERS = "gutter rouge-gutter lineno linenos linenodiv blob-num hljs-ln-numbers"
	.split(" ")
	.map((name) => `.${name}`)
	.join(", ");
const HEADING = "h1, h2, h3, h4, h5, h6";
/** Where names mean something else, and buttons are words of a sentence. */
const SENTENCE = "p, li, dd, td, th, pre, h1, h2, h3, h4, h5, h6";
const CLUTTER_NAME =
	/(?:^|[\s_-])(?:share|sharing|social|related|recommend\w*|promo\w*|sponsor\w*|advert\w*|ads?|breadcrumbs?|byline|author|tags|toc|pagination|menu|nav\w*|sidebar|cookies?|consent|gdpr|newsletter|subscribe|subscription|signup|skip)(?:$|[\s_-])/i;
const REQUEST_NAME = /cookie|consent|gdpr|newsletter|subscri|signup/i;
/** Headings of lists of other pages. */
const LEADS_AWAY =
	/^\s*(?:related|recommended|popular|more|latest)\s+(?:articles?|posts?|stories|news|reading|from)\b|^\s*(?:you (?:may|might) also|read next|share this)/i;
