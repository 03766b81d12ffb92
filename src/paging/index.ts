/**
 * Paging: web pages, PDFs and files read in chunks with one cursor contract. Chunks joined in order are the whole
 * extracted text; a cursor continues exactly there, or says that the content has changed.
 */
export { PagingError, type PagingErrorCode } from "./errors.ts";
export { instructions } from "./instructions.ts";
export {
	createReader,
	maxChars,
	type PageAnswer,
	type PageRequest,
	type Reader,
	type ReaderOptions,
	readText,
} from "./reader.ts";
export { readerOptions } from "./reader-options.ts";
