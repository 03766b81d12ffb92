import { serveJobs } from "../../core/worker-entry.ts";
import type { ExtractAnswer, ExtractPage, Fallback } from "./extractor.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { linearHtmlToMarkdown } from "./linear-html.ts";
import { isTooLarge } from "./page-signals.ts";

serveJobs<ExtractPage, ExtractAnswer, Fallback>(({ html, baseUrl }, { notify }) => {
	const page = linearHtmlToMarkdown(html, { baseUrl });
	const { markdown, title } = page;
	notify({ markdown, ...(title && { title }) });
	return isTooLarge(page.shape) ? "too_large" : htmlToMarkdown(html, baseUrl, page);
});
