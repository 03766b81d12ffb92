import type { PageWarning } from "./page-text.ts";
import type { OpenFailure } from "./pdfium.ts";

/** What a worker is started with. */
export interface WorkerStart {
	maxMemoryBytes: number;
	/** One number, written by the main thread: the call that nobody waits for any more. Looked at between pages. */
	cancelled: Int32Array<SharedArrayBuffer>;
}

/** `call` is in the answer again; `document` is the number the main thread has given a document. */
export type WorkerRequest =
	| ({ kind: "bytes"; call: number; document: number } & BytesPart)
	| ({ kind: "read"; call: number; document: number } & PageRange)
	/** the document is not needed any more; has no answer */
	| { kind: "forget"; document: number };

/** The first `length` bytes of a buffer belong at `offset` of a document of `total` bytes. */
export interface BytesPart {
	buffer: ArrayBuffer;
	length: number;
	offset: number;
	total: number;
}

export interface PageRange {
	/** The first page, from 1. */
	first: number;
	/** How many pages; 0 only opens the document. */
	count: number;
	/** Stop after the page with which the text reaches this length. */
	maxChars: number;
	/** Stop after the page with which this time is over. */
	budgetMs: number;
}

export type WorkerReply =
	/** pdfium is loaded; sent once, before anything else */
	| { kind: "ready" }
	/** the bytes are taken; the buffer comes back */
	| { kind: "stored"; call: number; buffer: ArrayBuffer }
	| ({ kind: "read"; call: number } & ReadReply)
	/** not a document; it is forgotten */
	| { kind: "refused"; call: number; reason: OpenFailure }
	/** pdfium is in no state to go on: the worker has to be replaced */
	| { kind: "broken"; call: number; reason: "memory" | "crash"; detail: string };

export interface ReadReply {
	totalPages: number;
	/** Empty if the document has none. */
	title: string;
	pages: PdfPage[];
	/** About the worker, for reports and tests. */
	worker: WorkerState;
}

/** One page of a document. */
export interface PdfPage {
	/** From 1. */
	number: number;
	/** Lines end in "\n"; empty for a page without text. */
	text: string;
	warning?: PageWarning;
}

export interface WorkerState {
	/** Pages whose content was looked at since the worker started. */
	pagesLoaded: number;
	openDocuments: number;
	/** WebAssembly memory. */
	memoryBytes: number;
}
