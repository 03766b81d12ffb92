import { serveJobs } from "../../core/worker-entry.ts";
import type { ExtractPage } from "./extractor.ts";
import { htmlToMarkdown, type PageMarkdown } from "./html-to-markdown.ts";
import { linearHtmlToMarkdown, type PageShape } from "./linear-html.ts";

/** What linear time makes of a page; sent before the answer. */
export interface Draft {
	markdown: string;
	title?: string;
}

/** `too_large`: the draft is the answer, since looking for the main text would not end in time. */
export type ExtractAnswer = PageMarkdown | "too_large";

/**
 * Beyond these a search for the main text does not end in time: Defuddle takes 0.05 to 0.15 ms an element, and
 * the square of the depth (1,000 nested elements: 4 to 12 s; 2,000 of them: most of a minute).
 */
const MAX_ELEMENTS = 150_000;
const MAX_DEPTH = 1500;

serveJobs<ExtractPage, ExtractAnswer, Draft>(({ html, baseUrl }, { notify }) => {
	const page = linearHtmlToMarkdown(html, { baseUrl });
	const { markdown, title } = page;
	notify({ markdown, ...(title ? { title } : {}) });
	return isTooLarge(page.shape) ? "too_large" : htmlToMarkdown(html, baseUrl, page);
});

function isTooLarge({ elements, depth }: PageShape): boolean {
	return elements > MAX_ELEMENTS || depth > MAX_DEPTH;
}
