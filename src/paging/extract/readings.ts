import { Readability } from "@mozilla/readability";
import { DefuddleClass } from "defuddle/node";
import { removeClutter, removeLineNumbers } from "./clutter.ts";
import { flattenCode, guardCode, releaseCode } from "./code-guard.ts";
import { keepHeadingLinks } from "./heading-links.ts";
import { linearHtmlToMarkdown } from "./linear-html.ts";
import type { PartKind } from "./main-part.ts";
import { narrowToPart, type PageDocument, type PageElement, parsePage } from "./page-document.ts";
import { pageTitle } from "./page-title.ts";

/** What one reader takes for the main text of a page. */
export interface Reading {
	via: "defuddle" | "readability" | "linear";
	markdown: string;
	title: string | undefined;
}

/**
 * Defuddle's guesses at what is no content, by names, words and length, cost lists, notes and short paragraphs. It
 * makes them only where nothing else tells the text from what is around it.
 */
export function defuddled(html: string, baseUrl: string, mainPart: PartKind | undefined): Reading {
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
export function readable(html: string, baseUrl: string): Reading {
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
