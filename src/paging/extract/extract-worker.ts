import { serveJobs } from "../../core/worker-entry.ts";
import type { Draft, ExtractAnswer, ExtractPage } from "./extractor.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { linearHtmlToMarkdown } from "./linear-html.ts";
import { isTooLarge } from "./page-signs.ts";

serveJobs<ExtractPage, ExtractAnswer, Draft>(({ html, baseUrl }, { notify }) => {
	const page = linearHtmlToMarkdown(html, { baseUrl });
	const { markdown, title } = page;
	notify({ markdown, ...(title && { title }) });
	return isTooLarge(page.shape) ? "too_large" : htmlToMarkdown(html, baseUrl, page);
});
