import { readFile } from "node:fs/promises";
import { PDFiumModule } from "@hyzyla/pdfium";
import type { RawPage } from "./page-text.ts";

export type PdfiumFile = ReturnType<typeof reserveFile>;

export type PdfiumDocument = ReturnType<typeof openDocument>;

export type OpenFailure = "format" | "password";

/** Loads pdfium as WebAssembly. Every call blocks its thread, so use it in a worker. */
export async function loadPdfium({ maxMemoryBytes }: { maxMemoryBytes: number }) {
	const file = new URL(import.meta.resolve("@hyzyla/pdfium/pdfium.wasm"));
	const compiled = await wasm.compile(await readFile(file));
	let outOfMemory = false;
	const { wasmExports } = await PDFiumModule({
		instantiateWasm: (imports, done) => {
			const env = imports.env as unknown as HeapImports;
			const grow = env.emscripten_resize_heap;
			env.emscripten_resize_heap = (size) => {
				// The size is unsigned, but JavaScript receives it as a signed number.
				if (size >>> 0 <= maxMemoryBytes) return grow(size);
				outOfMemory = true;
				return false;
			};
			wasm.instantiate(compiled, imports).then((instance) => done(instance as never));
			return {};
		},
	});
	// The package's types name only a few functions, wrapped in assertions. These are the raw exports.
	const api = wasmExports as unknown as PdfiumExports;
	api.FPDF_InitLibrary();
	return {
		reserve: (size: number) => reserveFile(api, size),
		/** Memory in use or kept for reuse; it never shrinks. */
		memoryBytes: () => api.memory.buffer.byteLength,
		/** Once this is true, no result of this instance is reliable. */
		isOutOfMemory: () => outOfMemory,
	};
}

/** Values of `FPDF_GetLastError`: password needed, unknown encryption. */
const ENCRYPTED = [4, 5];

function reserveFile(api: PdfiumExports, size: number) {
	const address = allocate(api, size);
	return {
		write: (part: Uint8Array, offset: number) =>
			new Uint8Array(api.memory.buffer).set(part, address + offset),
		open(): PdfiumDocument | OpenFailure {
			const handle = api.FPDF_LoadMemDocument(address, size, 0);
			if (handle !== 0) return openDocument(api, handle, size);
			return ENCRYPTED.includes(api.FPDF_GetLastError()) ? "password" : "format";
		},
		/** Call this only after the document is closed. */
		free: () => api.free(address),
	};
}

function openDocument(api: PdfiumExports, handle: number, size: number) {
	return {
		// The document's own count is untrusted. The file size bounds it, since a page takes more than a byte.
		totalPages: Math.min(api.FPDF_GetPageCount(handle), size),
		/** Untrusted text. */
		title: metaText(api, handle, "Title"),
		/** `number` counts from 1. Returns `undefined` for a page that cannot be loaded. */
		page(number: number): RawPage | undefined {
			const page = api.FPDF_LoadPage(handle, number - 1);
			if (page === 0) return undefined;
			const raw = rawPage(api, page);
			api.FPDF_ClosePage(page);
			return raw;
		},
		close: () => api.FPDF_CloseDocument(handle),
	};
}

function rawPage(api: PdfiumExports, page: number): RawPage | undefined {
	const painted = api.FPDFPage_CountObjects(page) > 0;
	const textPage = api.FPDFText_LoadPage(page);
	if (textPage === 0) return undefined;
	const count = api.FPDFText_CountChars(textPage);
	const text = readUtf16(api, 2 * (count + 1), (buffer) => {
		return 2 * api.FPDFText_GetText(textPage, 0, count, buffer);
	});
	const hyphens: number[] = [];
	for (let at = text.indexOf("\ufffe"); at >= 0; at = text.indexOf("\ufffe", at + 1)) {
		const character = api.FPDFText_GetCharIndexFromTextIndex(textPage, at);
		if (api.FPDFText_IsHyphen(textPage, character) === 1) hyphens.push(at);
	}
	api.FPDFText_ClosePage(textPage);
	return { text, hyphens, painted };
}

function metaText(api: PdfiumExports, document: number, key: string): string {
	const name = Buffer.from(`${key}\0`);
	const tag = allocate(api, name.length);
	new Uint8Array(api.memory.buffer).set(name, tag);
	const size = api.FPDF_GetMetaText(document, tag, 0, 0);
	const text = readUtf16(api, size, (buffer) => api.FPDF_GetMetaText(document, tag, buffer, size));
	api.free(tag);
	return text;
}

/** `fill` returns how many bytes it wrote, including the final NUL. */
function readUtf16(api: PdfiumExports, size: number, fill: (buffer: number) => number): string {
	const buffer = allocate(api, Math.max(size, 2));
	const written = Math.min(fill(buffer), size);
	const text = Buffer.from(api.memory.buffer, buffer, Math.max(0, written - 2)).toString("utf16le");
	api.free(buffer);
	return text;
}

function allocate(api: PdfiumExports, size: number): number {
	const address = api.malloc(size);
	if (address === 0) throw new Error(`pdfium has no ${size} bytes of memory left`);
	return address;
}

/** TypeScript has types for WebAssembly only in its DOM library, which is not used here. */
const wasm = (globalThis as unknown as { WebAssembly: WebAssemblyCompiler }).WebAssembly;

interface WebAssemblyCompiler {
	compile(bytes: Uint8Array): Promise<object>;
	instantiate(module: object, imports: object): Promise<object>;
}

interface HeapImports {
	emscripten_resize_heap: (size: number) => boolean;
}

/** Pointers and handles are numbers; 0 means failure. */
interface PdfiumExports {
	readonly memory: { buffer: ArrayBuffer };
	malloc(size: number): number;
	free(address: number): void;
	FPDF_InitLibrary(): void;
	FPDF_LoadMemDocument(bytes: number, size: number, password: number): number;
	FPDF_CloseDocument(document: number): void;
	FPDF_GetLastError(): number;
	FPDF_GetPageCount(document: number): number;
	FPDF_GetMetaText(document: number, tag: number, buffer: number, size: number): number;
	FPDF_LoadPage(document: number, index: number): number;
	FPDF_ClosePage(page: number): void;
	FPDFPage_CountObjects(page: number): number;
	FPDFText_LoadPage(page: number): number;
	FPDFText_ClosePage(textPage: number): void;
	FPDFText_CountChars(textPage: number): number;
	FPDFText_GetText(textPage: number, start: number, count: number, buffer: number): number;
	FPDFText_GetCharIndexFromTextIndex(textPage: number, index: number): number;
	FPDFText_IsHyphen(textPage: number, index: number): number;
}
