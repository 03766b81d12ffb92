import { setImmediate } from "node:timers/promises";
import { threadId, workerData } from "node:worker_threads";
import { type JobContext, serveJobs } from "../../core/worker-entry.ts";
import { type PageText, pageText, titleText } from "./page-text.ts";
import {
	loadPdfium,
	type OpenFailure,
	type OutlineEntry,
	type PdfiumDocument,
	type PdfiumFile,
} from "./pdfium.ts";

/** Pages are counted from 1. Reading ends early when the text reaches `maxChars`, after at least one page. */
export interface PageSpan {
	readonly first: number;
	/** With 0, the job only opens the document. */
	readonly last: number;
	readonly maxChars: number;
}

export interface ReadJob extends PageSpan {
	readonly document: number;
	readonly total: number;
	/** Reading stops after the page that exceeds this time. */
	readonly budgetMs: number;
	readonly password?: string | undefined;
}

export interface ReadReply {
	readonly totalPages: number;
	readonly title: string;
	readonly outline: readonly OutlineEntry[];
	readonly pages: PdfPage[];
	readonly worker: WorkerState;
}

export interface PdfPage extends PageText {
	readonly number: number;
}

export interface WorkerState {
	readonly id: number;
	readonly pagesLoaded: number;
	readonly documents: number[];
	readonly memoryBytes: number;
}

/** The next bytes of a document: the first `length` bytes of `buffer`. */
interface BytesPart {
	readonly buffer: ArrayBuffer;
	readonly length: number;
}

/** A buffer the worker has copied; `undefined` requests the first bytes. */
export type ReturnedBuffer = ArrayBuffer | undefined;

interface OpenDocument {
	readonly bytes: number;
	readonly file: PdfiumFile;
	document?: PdfiumDocument;
}

/** Maximum open documents per worker; an evicted document is sent again on demand. */
const MAX_DOCUMENTS = 8;

const { maxMemoryBytes } = workerData as { maxMemoryBytes: number };
const pdfium = await loadPdfium({ maxMemoryBytes });
/** Least recently used first. */
const openDocuments = new Map<number, OpenDocument>();
let pagesLoaded = 0;
let inUse: number | undefined;
let closeAfterJob = false;

serveJobs<ReadJob, ReadReply | OpenFailure, ReturnedBuffer, BytesPart>(
	async (job, context) => {
		inUse = job.document;
		closeAfterJob = false;
		let isOpen = false;
		try {
			const entry = openDocuments.get(job.document) ?? (await load(job, context));
			const document = entry.document ?? entry.file.open(job.password);
			checkMemory();
			if (typeof document === "string") return document;
			isOpen = true;
			entry.document = document;
			openDocuments.delete(job.document);
			openDocuments.set(job.document, entry);
			const pages = await readPages(document, job, context.signal);
			checkMemory();
			const documents = [...openDocuments.keys()];
			const memoryBytes = pdfium.memoryBytes();
			const worker = { id: threadId, pagesLoaded, documents, memoryBytes };
			const title = titleText(document.title);
			// Only the job that opens the document needs the outline.
			const outline = job.last === 0 ? document.outline() : [];
			return { totalPages: document.totalPages, title, outline, pages, worker };
		} catch (error) {
			if (error === context.signal.reason) throw error;
			const code = pdfium.isOutOfMemory() ? "memory" : "crash";
			throw Object.assign(new Error(String(error)), { code });
		} finally {
			inUse = undefined;
			if (closeAfterJob || !isOpen) closeDocument(job.document);
		}
	},
	{
		onBroadcast: (document: number) => {
			if (document === inUse) closeAfterJob = true;
			else closeDocument(document);
		},
	},
);

/** Throws if pdfium has run out of memory, since it may then silently omit content. */
function checkMemory(): void {
	if (pdfium.isOutOfMemory()) throw new Error("the memory limit was reached");
}

async function load(
	{ document, total }: ReadJob,
	{ notify, receive }: JobContext<ReturnedBuffer, BytesPart>,
): Promise<OpenDocument> {
	evictFor(total);
	const entry = { bytes: total, file: pdfium.reserve(total) };
	openDocuments.set(document, entry);
	notify(undefined);
	for (let done = 0; done < total; ) {
		const { buffer, length } = await receive();
		entry.file.write(new Uint8Array(buffer, 0, length), done);
		done += length;
		notify(buffer, [buffer]);
	}
	return entry;
}

/** Evicts the least recently used documents. They may take half the memory; pdfium's work takes the rest. */
function evictFor(bytes: number): void {
	let total = bytes;
	for (const other of openDocuments.values()) total += other.bytes;
	for (const [id, other] of openDocuments) {
		if (openDocuments.size < MAX_DOCUMENTS && total <= maxMemoryBytes / 2) return;
		closeDocument(id);
		total -= other.bytes;
	}
}

async function readPages(document: PdfiumDocument, job: ReadJob, signal: AbortSignal) {
	const end = performance.now() + job.budgetMs;
	const last = Math.min(job.last, document.totalPages);
	const pages: PdfPage[] = [];
	let chars = 0;
	for (let number = job.first; number <= last; number++) {
		const page = readPage(document, number);
		pages.push(page);
		chars += page.text.length;
		if (chars >= job.maxChars || performance.now() >= end) break;
		// Lets an abort arrive between two pages.
		if (number < last) await setImmediate();
		if (signal.aborted) break;
	}
	return pages;
}

function readPage(document: PdfiumDocument, number: number): PdfPage {
	pagesLoaded++;
	const raw = document.page(number);
	return raw ? { number, ...pageText(raw) } : { number, text: "", warning: "unreadable" };
}

function closeDocument(id: number): void {
	const entry = openDocuments.get(id);
	openDocuments.delete(id);
	entry?.document?.close();
	entry?.file.free();
}
