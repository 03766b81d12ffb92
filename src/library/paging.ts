/**
 * Reads web pages, PDFs and files in chunks of a bounded size. Chunks joined in order are the whole
 * extracted text. A cursor continues exactly where its chunk ended; if the content has changed, the
 * answer says so and starts over. Files must be below the root. Private and other special network
 * addresses are refused unless allowed. A reader holds a cache and worker threads, so close it after use.
 *
 * @example
 * Prints a whole file, page or PDF, 2,000 characters at a time.
 * ```ts
 * import { createPagedReader, PagingError } from "pi-strata/paging";
 *
 * const uri = process.argv[2] ?? "README.md";
 * const reader = createPagedReader({ root: process.cwd() });
 * try {
 * 	let cursor: string | undefined;
 * 	do {
 * 		const chunk = await reader.read({ uri, cursor, max_chars: 2_000 });
 * 		process.stdout.write(chunk.content);
 * 		cursor = chunk.next_cursor;
 * 	} while (cursor !== undefined);
 * } catch (error) {
 * 	if (!(error instanceof PagingError)) throw error;
 * 	console.error(`${error.code}: ${error.message}`);
 * 	process.exitCode = 1;
 * } finally {
 * 	await reader.close();
 * }
 * ```
 */
export {
	type Chunk,
	type ChunkQuery,
	createPagedReader,
	type PagedReader,
	type PagedReaderOptions,
	PagingError,
	type PagingErrorCode,
	readText,
} from "../paging/index.ts";
