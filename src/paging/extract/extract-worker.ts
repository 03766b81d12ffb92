import { serveJobs } from "../../core/worker-entry.ts";
import type { ExtractPage } from "./extractor.ts";
import { htmlToMarkdown, type PageMarkdown } from "./html-to-markdown.ts";

serveJobs<ExtractPage, PageMarkdown>(({ html, baseUrl, everything }) =>
	htmlToMarkdown(html, baseUrl, { everything }),
);
