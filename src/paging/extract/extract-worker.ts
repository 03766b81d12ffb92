import { serveJobs } from "../../core/worker-entry.ts";
import type { DocumentJob, DocumentText } from "../documents/convert.ts";
import type { ExtractPage } from "./extractor.ts";
import { htmlToMarkdown, type PageMarkdown } from "./html-to-markdown.ts";

serveJobs<ExtractPage | DocumentJob, PageMarkdown | DocumentText>(async (job) => {
	if ("html" in job) return htmlToMarkdown(job.html, job.baseUrl, { everything: job.everything });
	const { convertDocument } = await import("../documents/convert.ts");
	return convertDocument(job);
});
