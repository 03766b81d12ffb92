import { gunzipSync } from "node:zlib";
import { grouped } from "../../text/figures.ts";
import type { LeftOut } from "../extract/left-out.ts";
import { linearHtmlToMarkdown } from "../extract/linear-html.ts";
import { decodeText, detectKind } from "../fetch/content.ts";
import { isGzip, isTar } from "../fetch/magic.ts";
import { archiveListing, tarListing } from "./listing.ts";
import { DocumentScope, type Scope } from "./scope.ts";
import { relations, resolvePath } from "./xml.ts";
import { BadArchive, ZipArchive } from "./zip.ts";

/** Formats of text that are rewritten to be read. */
export type TextFormat = "notebook" | "csv" | "feed" | "json" | "xml";

export interface ArchiveJob {
	readonly kind: "archive";
	readonly bytes: Uint8Array;
	readonly name: string;
	/** Also what a reader of the document does not see. */
	readonly everything?: boolean | undefined;
}

export type DocumentJob = ArchiveJob | TextJob;

export interface TextJob {
	readonly kind: "text";
	readonly format: TextFormat;
	readonly text: string;
	/** The address of the text, against which its links are resolved. */
	readonly baseUrl?: string | undefined;
}

export interface DocumentText {
	readonly markdown: string;
	readonly title?: string;
	/** What is not in the text, by kind in characters. */
	readonly leftOut?: LeftOut;
}

/** Converts a document. Blocks its thread, so run it in a worker. Throws an error whose message says what is wrong. */
export async function convertDocument(job: DocumentJob): Promise<DocumentText> {
	if (job.kind === "text") return convertText(job);
	if (isGzip(job.bytes)) return convertGzip(job);
	if (isTar(job.bytes)) {
		const { buffer, byteOffset, byteLength } = job.bytes;
		return { markdown: tarListing(Buffer.from(buffer, byteOffset, byteLength)) };
	}
	const scope = new DocumentScope(job.everything === true);
	const found = await convertZip(await ZipArchive.open(job.bytes), scope);
	const { leftOut } = scope;
	return Object.keys(leftOut).length === 0 ? found : { ...found, leftOut };
}

async function convertZip(zip: ZipArchive, scope: Scope): Promise<DocumentText> {
	const part = await mainPart(zip);
	if (part?.startsWith("word/")) {
		const { docxToHtml } = await import("./docx.ts");
		return fromHtml(await docxToHtml(zip, part, scope));
	}
	if (part?.startsWith("xl/")) {
		const { xlsxToMarkdown } = await import("./xlsx.ts");
		return { markdown: await xlsxToMarkdown(zip, part, scope) };
	}
	if (part?.startsWith("ppt/")) {
		const { pptxToHtml } = await import("./slides.ts");
		return fromHtml(await pptxToHtml(zip, part, scope));
	}
	const type = zip.has("mimetype") ? (await zip.text("mimetype")).trim() : "";
	if (type === "application/epub+zip" || zip.has("META-INF/container.xml")) {
		const { epubToMarkdown } = await import("./epub.ts");
		return epubToMarkdown(zip);
	}
	if (type.startsWith("application/vnd.oasis.opendocument.") && zip.has("content.xml")) {
		if ((await zip.text("META-INF/manifest.xml")).includes("encryption-data"))
			throw new BadArchive("it is protected with a password: save a copy without one");
		if (type.includes("spreadsheet")) {
			const { odsToMarkdown } = await import("./open-sheet.ts");
			return { markdown: await odsToMarkdown(zip, scope) };
		}
		const { odtToHtml } = await import("./open-document.ts");
		return fromHtml(await odtToHtml(zip, scope));
	}
	return { markdown: archiveListing(zip) };
}

/** The part of an Office document that holds its text. Some programs give it another name, which the relations know. */
async function mainPart(zip: ZipArchive): Promise<string | undefined> {
	const usual = ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"];
	const found = usual.find((name) => zip.has(name));
	if (found !== undefined) return found;
	const targets = relations(await zip.text("_rels/.rels")).values();
	return [...targets]
		.map((target) => resolvePath("", target))
		.find((name) => zip.has(name) && /^(?:word|xl|ppt)\/[^/]+\.xml$/.test(name));
}

function fromHtml(html: string): DocumentText {
	return { markdown: linearHtmlToMarkdown(html).markdown };
}

/** What gzip may unpack to. */
const MAX_UNPACKED = 50_000_000;

async function convertGzip(job: ArchiveJob): Promise<DocumentText> {
	const { bytes, name } = job;
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
	if (kind === "archive" && !isGzip(content)) return convertDocument({ ...job, bytes: content });
	if (kind === "text" || kind === "html")
		return { markdown: decodeText(content, { isHtml: kind === "html" }).text };
	const what = kind === "pdf" ? "of a PDF: unpack it to read it" : "that are not text";
	return { markdown: `${inner}: ${grouped(content.length)} bytes ${what}` };
}

async function convertText({ format, text, baseUrl }: TextJob): Promise<DocumentText> {
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
			return feedToMarkdown(text, baseUrl) ?? { markdown: text };
		}
		default: {
			const { prettyJson, prettyXml } = await import("./pretty.ts");
			return { markdown: format === "json" ? prettyJson(text) : prettyXml(text) };
		}
	}
}
