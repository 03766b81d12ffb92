import { gunzipSync } from "node:zlib";
import { linearHtmlToMarkdown } from "../extract/linear-html.ts";
import { decodeText, detectKind } from "../fetch/content.ts";
import { isGzip } from "../fetch/magic.ts";
import { archiveListing, isTar, tarListing } from "./listing.ts";
import { BadArchive, ZipArchive } from "./zip.ts";

/** Formats of text that are rewritten to be read. */
export type TextFormat = "notebook" | "csv" | "feed" | "json" | "xml";

export type DocumentJob =
	| { readonly kind: "archive"; readonly bytes: Uint8Array; readonly name: string }
	| { readonly kind: "text"; readonly format: TextFormat; readonly text: string };

export interface DocumentText {
	readonly markdown: string;
	readonly title?: string;
}

/** Converts a document. Blocks its thread, so run it in a worker. Throws an error whose message says what is wrong. */
export async function convertDocument(job: DocumentJob): Promise<DocumentText> {
	if (job.kind === "text") return convertText(job.format, job.text);
	if (isGzip(job.bytes)) return convertGzip(job.bytes, job.name);
	return convertZip(await ZipArchive.open(job.bytes));
}

async function convertZip(zip: ZipArchive): Promise<DocumentText> {
	if (zip.has("word/document.xml")) {
		const { docxToHtml } = await import("./docx.ts");
		return fromHtml(await docxToHtml(zip));
	}
	if (zip.has("xl/workbook.xml")) {
		const { xlsxToMarkdown } = await import("./xlsx.ts");
		return { markdown: await xlsxToMarkdown(zip) };
	}
	if (zip.has("ppt/presentation.xml")) {
		const { pptxToHtml } = await import("./slides.ts");
		return fromHtml(await pptxToHtml(zip));
	}
	const type = zip.has("mimetype") ? (await zip.text("mimetype")).trim() : "";
	if (type === "application/epub+zip" || zip.has("META-INF/container.xml")) {
		const { epubToMarkdown } = await import("./epub.ts");
		return epubToMarkdown(zip);
	}
	if (type.startsWith("application/vnd.oasis.opendocument.") && zip.has("content.xml")) {
		const { odsToMarkdown, odtToHtml } = await import("./open-document.ts");
		return type.includes("spreadsheet")
			? { markdown: await odsToMarkdown(zip) }
			: fromHtml(await odtToHtml(zip));
	}
	return { markdown: archiveListing(zip) };
}

function fromHtml(html: string): DocumentText {
	return { markdown: linearHtmlToMarkdown(html).markdown };
}

/** What gzip may unpack to. */
const MAX_UNPACKED = 50_000_000;

async function convertGzip(bytes: Uint8Array, name: string): Promise<DocumentText> {
	let content: Buffer;
	try {
		content = gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED });
	} catch (error) {
		const why =
			error instanceof RangeError
				? `it unpacks to more than ${MAX_UNPACKED} bytes`
				: "its data is damaged";
		throw new BadArchive(why, { cause: error });
	}
	if (isTar(content)) return { markdown: tarListing(content) };
	const inner = name.replace(/\.gz$/i, "");
	const kind = detectKind(content, undefined, inner);
	if (kind === "text" || kind === "html")
		return { markdown: decodeText(content, { isHtml: kind === "html" }).text };
	return {
		markdown: `${inner}: ${content.length.toLocaleString("en-US")} bytes that are not text`,
	};
}

async function convertText(format: TextFormat, text: string): Promise<DocumentText> {
	switch (format) {
		case "notebook": {
			const { notebookToMarkdown } = await import("./notebook.ts");
			return { markdown: notebookToMarkdown(text) ?? text };
		}
		case "csv": {
			const { csvToMarkdown } = await import("./sheet.ts");
			return { markdown: csvToMarkdown(text) };
		}
		case "feed": {
			const { feedToMarkdown } = await import("./feed.ts");
			return feedToMarkdown(text) ?? { markdown: text };
		}
		default: {
			const { prettyJson, prettyXml } = await import("./pretty.ts");
			return { markdown: format === "json" ? prettyJson(text) : prettyXml(text) };
		}
	}
}
