import type { PageWarning } from "./page-text.ts";
import type { OpenFailure } from "./pdfium.ts";

/** What a worker is started with. Both arrays are shared with the main thread, which alone writes to them. */
export interface WorkerStart {
	maxMemoryBytes: number;
	/** The bytes that a `bytes` message is about. */
	staging: Uint8Array<SharedArrayBuffer>;
	/** One number: the call that nobody waits for any more. Looked at between pages. */
	cancelled: Int32Array<SharedArrayBuffer>;
}

/** `call` is in the answer again; `document` is the number the main thread has given a document. */
export type WorkerRequest =
	/** the first `length` bytes of the staging area belong at `offset` of a document of `total` bytes */
	| {
			kind: "bytes";
			call: number;
			document: number;
			offset: number;
			length: number;
			total: number;
	  }
	| ({ kind: "read"; call: number; document: number } & PageRange)
	/** the document is not needed any more; has no answer */
	| { kind: "forget"; document: number };

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
	/** the bytes are taken: the staging area is free */
	| { kind: "stored"; call: number }
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
