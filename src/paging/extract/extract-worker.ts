import { serveJobs } from "../../core/worker-entry.ts";
import type { Draft, ExtractAnswer, ExtractPage } from "./extractor.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { linearHtmlToMarkdown, type PageShape } from "./linear-html.ts";

// Larger pages miss the deadline: Defuddle takes 0.05 to 0.15 ms an element and the square of the
// depth (1,000 levels: 4 to 12 s; 2,000: most of a minute).
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
