/**
 * Reads web pages, PDFs and files in chunks. Joined in order, chunks are the whole extracted text;
 * a cursor continues where the last chunk ended or reports that the content changed.
 */
export { PagingError, type PagingErrorCode } from "./errors.ts";
export type { ReaderOptions } from "./library.ts";
export {
	createReader,
	instructions,
	type PageAnswer,
	type PageRequest,
	type Reader,
	readText,
} from "./reader.ts";
