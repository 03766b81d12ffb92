import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { parse, resolve } from "node:path";
import { AbortedError } from "../core/aborted.ts";
import { type BlobStore, blobFolder, createBlobStore } from "../core/blob-store.ts";
import { property } from "../core/property.ts";
import { decodePageToken, isPageToken, namesPdfPages } from "../core/read-input.ts";
import type { ReadAnswer, ReadCall, SessionView, System } from "../session/index.ts";
import { blobNamed, parseShorthand, pathCandidates } from "../session/read-path.ts";
import { isArchive, isCompoundFile } from "./fetch/magic.ts";
import type { Chunk, ChunkQuery, PagedReader } from "./paged-reader.ts";

const GUIDELINE =
	"read also takes https:// addresses, PDFs (file.pdf#page=12), office documents and books; when an answer ends with a page:… token, read that token as the path to continue.";

/** Serves a path with a fragment, such as `file#symbol`; `undefined` if it is none of its own. */
type FragmentRead = (call: ReadCall, session: SessionView) => Promise<ReadAnswer | undefined>;

/** Serves web and `file:` addresses, PDFs and continuation tokens of the `read` tool. */
export function createPagingSystem(
	readFragment?: FragmentRead,
): System & Required<Pick<System, "read" | "stop">> {
	let sessionReaders = new SessionReaders();
	return {
		name: "paging",
		readGuideline: GUIDELINE,
		async read(call, session, plain) {
			const { config, cwd } = session;
			const mayHavePart = call.path.includes("#") && !namesPdfPages(call.path);
			const part = mayHavePart ? await readFragment?.(call, session) : undefined;
			if (part) return part;
			const blobs = createBlobStore(config.blobs);
			const readers = sessionReaders;
			const named = blobNamed(call.path, cwd, blobs);
			if (named === undefined) {
				// The read cache strips a line range after a blob's path unless the blob is damaged. This reports it.
				const shorthand = parseShorthand(call.path);
				const blob = shorthand && blobNamed(shorthand.path, cwd, blobs);
				if (blob !== undefined) await loadBlob(blob, blobs);
			} else if (!config.paging.enabled || hasRange(call)) {
				// Pi formats the verified text by its own rules, but never shows it as an image.
				return plain(call, Buffer.from(await loadBlob(named, blobs)));
			}
			if (!config.paging.enabled) return undefined;
			const query = await queryFor(call, cwd, named !== undefined);
			if (!query) return undefined;
			const blob = blobNamed(query.uri, cwd, blobs);
			if (blob !== undefined) {
				const text = await loadBlob(blob, blobs);
				const { readText } = await import("./paged-reader.ts");
				return await toolAnswer(await readText(text, query), query);
			}
			if (!isPageToken(call.path)) readers.openedByPath.add(query.uri);
			const reader = await readers.get(query, session);
			const chunk = await reader.read(query, call.signal).catch(asToolError);
			const { remarkIfBlank } = await import("./paged-reader.ts");
			return await toolAnswer(remarkIfBlank(chunk, query), query);
		},
		status: ({ config }) =>
			config.paging.enabled
				? { on: true, why: "web pages, PDFs and file: addresses are read in chunks" }
				: { on: false, why: "paging.enabled is false" },
		async stop() {
			const ended = sessionReaders;
			sessionReaders = new SessionReaders();
			await ended.close();
		},
	};
}

class SessionReaders {
	/** Resources that the model named by path, not by token. Such files may be outside the project. */
	readonly openedByPath = new Set<string>();
	readonly #byRoot = new Map<string, PagedReader>();
	#isClosed = false;

	// `file:` addresses are confined to the project. A plain path is not, as in pi's own read, if the model
	// named it in a call that the user could review. A token does not count: it may come from a hostile page.
	// The reader loads on first use, since most sessions never read a page.
	async get({ uri }: ChunkQuery, { config, cwd }: SessionView): Promise<PagedReader> {
		const { createPagedReader } = await import("./paged-reader.ts");
		// The session ended meanwhile: a reader created now would never be closed.
		if (this.#isClosed) throw new AbortedError();
		const root = isAddress(uri) || !this.openedByPath.has(uri) ? cwd : parse(uri).root;
		// The folder of pruned texts can be read too, by path or by token.
		const readOnlyRoots = [blobFolder(config.blobs)];
		const reader =
			this.#byRoot.get(root) ?? createPagedReader({ ...config.paging, root, readOnlyRoots });
		this.#byRoot.set(root, reader);
		return reader;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await Promise.all(Array.from(this.#byRoot.values(), (reader) => reader.close()));
	}
}

/** A single letter before the colon is a Windows drive, not a scheme. */
const isAddress = (uri: string) => /^[a-z][a-z\d+.-]+:/i.test(uri);

/** Throws if the blob is missing or damaged, so that nothing else is mistaken for its text. */
async function loadBlob(id: string, blobs: BlobStore): Promise<string> {
	const found = await blobs.load(id);
	if (found.kind === "found") return found.text;
	const why = found.kind === "failed" ? found.why : "it was deleted, or not used for long";
	const message = `The full text of that result is gone (${why}). To have it again, repeat the call that the stub names.`;
	throw new Error(message);
}

/** Returns `undefined` if paging does not handle the call. */
async function queryFor(
	call: ReadCall,
	cwd: string,
	isBlob: boolean,
): Promise<ChunkQuery | undefined> {
	const { path, offset, limit } = call;
	if (isPageToken(path)) {
		const token = decodePageToken(path);
		if (!token) {
			const message = `"${path.slice(0, 200)}" is not a token that read gave out: copy it as it was, or read the resource again`;
			throw new Error(message);
		}
		refuseRange(call);
		const { cursor, maxChars, lastPage, everything } = token;
		const uri = isAddress(token.uri) ? token.uri : findFile(token.uri, cwd);
		return { uri, cursor, max_chars: maxChars, pages: { last: lastPage }, everything };
	}
	if (/^(?:https?|file):/i.test(path)) {
		refuseRange(call);
		return { uri: path };
	}
	if (isBlob) return { uri: pathCandidates(path, cwd)[0] ?? path };
	if (DOCUMENT.test(path) && !hasRange(call)) {
		// Of a compound file, the answer says why it is not read.
		const isDocument = (start: Buffer) => isArchive(start) || isCompoundFile(start);
		const file = await findByStart(path, cwd, isDocument);
		return file === undefined ? undefined : { uri: file };
	}
	const [, file, pages] = /^(.*\.pdf)(#page=[\d-]+)?$/is.exec(path) ?? [];
	if (file === undefined) return undefined;
	const pdf = await findByStart(file, cwd, (start) => start.includes("%PDF-"));
	if (!pdf) return undefined;
	if (pages !== undefined && !hasRange(call)) return { uri: `${pdf}${pages}` };
	const last = limit === undefined ? undefined : (offset ?? 1) + limit - 1;
	return { uri: pdf, pages: { first: offset, last } };
}

function hasRange({ offset, limit }: ReadCall): boolean {
	return offset !== undefined || limit !== undefined;
}

function refuseRange(call: ReadCall): void {
	if (!hasRange(call)) return;
	const message =
		"offset and limit do not apply here: continue with the page:… token of the answer before";
	throw new Error(message);
}

/** Returns the file that pi would read. If none exists, returns the path resolved against `cwd`. */
function findFile(path: string, cwd: string): string {
	return pathCandidates(path, cwd).find((file) => existsSync(file)) ?? resolve(cwd, path);
}

/** Without O_NONBLOCK (absent on Windows), opening a pipe blocks until it has a writer. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Files that pi's own read would show as unreadable bytes. */
const DOCUMENT = /\.(?:doc[mx]?|xls[mx]?|pp[st][mx]?|odt|ods|odp|epub|zip|gz|tgz|tar|jar|whl)$/i;

/** Returns the file that pi would read, if it begins as expected. */
async function findByStart(
	path: string,
	cwd: string,
	isExpected: (start: Buffer) => boolean,
): Promise<string | undefined> {
	for (const candidate of pathCandidates(path, cwd)) {
		const file = await open(candidate, READ_FLAGS).catch(() => undefined);
		if (!file) continue;
		try {
			if (!(await file.stat()).isFile()) return undefined;
			const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
			return isExpected(buffer.subarray(0, bytesRead)) ? candidate : undefined;
		} finally {
			await file.close();
		}
	}
	return undefined;
}

async function toolAnswer(chunk: Chunk, query: ChunkQuery): Promise<ReadAnswer> {
	const { pageText } = await import("./paged-reader.ts");
	const { content: _, ...details } = chunk;
	const text = pageText(chunk, query, (token) => `To continue, read: ${token}`);
	return { content: [{ type: "text", text }], details };
}

/** Pi expects a failed tool to throw. An aborted call throws pi's own message. */
function asToolError(error: unknown): never {
	if (property(error, "code") === "aborted") throw new AbortedError(error);
	throw error;
}
