import { Readability } from "@mozilla/readability";
import { DefuddleClass } from "defuddle/node";
import { ANY_HEADING, CLUTTER_ROLES, LINE_NUMBER_CLASSES } from "./elements.ts";
import { pageTitle } from "./inline-text.ts";
import { type LinearMarkdown, linearHtmlToMarkdown } from "./linear-html.ts";
import type { PartKind } from "./markdown-blocks.ts";
import {
	flattenCode,
	guardCode,
	narrowToPart,
	type PageDocument,
	type PageElement,
	parsePage,
	releaseCode,
} from "./page-document.ts";

export interface PageMarkdown {
	readonly markdown: string;
	readonly title?: string | undefined;
	readonly via: "defuddle" | "readability" | "linear";
}

/**
 * Finds the main text of a page. Superlinear in time and stack: run it in a worker with a deadline.
 * Readability leaves the least clutter in articles; Defuddle is better at other pages. If the
 * first reading has too little text, the second is tried. If both have too little, the whole page is used.
 * @param baseUrl the address after redirects; links become absolute
 * @param page the linear conversion, if it was done already
 */
export function htmlToMarkdown(
	html: string,
	baseUrl: string,
	page: LinearMarkdown = linearHtmlToMarkdown(html, { baseUrl }),
): PageMarkdown {
	const whole: PageMarkdown = { via: "linear", markdown: page.markdown, title: page.title };
	const isArticle = page.isArticle && !isDocumentation(baseUrl);
	const readings = [() => defuddle(html, baseUrl, page.mainPart), () => readability(html, baseUrl)];
	if (isArticle) readings.reverse();
	const { markdown, via, title = page.title } = chooseReading(whole, isArticle, readings);
	return { markdown, via, ...(title && { title }) };
}

/** Decides by the address, since documentation often carries the metadata of articles. */
function isDocumentation(address: string): boolean {
	const { hostname = "", pathname = "" } = URL.parse(address) ?? {};
	return (
		/^(?:docs?|developers?|api)\./.test(hostname) ||
		/\/(?:docs?|documentation|reference|manual|api)(?:\/|$)/.test(pathname)
	);
}

// Returns the first reading with enough of the page's text, or else the longest one. If that has too little
// text and no prose, returns the whole page. For an article, prose is enough. Rethrows the error if no reader
// succeeds. The shares were measured with `bench/paging-html.ts`: a good reading keeps at least 0.5 of the
// text (0.2 if there is much clutter), a bad one less than 0.15.
function chooseReading(whole: PageMarkdown, isArticle: boolean, readings: (() => PageMarkdown)[]) {
	const available = textLength(whole.markdown);
	let best = { ...whole, markdown: "", length: 0 };
	let failure: unknown;
	for (const read of readings) {
		let candidate: PageMarkdown;
		try {
			candidate = read();
		} catch (error) {
			failure = error; // the other reader may succeed
			continue;
		}
		const length = textLength(candidate.markdown);
		// A little more text is more likely clutter than a paragraph that the other reading lost.
		if (length > 1.2 * best.length) best = { ...candidate, length };
		if (isArticle && hasProse(best.markdown)) break;
		if (best.length >= 0.5 * available) break;
		if (best.length >= 1000 && best.length >= 0.2 * available) break;
	}
	if (best.length === 0) {
		if (failure !== undefined) throw failure;
		return whole;
	}
	const isEnough = best.length >= (best.length < 500 ? 0.5 : 0.15) * available;
	return isEnough || hasProse(best.markdown) ? best : whole;
}

/** True if the text has sentences, not only headings, links and labels. */
function hasProse(markdown: string): boolean {
	let length = 0;
	for (const line of markdown.split("\n")) {
		// Images are removed first: a link may wrap an image.
		const unlinked = line.replace(IMAGE, "").replace(LINK, "");
		if (unlinked.length >= 40 && /[.!?。！？]/.test(unlinked)) length += unlinked.length;
	}
	return length >= 250;
}

// Labels and addresses stop at the next bracket, which keeps matching linear on a line of brackets.
const IMAGE = /!\[[^[\]]*\]\([^()\s]*\)/g;
const LINK = /\[[^[\]]*\]\([^()\s]*\)/g;

function textLength(markdown: string): number {
	return markdown.replace(/\]\([^()\s]*\)/g, "").replace(/[\s|*#>`[\]!-]+/g, "").length;
}

// Defuddle's heuristics (names, words, length) lose lists, notes and short paragraphs, so they run
// only on pages that mark no main part.
function defuddle(html: string, baseUrl: string, mainPart: PartKind | undefined): PageMarkdown {
	const document = parsePage(html, baseUrl);
	const isMarked = mainPart !== undefined && narrowToPart(document, mainPart);
	if (isMarked) removeClutter(document);
	keepDates(document);
	keepHeadingLinks(document);
	guardCode(document);
	const options = { url: baseUrl, useAsync: false, ...(isMarked ? NO_GUESSES : FEW_GUESSES) };
	const { result, errors } = silently(() => new DefuddleClass(document, options).parse());
	// Defuddle catches its own exceptions, logs them and returns the body unchanged.
	const hasFailed = errors.some((words) => words.includes("Error processing document"));
	return {
		via: "defuddle",
		markdown: hasFailed ? "" : cleanHtmlToMarkdown(releaseCode(result.content), baseUrl),
		title: pageTitle(result.title),
	};
}

const FEW_GUESSES = { removeContentPatterns: false };
const NO_GUESSES = {
	...FEW_GUESSES,
	removeExactSelectors: false,
	removePartialSelectors: false,
	removeLowScoring: false,
};

// Defuddle drops a short element with a date as a byline if it is among the three after the
// heading. Three empty elements take these places and are dropped instead.
function keepDates(document: PageDocument): void {
	for (const heading of document.querySelectorAll("h1")) {
		heading.after(...Array.from({ length: 3 }, () => document.createElement("wbr")));
	}
}

/** Best for articles. Also removes the menus and links to other articles that Readability leaves. */
function readability(html: string, baseUrl: string): PageMarkdown {
	const document = parsePage(html, baseUrl);
	removeLineNumbers(document);
	flattenCode(document);
	const options = {
		keepClasses: true, // classes name the language of code
		serializer(content: PageElement) {
			removeClutter(content);
			return content.innerHTML;
		},
	};
	const { result } = silently(() => new Readability(document, options).parse());
	return {
		via: "readability",
		markdown: cleanHtmlToMarkdown(result?.content ?? "", baseUrl),
		title: pageTitle(result?.title),
	};
}

function cleanHtmlToMarkdown(html: string, baseUrl: string): string {
	return linearHtmlToMarkdown(html, { baseUrl, scope: "everything" }).markdown;
}

function silently<T>(task: () => T): { result: T; errors: string[] } {
	const errors: string[] = [];
	const { log, warn, error } = console;
	console.log = () => {};
	console.warn = () => {};
	console.error = (...words: unknown[]) => {
		errors.push(words.map(String).join(" "));
	};
	try {
		return { result: task(), errors };
	} finally {
		Object.assign(console, { log, warn, error });
	}
}

/** Defuddle drops links in headings as permalinks, even if the link is the function name in a signature. */
function keepHeadingLinks(document: PageDocument): void {
	for (const heading of document.querySelectorAll(ANY_HEADING)) {
		for (const link of heading.querySelectorAll('a[href^="#"]')) {
			if (!isPermalink(link)) link.removeAttribute("href");
		}
	}
}

function isPermalink(link: PageElement): boolean {
	const hints = ["class", "title", "aria-label"].map((name) => link.getAttribute(name) ?? "");
	return PERMALINK_TEXT.test(link.textContent) || PERMALINK_HINT.test(hints.join(" "));
}

const PERMALINK_TEXT = /^[^\p{L}\p{N}]*(?:(?:perma|copy )?link|anchor)?[^\p{L}\p{N}]*$/iu;
const PERMALINK_HINT = /anchor|permalink|headerlink|hash-?link|link to/i;

/**
 * Removes menus, dialogs, footers, hidden parts, related articles, forms and line numbers. A class
 * or id alone does not decide (`share-config` may be the topic): the part must also be mostly
 * links, or be short and have a button, input or link.
 */
function removeClutter(page: Root): void {
	removeAll(page, CLUTTER, (element) => element.closest("blockquote") === null);
	removeLineNumbers(page);
	removeAll(page, "aside, header", isMostlyLinks);
	removeAll(page, "div, section, p, ul, ol, form", isNamedClutter);
	removeAll(page, "section, div", (element) => {
		const heading = element.firstElementChild;
		const isRelated = heading?.matches(ANY_HEADING) && RELATED_HEADING.test(heading.textContent);
		return isRelated === true && isMostlyLinks(element);
	});
	removeAll(page, "button", (button) => button.closest(SENTENCE) === null);
}

function removeLineNumbers(page: Root): void {
	removeAll(page, LINE_NUMBERS, () => true);
}

type Root = Pick<PageElement, "querySelectorAll">;

function removeAll(page: Root, selector: string, isClutter: (element: PageElement) => boolean) {
	for (const element of page.querySelectorAll(selector)) {
		if (isClutter(element)) element.remove();
	}
}

function isNamedClutter(element: PageElement): boolean {
	const name = `${element.getAttribute("class") ?? ""} ${element.getAttribute("id") ?? ""}`;
	if (!CLUTTER_NAME.test(name) || element.parentElement?.closest(SENTENCE)) return false;
	if (element.matches('[role="main"]')) return false;
	return isMostlyLinks(element) || (PROMPT_NAME.test(name) && isPrompt(element));
}

/** Headings do not count; buttons count as links. */
function isMostlyLinks(element: PageElement): boolean {
	const inLinks = lengthIn(element, "a, button");
	return inLinks > 0 && inLinks >= (lengthOf(element) - lengthIn(element, ANY_HEADING)) / 2;
}

function lengthIn(element: PageElement, selector: string): number {
	let sum = 0;
	for (const inner of element.querySelectorAll(selector)) sum += lengthOf(inner);
	return sum;
}

function isPrompt(element: PageElement): boolean {
	return lengthOf(element) <= 500 && element.querySelector("button, input, a") !== null;
}

const lengthOf = (element: PageElement) => element.textContent.replace(/\s+/g, "").length;

const CLUTTER =
	'nav, footer, dialog, [hidden]:not([hidden="until-found"]), ' +
	// Formulae stay, since they are hidden only from screen readers, which get another version.
	'[aria-hidden="true"]:not([class*="math"]):not([class*="paywall"]):not(svg):not(mjx-math), ' +
	[...CLUTTER_ROLES].map((role) => `[role="${role}"]`).join(", ");
const LINE_NUMBERS = [...LINE_NUMBER_CLASSES].map((name) => `.${name}`).join(", ");
/** Inside these elements, class names do not mark clutter, and buttons are words of a sentence. */
const SENTENCE = `p, li, dd, td, th, pre, ${ANY_HEADING}`;
const CLUTTER_NAME =
	/(?:^|[\s_-])(?:share|sharing|social|related|recommend\w*|promo\w*|sponsor\w*|advert\w*|ads?|breadcrumbs?|byline|author|tags|toc|pagination|menu|nav\w*|sidebar|cookies?|consent|gdpr|newsletter|subscribe|subscription|signup|skip)(?:$|[\s_-])/i;
const PROMPT_NAME = /cookie|consent|gdpr|newsletter|subscri|signup/i;
const RELATED_HEADING =
	/^\s*(?:related|recommended|popular|more|latest)\s+(?:articles?|posts?|stories|news|reading|from)\b|^\s*(?:you (?:may|might) also|read next|share this)/i;
