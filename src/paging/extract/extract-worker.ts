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
	return isXhtml(text, html.contentType) ? xhtmlToHtml(text) : text;
}

/** By its type; a file has none, but a declaration. */
function isXhtml(text: string, contentType: string | undefined): boolean {
	const { type } = parseMediaType(contentType);
	return (
		type === "application/xhtml+xml" || (type === "" && /^\s*<\?xml\s/.test(text.slice(0, 100)))
	);
}
