import { type Chunker, createChunker } from "./chunk.ts";
import { type Digest, digestInSlices } from "./cursor.ts";
import type { PdfDocument } from "./pdf/pdf-engine.ts";
import type { PdfPages } from "./pdf-chunk.ts";

/** A resource that was loaded and made readable. */
export type Resource = TextResource | PdfResource;

interface Shared {
	/** Ties cursors to this content: of the text, for a PDF of the bytes. */
	content: Digest;
	contentType?: string | undefined;
	title?: string | undefined;
	/** The address after redirects, where it is another one. */
	finalUri?: string | undefined;
	/** Whatever tells the source cheaply that it has not changed since. */
	validators: unknown;
}

/** Text that is there as a whole. */
export interface TextResource extends Shared {
	kind: "html" | "text";
	text: string;
	chunker: Chunker;
	/** The page was converted by the simple converter because the good one took too long. */
	degraded?: boolean;
}

/** A document whose pages are extracted when they are read. */
export interface PdfResource extends Shared {
	kind: "pdf";
	document: PdfDocument;
	pages: PdfPages;
	bytes: number;
}

/** Makes a text readable in chunks. */
export async function textResource(
	kind: TextResource["kind"],
	text: string,
	more: Omit<TextResource, "kind" | "text" | "chunker" | "content">,
): Promise<TextResource> {
	return { kind, text, chunker: createChunker(text), content: await digestInSlices(text), ...more };
}

/** Roughly the memory a resource takes. */
export function sizeOf(resource: Resource): number {
	if (resource.kind === "pdf") return resource.bytes + resource.pages.keptChars * 2;
	return resource.text.length * 2;
}
