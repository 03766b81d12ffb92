/** Worker entry: holds documents, open in pdfium, and answers one message after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { pageText, titleText } from "./page-text.ts";
import { loadPdfium, type OpenFailure, type PdfiumDocument, type PdfiumFile } from "./pdfium.ts";
import type {
	BytesPart,
	PageRange,
	PdfPage,
	ReadReply,
	WorkerReply,
	WorkerRequest,
	WorkerStart,
} from "./worker-messages.ts";

const { maxMemoryBytes, cancelled } = workerData as WorkerStart;
const pdfium = await loadPdfium({ maxMemoryBytes });
/** Documents by number. One is opened with the first call for it, when all of its bytes are there. */
const held = new Map<number, { file: PdfiumFile; document?: PdfiumDocument }>();
let pagesLoaded = 0;

parentPort?.on("message", (request: WorkerRequest) => {
	if (request.kind === "forget") forget(request.document);
	else reply(answer(request));
});
reply({ kind: "ready" });

function reply(message: WorkerReply): void {
	parentPort?.postMessage(message, message.kind === "stored" ? [message.buffer] : []);
}

function answer(request: Exclude<WorkerRequest, { kind: "forget" }>): WorkerReply {
	const { call } = request;
	try {
		const result = request.kind === "bytes" ? store(request) : read(request);
		// Short of memory pdfium may leave things out without saying so.
		if (pdfium.isOutOfMemory()) throw new Error("the memory limit was reached");
		return { call, ...result };
	} catch (error) {
		const reason = pdfium.isOutOfMemory() ? "memory" : "crash";
		return { kind: "broken", call, reason, detail: String(error) };
	}
}

function store(part: { document: number } & BytesPart): { kind: "stored"; buffer: ArrayBuffer } {
	const { document: id, buffer, length, offset, total } = part;
	const { file } = held.get(id) ?? { file: pdfium.reserve(total) };
	if (!held.has(id)) held.set(id, { file });
	file.write(new Uint8Array(buffer, 0, length), offset);
	return { kind: "stored", buffer };
}

function read(
	request: WorkerRequest & { kind: "read" },
): ({ kind: "read" } & ReadReply) | { kind: "refused"; reason: OpenFailure } {
	const entry = held.get(request.document);
	if (!entry) throw new Error(`document ${request.document} has no bytes`);
	const document = entry.document ?? entry.file.open();
	if (typeof document === "string") {
		forget(request.document);
		return { kind: "refused", reason: document };
	}
	entry.document = document;
	const pages = readPages(document, request.call, request);
	return {
		kind: "read",
		totalPages: document.totalPages,
		title: titleText(document.title),
		pages,
		worker: { pagesLoaded, openDocuments: held.size, memoryBytes: pdfium.memoryBytes() },
	};
}

function readPages(document: PdfiumDocument, call: number, range: PageRange): PdfPage[] {
	const end = performance.now() + range.budgetMs;
	const last = Math.min(range.first + range.count - 1, document.totalPages);
	const pages: PdfPage[] = [];
	let chars = 0;
	for (let number = range.first; number <= last; number++) {
		const page = readPage(document, number);
		pages.push(page);
		chars += page.text.length;
		if (chars >= range.maxChars || performance.now() >= end) break;
		if (Atomics.load(cancelled, 0) === call) break;
	}
	return pages;
}

function readPage(document: PdfiumDocument, number: number): PdfPage {
	pagesLoaded++;
	const raw = document.page(number);
	return raw ? { number, ...pageText(raw) } : { number, text: "", warning: "unreadable" };
}

function forget(id: number): void {
	const entry = held.get(id);
	held.delete(id);
	entry?.document?.close();
	entry?.file.free();
}
