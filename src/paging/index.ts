/**
 * Reads web pages, PDFs and files in chunks. Chunks joined in order are the whole extracted text. A read
 * with a cursor continues where the last chunk ended, or reports that the content changed.
 */

export { PagingError, type PagingErrorCode } from "./errors.ts";
export { leftOutLine } from "./extract/left-out.ts";
export {
	type Chunk,
	type ChunkQuery,
	createPagedReader,
	instructions,
	type PagedReader,
	pageText,
	readText,
	remarkIfBlank,
} from "./paged-reader.ts";
export type { PagedReaderOptions } from "./resource-loader.ts";
