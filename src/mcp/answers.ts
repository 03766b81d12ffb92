import { join } from "node:path";
import { blobFolder, createBlobStore } from "../core/blob-store.ts";
import { isHash } from "../core/hash.ts";
import { expandHome } from "../core/places.ts";
import { decodePageToken, isPageToken, namesPdfPages } from "../core/read-input.ts";
import type * as Paging from "../paging/index.ts";
import { bytesOf } from "../text/clip.ts";
import { oneLine } from "../text/one-line.ts";
import type { PageCall, RecallCall, ToolCall } from "./tools.ts";
import type { Folder } from "./workspace.ts";

interface ToolAnswer {
	readonly text: string;
	/** Facts for programs. The text says what a model needs of them. */
	readonly details: Readonly<Record<string, unknown>>;
}

/** Who asks, and how to reach them. */
export interface Asker {
	readonly signal: AbortSignal;
	onProgress(message: string): void;
	/** Absent if the client cannot ask its user; `undefined` if the user does not answer. */
	readonly confirm?: (question: string) => Promise<boolean | undefined>;
}

/** Answers are at most this long unless a call asks for more. */
const MAX_BYTES = 5_000;
const DEFAULT_CHARS = 4_000;

export async function answer(call: ToolCall, folder: Folder, asker: Asker): Promise<ToolAnswer> {
	if (call.name === "read_page") {
		const { uri: symbol } = call.input;
		if (!(await namesSymbol(symbol, folder))) {
			return await readPage(call.input, folder, asker.signal);
		}
		return await answer({ name: "kota_symbol", input: { symbol } }, folder, asker);
	}
	if (call.name === "strata_recall") return await recall(call.input, folder);
	const { code, project, paths } = await folder.code();
	const { signal, confirm } = asker;
	const { maxAnswerBytes: maxBytes } = folder.config.kota;
	return await code.runTool(call.name, call.input as never, {
		...{ project, paths, now: Date.now, delivery: { maxBytes, blobs: folder.blobs } },
		caller: {
			signal,
			onProgress: (progress) => asker.onProgress(code.progressText(progress)),
			...(confirm && { confirm: (status) => confirm(code.consentText(status)) }),
		},
	});
}

/** Whether a path is `file#symbol`, and no file has that very name. */
async function namesSymbol(uri: string, folder: Folder): Promise<boolean> {
	if (!folder.config.kota.enabled || !/^(?!\w+:)[^#]*[^#/]#./.test(uri)) return false;
	if (namesPdfPages(uri)) return false;
	const { paths, project } = await folder.code();
	const { file, symbol } = paths.target(uri);
	if (file === undefined || symbol === undefined) return false;
	return paths.isFile(join(project.root, file));
}

async function readPage(call: PageCall, folder: Folder, signal: AbortSignal): Promise<ToolAnswer> {
	const { uri, ...continued } = continuedQuery(call.uri);
	// A shortened answer names the path of the whole one, which is outside of the project.
	if (createBlobStore(folder.config.blobs).idOf(expandHome(uri)) !== undefined) {
		return await recall({ ...call, id: call.uri }, folder);
	}
	const reader = await folder.reader();
	const query = { uri, ...continued, ...(call.pages !== undefined && pagesOf(call.pages)) };
	const { remarkIfBlank } = await import("../paging/index.ts");
	return await pageWithin(call.max_chars, query, "read_page with uri", async (sized) =>
		remarkIfBlank(await reader.read(sized, signal), sized),
	);
}

async function recall(call: RecallCall, folder: Folder): Promise<ToolAnswer> {
	const { uri, ...continued } = continuedQuery(call.id.trim());
	const store = createBlobStore(folder.config.blobs);
	const id = isHash(uri) ? uri : store.idOf(expandHome(uri));
	if (id === undefined) {
		const where = blobFolder(folder.config.blobs);
		throw new Error(
			`"${oneLine(uri).slice(0, 200)}" names no stored text: give the path or id that a shortened result names (a file in ${where})`,
		);
	}
	const found = await store.load(id);
	if (found.kind !== "found") {
		const why = found.kind === "failed" ? found.why : "it was deleted, or not used for long";
		throw new Error(`That text is gone (${why}): repeat the call that produced it`);
	}
	const { readText } = await import("../paging/index.ts");
	const query = { uri: id, ...continued };
	return await pageWithin(call.max_chars, query, "strata_recall with id", (sized) =>
		readText(found.text, sized),
	);
}

/** A token says where to go on, and in what size. */
function continuedQuery(uri: string): Paging.ChunkQuery {
	if (!isPageToken(uri)) return { uri };
	const token = decodePageToken(uri);
	if (!token) {
		throw new Error(
			`"${oneLine(uri).slice(0, 200)}" is not a token of an answer: copy it as it was, or read from the beginning`,
		);
	}
	const { cursor, maxChars: max_chars, lastPage: last, everything } = token;
	return {
		...{ uri: token.uri, cursor, max_chars },
		...(last !== undefined && { pages: { last } }),
		...(everything && { everything }),
	};
}

function pagesOf(pages: string): Pick<Paging.ChunkQuery, "pages"> {
	const [, first, last] = /^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$/.exec(pages) ?? [];
	if (first === undefined) {
		throw new Error(`pages must be a number or a range such as 3-7, got "${oneLine(pages)}"`);
	}
	return { pages: { first: Number(first), last: Number(last ?? first) } };
}

/** Reads a part. If no size was asked for, one that keeps the answer within the limit of bytes. */
async function pageWithin(
	asked: number | undefined,
	query: Paging.ChunkQuery,
	tool: string,
	read: (query: Paging.ChunkQuery) => Promise<Paging.Chunk>,
): Promise<ToolAnswer> {
	const { pageText } = await import("../paging/index.ts");
	let size = asked ?? query.max_chars ?? DEFAULT_CHARS;
	const isFixed = asked !== undefined || query.max_chars !== undefined;
	for (;;) {
		const chunk = await read({ ...query, max_chars: size });
		// A continuation has the size that the caller asked for, or none.
		const shown = isFixed ? { ...query, max_chars: size } : query;
		const text = pageText(chunk, shown, (token) => `To continue, call ${tool} ${token}`);
		const { content, ...details } = chunk;
		const over = bytesOf(text) - MAX_BYTES;
		if (isFixed || over <= 0 || size <= MIN_CHARS) return { text, details };
		const bytesAChar = Math.max(1, bytesOf(content) / Math.max(1, content.length));
		const most = Math.floor(Math.min(size, content.length) - over / bytesAChar);
		size = Math.max(MIN_CHARS, Math.min(most, size - 1));
	}
}

/** The least that paging reads at once. */
const MIN_CHARS = 64;
