import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { parse, resolve } from "node:path";
import { AbortedError } from "../core/aborted.ts";
import { type BlobStore, blobFolder, createBlobStore } from "../core/blob-store.ts";
import { property } from "../core/property.ts";
import { decodePageToken, encodePageToken, isPageToken } from "../core/read-input.ts";
import type { ReadAnswer, ReadCall, SessionView, System } from "../session/index.ts";
import { addressedPath, parseShorthand, pathCandidates } from "../session/read-path.ts";
import type { PageAnswer, PageRequest, Reader } from "./reader.ts";

const GUIDELINE =
	"read also takes https:// addresses and PDFs; when an answer ends with a page:… token, read that token as the path to continue.";

/** Serves web and `file:` addresses, PDFs and continuation tokens of the `read` tool. */
export function createPagingSystem(): System & Required<Pick<System, "read" | "stop">> {
	/** By root; of one session. */
	let readers = new Map<string, Reader>();
	/** Files outside the project that the model named by path. */
	const openedByPath = new Set<string>();

	return {
		name: "paging",
		readGuideline: GUIDELINE,
		async read(call, session, plain) {
			const { config, cwd } = session;
			const blobs = createBlobStore(config.blobs);
			const ofSession = readers;
			const named = blobNamed(call.path, cwd, blobs);
			if (named === undefined) {
				// The read cache removes a line range after such a path, unless the copy is damaged.
				const shorthand = parseShorthand(call.path);
				const blob = shorthand && blobNamed(shorthand.path, cwd, blobs);
				if (blob !== undefined) await loadBlob(blob, blobs);
			} else if (!config.paging.enabled || hasRange(call)) {
				// Pi's display rules on the verified text, never as an image.
				return plain(call, Buffer.from(await loadBlob(named, blobs)));
			}
			if (!config.paging.enabled) return undefined;
			const request = await requestFor(call, cwd, named !== undefined);
			if (!request) return undefined;
			const blob = blobNamed(request.uri, cwd, blobs);
			if (blob !== undefined) {
				const text = await loadBlob(blob, blobs);
				const { readText } = await import("./reader.ts");
				return toolAnswer(await readText(text, request), request);
			}
			if (!isPageToken(call.path)) openedByPath.add(request.uri);
			const reader = await readerFor(request, session, ofSession);
			const answer = await reader.read(request, call.signal).catch(asToolError);
			const content = hasNoText(answer, request) ? "[no text]" : answer.content;
			return toolAnswer({ ...answer, content }, request);
		},
		status: ({ config }) =>
			config.paging.enabled
				? { on: true, why: "web pages, PDFs and file: addresses are read in chunks" }
				: { on: false, why: "paging.enabled is false" },
		async stop() {
			const closing = readers;
			readers = new Map();
			openedByPath.clear();
			await Promise.all(Array.from(closing.values(), (reader) => reader.close()));
		},
	};

	// Addresses are confined to the project; a plain path is not, as in pi's own read. But a reviewer
	// of the model's calls must have seen that path: a token may come from a hostile web page.
	// Readers load lazily: most sessions never read a page.
	async function readerFor(
		{ uri }: PageRequest,
		{ config, cwd }: SessionView,
		ofSession: typeof readers,
	): Promise<Reader> {
		const { createReader } = await import("./reader.ts");
		// The session ended meanwhile: a reader created now would never be closed.
		if (ofSession !== readers) throw new AbortedError();
		const root = isAddress(uri) || !openedByPath.has(uri) ? cwd : parse(uri).root;
		// Pruned texts are read from their folder, by path or by token.
		const readOnlyRoots = [blobFolder(config.blobs)];
		const reader = readers.get(root) ?? createReader({ ...config.paging, root, readOnlyRoots });
		readers.set(root, reader);
		return reader;
	}
}

/** A single letter is a Windows drive. */
function isAddress(uri: string): boolean {
	return /^[a-z][a-z\d+.-]+:/i.test(uri);
}

function blobNamed(written: string, cwd: string, blobs: BlobStore): string | undefined {
	if (isPageToken(written) || /^https?:/i.test(written)) return undefined;
	try {
		return blobs.idOf(addressedPath(written, cwd) ?? pathCandidates(written, cwd)[0] ?? written);
	} catch {
		return undefined; // an address that names no file
	}
}

/** A missing or damaged blob must not pass for the text. */
async function loadBlob(id: string, blobs: BlobStore): Promise<string> {
	const found = await blobs.load(id);
	if (found.kind === "found") return found.text;
	const why = found.kind === "failed" ? found.why : "it was deleted, or not used for long";
	throw new Error(
		`The full text of that result is gone (${why}). To have it again, repeat the call that the stub names.`,
	);
}

/** `undefined` when the call is not paging's. */
async function requestFor(
	call: ReadCall,
	cwd: string,
	isBlob: boolean,
): Promise<PageRequest | undefined> {
	const { path, offset, limit } = call;
	if (isPageToken(path)) {
		const token = decodePageToken(path);
		if (!token)
			throw new Error(
				`"${path.slice(0, 200)}" is not a token that read gave out: copy it as it was, or read the resource anew`,
			);
		refuseRange(call);
		const { cursor, maxChars, lastPage } = token;
		const uri = isAddress(token.uri) ? token.uri : findFile(token.uri, cwd);
		return { uri, cursor, max_chars: maxChars, pages: { last: lastPage } };
	}
	if (/^(?:https?|file):/i.test(path)) {
		refuseRange(call);
		return { uri: path };
	}
	if (isBlob) return { uri: pathCandidates(path, cwd)[0] ?? path };
	const pdf = /\.pdf$/i.test(path) ? await findPdf(path, cwd) : undefined;
	if (!pdf) return undefined;
	const last = limit === undefined ? undefined : (offset ?? 1) + limit - 1;
	return { uri: pdf, pages: { first: offset, last } };
}

function hasRange({ offset, limit }: ReadCall): boolean {
	return offset !== undefined || limit !== undefined;
}

function refuseRange(call: ReadCall): void {
	if (!hasRange(call)) return;
	throw new Error(
		"offset and limit do not apply here: continue with the page:… token of the answer before",
	);
}

/** The file pi would take; a missing one as written. */
function findFile(path: string, cwd: string): string {
	return pathCandidates(path, cwd).find((file) => existsSync(file)) ?? resolve(cwd, path);
}

/** Without O_NONBLOCK (absent on Windows), opening a pipe blocks until it has a writer. */
const readFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

async function findPdf(path: string, cwd: string): Promise<string | undefined> {
	for (const candidate of pathCandidates(path, cwd)) {
		const file = await open(candidate, readFlags).catch(() => undefined);
		if (!file) continue;
		try {
			if (!(await file.stat()).isFile()) return undefined;
			const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
			return buffer.subarray(0, bytesRead).includes("%PDF-") ? candidate : undefined;
		} finally {
			await file.close();
		}
	}
	return undefined;
}

/** True only if the whole resource is blank, not a part of it. */
function hasNoText(answer: PageAnswer, request: PageRequest): boolean {
	const isFirst = request.cursor === undefined || answer.cursor_reset === true;
	return isFirst && !answer.truncated && answer.content.trimEnd() === "";
}

function toolAnswer({ content, ...details }: PageAnswer, request: PageRequest): ReadAnswer {
	const { cursor_reset, degraded, warning } = details;
	const notes = [
		cursor_reset && "The content has changed since the last read: this is its beginning.",
		degraded && "This page was too large for the full conversion: its layout may be rough.",
		warning,
		continuation(details, request),
	].flatMap((note) => (note ? `[${note}]` : []));
	return { content: [{ type: "text", text: [content, ...notes].join("\n\n") }], details };
}

function continuation(answer: Omit<PageAnswer, "content">, request: PageRequest) {
	const { page_info: pages, next_cursor: cursor, total_chars: total } = answer;
	const where = pages
		? `Pages ${pages.page_start}-${pages.page_end} of ${pages.total_pages}.`
		: total !== undefined && cursor
			? `Part of ${total} characters.`
			: undefined;
	if (!cursor) return where;
	const token = encodePageToken({
		uri: request.uri,
		cursor,
		...(request.max_chars !== undefined && { maxChars: request.max_chars }),
		...(request.pages?.last !== undefined && { lastPage: request.pages.last }),
	});
	return `${where ?? ""} To continue, read: ${token}`.trim();
}

/** Pi expects an exception from a failed tool; an abort has pi's own text. */
function asToolError(error: unknown): never {
	if (property(error, "code") === "aborted") throw new AbortedError(error);
	throw error;
}
