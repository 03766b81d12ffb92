import { type Chunker, createChunker } from "./chunk.ts";
import { type Digest, digestInSlices } from "./cursor.ts";
import type { PdfDocument } from "./pdf/pdf-engine.ts";
import type { PdfPages } from "./pdf-chunk.ts";

export type Resource = TextResource | PdfResource;

interface Shared {
	/** Binds cursors to the text, or to a PDF's bytes. */
	content: Digest;
	contentType?: string | undefined;
	title?: string | undefined;
	/** The address after redirects, if it differs. */
	finalUri?: string | undefined;
	/** The source's own means to detect a change cheaply. */
	validators: unknown;
}

export interface TextResource extends Shared {
	kind: "html" | "text";
	text: string;
	chunker: Chunker;
	degraded?: boolean;
}

export interface PdfResource extends Shared {
	kind: "pdf";
	document: PdfDocument;
	pages: PdfPages;
	bytes: number;
}

export async function textResource(
	kind: TextResource["kind"],
	text: string,
	more: Omit<TextResource, "kind" | "text" | "chunker" | "content">,
): Promise<TextResource> {
	return { kind, text, chunker: createChunker(text), content: await digestInSlices(text), ...more };
}

/** Approximate memory, in bytes. */
export function sizeOf(resource: Resource): number {
	if (resource.kind === "pdf") return resource.bytes + resource.pages.keptChars * 2;
	return resource.text.length * 2;
}
