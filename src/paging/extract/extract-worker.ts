import { serveJobs } from "../../core/worker-entry.ts";
import type { DocumentJob, DocumentText } from "../documents/convert.ts";
import { decodeText, parseMediaType } from "../fetch/content.ts";
import type { ExtractPage } from "./extractor.ts";
import { htmlToMarkdown, type PageMarkdown } from "./html-to-markdown.ts";
import { xhtmlToHtml } from "./xhtml.ts";

serveJobs<ExtractPage | DocumentJob, PageMarkdown | DocumentText>(async (job) => {
	if ("html" in job)
		return htmlToMarkdown(textOf(job.html), job.baseUrl, { everything: job.everything });
	const { convertDocument } = await import("../documents/convert.ts");
	return convertDocument(job);
});

function textOf(html: ExtractPage["html"]): string {
	if (typeof html === "string") return html;
	// Bytes arrive as a plain array.
	const { buffer, byteOffset, byteLength } = html.bytes;
	const bytes = Buffer.from(buffer, byteOffset, byteLength);
	const { text } = decodeText(bytes, { contentType: html.contentType, isHtml: true });
	const isXhtml = parseMediaType(html.contentType).type === "application/xhtml+xml";
	return isXhtml ? xhtmlToHtml(text) : text;
}
