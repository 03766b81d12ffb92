import { Readability } from "@mozilla/readability";
import { DefuddleClass } from "defuddle/node";
import { removeClutter } from "./clutter.ts";
import { guardCode, releaseCode } from "./code-guard.ts";
import { type LinearMarkdown, linearHtmlToMarkdown } from "./linear-html.ts";
import type { PartKind } from "./main-part.ts";
import { narrowToPart, type PageDocument, parsePage } from "./page-document.ts";
import { pageTitle } from "./page-title.ts";

/** A page as markdown. */
export interface PageMarkdown {
	markdown: string;
	title?: string;
	/** Who found the main text; `"linear"` where neither did and the page's whole text is the better answer. */
	via: "defuddle" | "readability" | "linear";
}

/**
 * Finds the main text of a page and writes it as markdown. Synchronous, without network, and the same for the
 * same input; but its time and stack grow faster than the page, so it belongs in a worker with a deadline.
 *
 * Defuddle looks first: it is the better one for code, formulae and headings. What it brings is held against
 * all text of the page. If that is suspiciously little, Readability is heard too, and if both have missed it
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
	const whole: Candidate = { via: "linear", markdown: page.markdown, title: page.title };
	const readings = [() => defuddled(html, baseUrl, page.mainPart), () => readable(html, baseUrl)];
	const { markdown, via, title = page.title } = choose(whole, readings);
	return { markdown, via, ...(title ? { title } : {}) };
}

/** One reading of a page. */
interface Candidate {
	via: PageMarkdown["via"];
	markdown: string;
	title: string | undefined;
}

/**
 * The first reading that holds enough of the page's text, or the longest; the whole page if none of them does.
 * Throws what a reader threw if the others found nothing.
 *
 * The shares are from documentation, articles, listings and threads (`bench/paging-html.ts`): a good reading
 * keeps 0.5 of all text or more, down to 0.2 on pages with much around the article; one that went wrong stays
 * below 0.15 or is a few lines long.
 */
function choose(whole: Candidate, readings: (() => Candidate)[]): Candidate {
	const available = textLength(whole.markdown);
	let best = { ...whole, length: 0 };
	let failure: unknown;
	for (const read of readings) {
		let candidate: Candidate;
		try {
			candidate = read();
		} catch (error) {
			failure = error; // the other reader may still do
			continue;
		}
		const length = textLength(candidate.markdown);
		// A little more is more likely to be the page's surroundings than a lost paragraph.
		if (length > 1.2 * best.length) best = { ...candidate, length };
		if (best.length >= 0.5 * available) break;
		if (best.length >= 1000 && best.length >= 0.2 * available) break;
	}
	if (best.length === 0 && failure !== undefined) throw failure;
	const isEnough = best.length >= (best.length < 500 ? 0.5 : 0.15) * available;
	return best.length > 0 && isEnough ? best : whole;
}

/**
 * Defuddle's guesses at what is no content, by names, words and length, cost lists, notes and short paragraphs. It
 * makes them only where nothing else tells the text from what is around it.
 */
function defuddled(html: string, baseUrl: string, mainPart: PartKind | undefined): Candidate {
	const document = parsePage(html, baseUrl);
	const isMarked = mainPart !== undefined && narrowToPart(document, mainPart);
	if (isMarked) removeClutter(document);
	keepDates(document);
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

function readable(html: string, baseUrl: string): Candidate {
	const document = parsePage(html, baseUrl);
	// Classes tell the language of code.
	const { result } = quietly(() => new Readability(document, { keepClasses: true }).parse());
	return {
		via: "readability",
		markdown: cleanHtmlToMarkdown(result?.content ?? "", baseUrl),
		title: pageTitle(result?.title),
	};
}

function cleanHtmlToMarkdown(html: string, baseUrl: string): string {
	return linearHtmlToMarkdown(html, { baseUrl, scope: "everything" }).markdown;
}

/** How much text there is for a reader: without addresses, marks and white space. */
function textLength(markdown: string): number {
	return markdown.replace(/\]\([^)\s]*\)/g, "").replace(/[\s|*#>`[\]!-]+/g, "").length;
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
