import { Readability } from "@mozilla/readability";
import { DefuddleClass } from "defuddle/node";
import { removeClutter, removeLineNumbers } from "./clutter.ts";
import { flattenCode, guardCode, releaseCode } from "./code-guard.ts";
import { type LinearMarkdown, linearHtmlToMarkdown } from "./linear-html.ts";
import type { PartKind } from "./main-part.ts";
import { narrowToPart, type PageDocument, type PageElement, parsePage } from "./page-document.ts";
import { pageTitle } from "./page-title.ts";

/** A page as markdown. */
export interface PageMarkdown {
	markdown: string;
	title?: string;
	/** Who found the main text; `"linear"` where neither did and the page's whole text is the better answer. */
	via: Reading["via"];
}

/**
 * Finds the main text of a page and writes it as markdown. Synchronous, without network, and the same for the
 * same input; but its time and stack grow faster than the page, so it belongs in a worker with a deadline.
 *
 * Of an article Readability's reading is taken, which has the least of what surrounds the text. Of all else Defuddle
 * looks first: it is the better one for code, formulae, headings, threads and listings. What it brings is held
 * against all text of the page. If that is suspiciously little, the other is heard too, and if both have missed it
 * (pages of links, mostly) the page is taken as it is. All three are written by the same converter.
 *
 * @param baseUrl the address the page was finally found at; links are absolute against it
 * @param page what the linear converter makes of the page, if that is known already
 */
export function htmlToMarkdown(
	html: string,
	baseUrl: string,
	page: LinearMarkdown = linearHtmlToMarkdown(html, { baseUrl }),
): PageMarkdown {
	const whole: Reading = { via: "linear", markdown: page.markdown, title: page.title };
	const isArticle = page.isArticle && !isDocumentation(baseUrl);
	const readings = [() => defuddled(html, baseUrl, page.mainPart), () => readable(html, baseUrl)];
	if (isArticle) readings.reverse();
	const { markdown, via, title = page.title } = choose(whole, isArticle, readings);
	return { markdown, via, ...(title ? { title } : {}) };
}

/** Whether an address is one of documentation, which often has the metadata of articles. */
function isDocumentation(address: string): boolean {
	const { hostname = "", pathname = "" } = URL.parse(address) ?? {};
	return (
		/^(?:docs?|developers?|api)\./.test(hostname) ||
		/\/(?:docs?|documentation|reference|manual|api)(?:\/|$)/.test(pathname)
	);
}

/**
 * The first reading that holds enough of the page's text, or the longest; the whole page if none of them does and
 * none has a passage of prose. Of an article, the first one with such a passage will do: how much there is around
 * it says nothing. Throws what a reader threw if the others found nothing.
 *
 * The shares are from documentation, articles, listings and threads (`bench/paging-html.ts`): a good reading
 * keeps 0.5 of all text or more, down to 0.2 on pages with much around the article; one that went wrong stays
 * below 0.15 or is a few lines long.
 */
function choose(whole: Reading, isArticle: boolean, readings: (() => Reading)[]): Reading {
	const available = textLength(whole.markdown);
	let best = { ...whole, markdown: "", length: 0 };
	let failure: unknown;
	for (const read of readings) {
		let candidate: Reading;
		try {
			candidate = read();
		} catch (error) {
			failure = error; // the other reader may still do
			continue;
		}
		const length = textLength(candidate.markdown);
		// A little more is more likely to be the page's surroundings than a lost paragraph.
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

/** Whether there is a passage of sentences, not only headings, links and labels. */
function hasProse(markdown: string): boolean {
	let length = 0;
	for (const line of markdown.split("\n")) {
		// Images first: they may be what a link is around.
		const unlinked = line.replace(IMAGE, "").replace(LINK, "");
		if (unlinked.length >= 40 && /[.!?。！？]/.test(unlinked)) length += unlinked.length;
	}
	return length >= 250;
}

// No label or address goes on past another's beginning: a line of brackets takes no longer than any other.
const IMAGE = /!\[[^[\]]*\]\([^()\s]*\)/g;
const LINK = /\[[^[\]]*\]\([^()\s]*\)/g;

/** How much text there is for a reader: without addresses, marks and white space. */
function textLength(markdown: string): number {
	return markdown.replace(/\]\([^()\s]*\)/g, "").replace(/[\s|*#>`[\]!-]+/g, "").length;
}

/** What one reader takes for the main text of a page. */
interface Reading {
	via: "defuddle" | "readability" | "linear";
	markdown: string;
	title: string | undefined;
}

/**
 * Defuddle's guesses at what is no content, by names, words and length, cost lists, notes and short paragraphs. It
 * makes them only where nothing else tells the text from what is around it.
 */
function defuddled(html: string, baseUrl: string, mainPart: PartKind | undefined): Reading {
	const document = parsePage(html, baseUrl);
	const isMarked = mainPart !== undefined && narrowToPart(document, mainPart);
	if (isMarked) removeClutter(document);
	keepDates(document);
	keepHeadingLinks(document);
	guardCode(document);
	const options = { url: baseUrl, useAsync: false, ...(isMarked ? NO_GUESSES : FEW_GUESSES) };
	const { result, errors } = quietly(() => new DefuddleClass(document, options).parse());
	// Defuddle swallows its own exceptions, says so on the console and returns the body as it is.
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

/**
 * Defuddle takes a short element with a date for a byline, without an option, if it is one of the three after the
 * heading. These three it passes over and drops.
 */
function keepDates(document: PageDocument): void {
	for (const heading of document.querySelectorAll("h1")) {
		heading.after(...Array.from({ length: 3 }, () => document.createElement("wbr")));
	}
}

/** Readability's reading: the best one of articles. What it leaves of menus and links to other articles goes. */
function readable(html: string, baseUrl: string): Reading {
	const document = parsePage(html, baseUrl);
	removeLineNumbers(document);
	flattenCode(document);
	const options = {
		keepClasses: true, // they tell the language of code
		serializer(content: PageElement) {
			removeClutter(content);
			return content.innerHTML;
		},
	};
	const { result } = quietly(() => new Readability(document, options).parse());
	return {
		via: "readability",
		markdown: cleanHtmlToMarkdown(result?.content ?? "", baseUrl),
		title: pageTitle(result?.title),
	};
}

function cleanHtmlToMarkdown(html: string, baseUrl: string): string {
	return linearHtmlToMarkdown(html, { baseUrl, scope: "everything" }).markdown;
}

/** Runs a task that logs, and hands its complaints to us instead of the terminal. */
function quietly<T>(task: () => T): { result: T; errors: string[] } {
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

/**
 * Keeps the words of headings that link to a place on the page, such as the function's name in a signature: Defuddle
 * takes every such link for a sign that leads to the heading.
 */
function keepHeadingLinks(document: PageDocument): void {
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
