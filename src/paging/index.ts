/**
 * Paging: web pages, PDFs and files read in chunks with one cursor contract. Chunks joined in order are the whole
 * extracted text; a cursor continues exactly there, or says that the content has changed.
 */
export { PagingError, type PagingErrorCode } from "./errors.ts";
export {
	createReader,
	instructions,
	maxChars,
	type PageAnswer,
	type PageRequest,
	type Reader,
	type ReaderOptions,
	readerOptions,
	readText,
} from "./reader.ts";
