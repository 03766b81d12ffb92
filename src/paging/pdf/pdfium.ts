import { readFile } from "node:fs/promises";
import { PDFiumModule } from "@hyzyla/pdfium";
import { type CharBox, composeAccents } from "./accents.ts";
import { type RawPage, titleText } from "./page-text.ts";
import { readPieces } from "./pieces.ts";

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
		open(password?: string): PdfiumDocument | OpenFailure {
			const secret = password === undefined ? 0 : writeString(api, password);
			const handle = api.FPDF_LoadMemDocument(address, size, secret);
			if (secret !== 0) api.free(secret);
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
		outline: () => readOutline(api, handle),
		close: () => api.FPDF_CloseDocument(handle),
	};
}

function rawPage(api: PdfiumExports, page: number): RawPage | undefined {
	const painted = api.FPDFPage_CountObjects(page) > 0;
	const textPage = api.FPDFText_LoadPage(page);
	if (textPage === 0) return undefined;
	const count = api.FPDFText_CountChars(textPage);
	const drawn = readUtf16(api, 2 * (count + 1), (buffer) => {
		return 2 * api.FPDFText_GetText(textPage, 0, count, buffer);
	});
	const boxes = charBoxes(api, textPage, drawn.length === count);
	const text = composeAccents(drawn, boxes.at);
	const hyphens: number[] = [];
	for (let at = text.indexOf("\ufffe"); at >= 0; at = text.indexOf("\ufffe", at + 1)) {
		const character = api.FPDFText_GetCharIndexFromTextIndex(textPage, at);
		if (api.FPDFText_IsHyphen(textPage, character) === 1) hyphens.push(at);
	}
	const pieces = text.length > MAX_LAYOUT_CHARS ? [] : readPieces(text, boxes.at);
	boxes.free();
	api.FPDFText_ClosePage(textPage);
	return { text, hyphens, painted, notes: readNotes(api, page), pieces };
}

/** Pages with more characters are not searched for tables. */
const MAX_LAYOUT_CHARS = 20_000;

/** Where the characters of a page are. `isSame`: indices of the text are those of the characters. */
function charBoxes(api: PdfiumExports, textPage: number, isSame: boolean) {
	const address = allocate(api, 32);
	return {
		at(index: number): CharBox | undefined {
			const character = isSame ? index : api.FPDFText_GetCharIndexFromTextIndex(textPage, index);
			const edges = [address, address + 8, address + 16, address + 24] as const;
			if (api.FPDFText_GetCharBox(textPage, character, ...edges) === 0) return undefined;
			const box = new Float64Array(api.memory.buffer, address, 4);
			const [left = 0, right = 0, bottom = 0, top = 0] = box;
			return { left, right, bottom, top };
		},
		free: () => api.free(address),
	};
}

/** A heading of a document's outline. `page` counts from 1. */
export interface OutlineEntry {
	readonly title: string;
	readonly level: number;
	readonly page: number;
}

/** Entries of an outline that are read; an outline may be a circle. */
const MAX_OUTLINE = 500;
const MAX_OUTLINE_DEPTH = 6;

function readOutline(api: PdfiumExports, document: number): OutlineEntry[] {
	const entries: OutlineEntry[] = [];
	const visit = (parent: number, level: number): void => {
		let bookmark = api.FPDFBookmark_GetFirstChild(document, parent);
		while (bookmark !== 0 && entries.length < MAX_OUTLINE) {
			const size = Math.min(1000, api.FPDFBookmark_GetTitle(bookmark, 0, 0));
			const current = bookmark;
			const raw = readUtf16(api, size, (buffer) =>
				api.FPDFBookmark_GetTitle(current, buffer, size),
			);
			const page =
				api.FPDFDest_GetDestPageIndex(document, api.FPDFBookmark_GetDest(document, bookmark)) + 1;
			entries.push({ title: titleText(raw), level, page: Math.max(0, page) });
			if (level < MAX_OUTLINE_DEPTH) visit(bookmark, level + 1);
			bookmark = api.FPDFBookmark_GetNextSibling(document, bookmark);
		}
	};
	visit(0, 1);
	return entries.filter(({ title, page }) => title !== "" && page > 0);
}

/** Annotations with text of their own: free text, fields of forms, notes. */
const TEXT_NOTE = 1;
const FREE_TEXT = 3;
const HIGHLIGHTS = [9, 10, 11, 12];
const WIDGET = 20;
const MAX_NOTES = 500;
const MAX_ANNOTATIONS = 20_000;

function readNotes(api: PdfiumExports, page: number): string[] {
	const notes: string[] = [];
	const count = Math.min(MAX_ANNOTATIONS, api.FPDFPage_GetAnnotCount(page));
	for (let i = 0; i < count; i++) {
		if (notes.length === MAX_NOTES) {
			notes.push("The page has more notes than are read.");
			break;
		}
		const annotation = api.FPDFPage_GetAnnot(page, i);
		if (annotation === 0) continue;
		const kind = api.FPDFAnnot_GetSubtype(annotation);
		const value = (key: string) => annotationText(api, annotation, key);
		if (kind === WIDGET) {
			const filled = value("V");
			const name = value("TU") || value("T");
			if (filled !== "" && filled !== "Off")
				notes.push(name === "" ? filled : `${name}: ${filled}`);
		} else if (kind === FREE_TEXT || kind === TEXT_NOTE || HIGHLIGHTS.includes(kind)) {
			const text = value("Contents");
			if (text !== "") notes.push(kind === FREE_TEXT ? text : `Note: ${text}`);
		}
		api.FPDFPage_CloseAnnot(annotation);
	}
	return notes;
}

function annotationText(api: PdfiumExports, annotation: number, key: string): string {
	const tag = writeString(api, key);
	const size = Math.min(20_000, api.FPDFAnnot_GetStringValue(annotation, tag, 0, 0));
	const text = readUtf16(api, size, (buffer) =>
		api.FPDFAnnot_GetStringValue(annotation, tag, buffer, size),
	);
	api.free(tag);
	return text.trim();
}

function metaText(api: PdfiumExports, document: number, key: string): string {
	const tag = writeString(api, key);
	const size = api.FPDF_GetMetaText(document, tag, 0, 0);
	const text = readUtf16(api, size, (buffer) => api.FPDF_GetMetaText(document, tag, buffer, size));
	api.free(tag);
	return text;
}

/** The caller frees the result. */
function writeString(api: PdfiumExports, text: string): number {
	const bytes = Buffer.from(`${text}\0`);
	const address = allocate(api, bytes.length);
	new Uint8Array(api.memory.buffer).set(bytes, address);
	return address;
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
	/** Writes left, right, bottom and top as doubles. */
	FPDFText_GetCharBox(
		textPage: number,
		index: number,
		left: number,
		right: number,
		bottom: number,
		top: number,
	): number;
	FPDFPage_GetAnnotCount(page: number): number;
	FPDFPage_GetAnnot(page: number, index: number): number;
	FPDFPage_CloseAnnot(annotation: number): void;
	FPDFAnnot_GetSubtype(annotation: number): number;
	FPDFAnnot_GetStringValue(annotation: number, key: number, buffer: number, size: number): number;
	FPDFBookmark_GetFirstChild(document: number, bookmark: number): number;
	FPDFBookmark_GetNextSibling(document: number, bookmark: number): number;
	FPDFBookmark_GetTitle(bookmark: number, buffer: number, size: number): number;
	FPDFBookmark_GetDest(document: number, bookmark: number): number;
	FPDFDest_GetDestPageIndex(document: number, destination: number): number;
}
