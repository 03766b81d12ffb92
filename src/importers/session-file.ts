import { type FileHandle, open, stat } from "node:fs/promises";
import { describeError, errnoOf } from "../core/errno.ts";
import type { SessionEntries } from "../economy/replay/index.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { geminiCli } from "./gemini-cli.ts";
import { type JsonValue, readJsonDocuments, readJsonLines } from "./json-values.ts";
import { opencode } from "./opencode.ts";
import { readOpencodeDatabase } from "./opencode-database.ts";
import { isStoredSession, readStoredSession } from "./opencode-storage.ts";
import { pi, piTranscript } from "./pi.ts";
import type {
	AgentName,
	Detail,
	ParsedSession,
	SessionFormat,
	SessionParser,
} from "./session-format.ts";

const FORMATS: readonly SessionFormat[] = [
	pi,
	piTranscript,
	claudeCode,
	codex,
	opencode,
	geminiCli,
];

/** A session of a file, or a sub-agent of one. */
export interface ImportedSession extends SessionEntries, ParsedSession {
	readonly agent: AgentName;
}

export interface SessionFileOptions {
	/** Maximum line length in bytes. Default: 32 MiB, enough for an answer with several large images. */
	readonly maxLineBytes?: number;
	/** Of a file that is no JSON lines and so is read as a whole. Default: 64 MiB. */
	readonly maxDocumentBytes?: number;
	/** Default: 200,000, some 200 MB of memory. */
	readonly maxEntries?: number;
	/** Maximum number of content blocks, which the last entry may exceed. Default: 500,000. */
	readonly maxBlocks?: number;
	/** Default: `contents`. */
	readonly detail?: Detail;
	readonly onProgress?: (bytes: number, ofBytes: number) => void;
}

const MIB = 1024 * 1024;

/** If nothing up to here is recognized, the file is no session. Agents begin with lines of their own. */
const MAX_UNKNOWN = { lines: 10_000, bytes: 16 * MIB };

/**
 * The sessions in a file, by its content: the file's own first, then its sub-agents. Counts
 * unusable lines; throws if the file is no session. Keeps hashes and sizes, not texts.
 */
export async function readSessions(
	file: string,
	options: SessionFileOptions = {},
): Promise<ImportedSession[]> {
	const { maxEntries = 200_000, maxBlocks = 500_000 } = options;
	let read: { readonly format: SessionFormat; readonly parser: SessionParser } | undefined;
	let waiting: unknown[] = [];
	let bytesRead = 0;
	const skipped = { damaged: 0, tooLong: 0, relinked: 0, surplus: 0 };
	const onBytes = (bytes: number) => {
		bytesRead = bytes;
	};
	const take = ({ format, parser }: NonNullable<typeof read>, value: unknown) => {
		for (const line of format.lines?.(value) ?? [value]) {
			if (parser.entryCount >= maxEntries || parser.blockCount >= maxBlocks) skipped.surplus++;
			else {
				const outcome = parser.add(line);
				if (outcome === "damaged" || outcome === "relinked") skipped[outcome]++;
			}
		}
	};
	for await (const given of await valuesIn(file, options, onBytes)) {
		if (typeof given === "string") {
			skipped[given]++;
			if (given === "tooLong") read?.parser.skip();
		} else if (read) take(read, given.value);
		else {
			waiting.push(given.value);
			const format = FORMATS.find((one) => one.recognizes(given.value));
			if (format) {
				read = { format, parser: format.parser(given.value, file, options.detail ?? "contents") };
				for (const early of waiting) take(read, early);
				waiting = [];
			}
		}
		if (read) continue;
		const unknown = waiting.length + skipped.damaged;
		if (unknown >= MAX_UNKNOWN.lines || bytesRead >= MAX_UNKNOWN.bytes) break;
	}
	if (!read) {
		const agents = [...new Set(FORMATS.map(({ agent }) => agent))].join(", ");
		const reason = `none of its first lines is from ${agents}`;
		const unread = skipped.tooLong > 0 ? "its lines are too long" : "none of its lines is JSON";
		throw notASession(file, waiting.length === 0 ? unread : reason);
	}
	const { format, parser } = read;
	return parser.end().map((session) => ({ ...session, agent: format.agent, file, skipped }));
}

/** The JSON values in a file, however they are stored. */
async function valuesIn(
	file: string,
	{ maxLineBytes = 32 * MIB, maxDocumentBytes = 64 * MIB, onProgress }: SessionFileOptions,
	onRead: (bytes: number) => void,
): Promise<AsyncIterable<JsonValue>> {
	const { size, layout } = await layoutOf(file, maxDocumentBytes);
	const onBytes = (bytes: number) => {
		onRead(bytes);
		onProgress?.(bytes, size);
	};
	if (layout === "database") return readOpencodeDatabase(file, maxLineBytes);
	if (layout === "lines") return readJsonLines(file, maxLineBytes, onBytes);
	if (size > maxDocumentBytes) {
		const most = Math.floor(maxDocumentBytes / MIB);
		throw notASession(file, `it is not JSON lines, and larger than ${most} MiB`);
	}
	return withStoredMessages(file, readJsonDocuments(file, onBytes), maxLineBytes);
}

/** A session of the older opencode names its messages, which are files of their own. */
async function* withStoredMessages(
	file: string,
	documents: AsyncIterable<JsonValue>,
	maxLineBytes: number,
): AsyncGenerator<JsonValue> {
	for await (const document of documents) {
		if (typeof document === "string" || !isStoredSession(document.value)) yield document;
		else yield* readStoredSession(file, document.value, maxLineBytes);
	}
}

/** Enough for the first line of nearly every file. */
const START_BYTES = MIB;

const DATABASE_MARK = Buffer.from("SQLite format 3\0");

type Layout = "lines" | "documents" | "database";

async function layoutOf(
	file: string,
	maxDocumentBytes: number,
): Promise<{ size: number; layout: Layout }> {
	const unreadable = (error: unknown): never => {
		const reason = errnoOf(error) === "ENOENT" ? "there is no such file" : describeError(error);
		throw new Error(`cannot read ${file}: ${reason}`, { cause: error });
	};
	const stats = await stat(file).catch(unreadable);
	if (!stats.isFile()) throw notASession(file, "it is not a file"); // opening a pipe would block
	const { size } = stats;
	if (size === 0) throw notASession(file, "it is empty");
	const handle = await open(file).catch(unreadable);
	try {
		const start = await bytesAt(handle, 0, START_BYTES);
		if (start.subarray(0, DATABASE_MARK.length).equals(DATABASE_MARK)) {
			return { size, layout: "database" };
		}
		const end = start.indexOf(NEWLINE);
		// Only the first line is checked, since a crash may leave zeros in a later line.
		const firstLine = end === -1 ? start : start.subarray(0, end);
		if (firstLine.includes(0)) throw notASession(file, "it is binary");
		if (end !== -1 || start.length < START_BYTES) {
			return { size, layout: isOpened(firstLine, firstLine) ? "documents" : "lines" };
		}
		// A document would be too large, so only lines can be read.
		const isLarge = size > maxDocumentBytes;
		return { size, layout: isLarge ? "lines" : await longLineLayout(handle, start, file) };
	} finally {
		await handle.close();
	}
}

/** The layout of a file whose first line is longer than `start`. */
async function longLineLayout(handle: FileHandle, start: Buffer, file: string): Promise<Layout> {
	let before = start;
	for (let at = start.length; before.length > 0; at += before.length) {
		const chunk = await bytesAt(handle, at, START_BYTES);
		const end = chunk.indexOf(NEWLINE);
		if (end !== -1) {
			const isAll = (await bytesAt(handle, at + end + 1, 1)).length === 0;
			const lineEnd = Buffer.concat([before.subarray(-1), chunk.subarray(0, end)]);
			return isAll || isOpened(start, lineEnd) ? "documents" : "lines";
		}
		before = chunk;
	}
	if (/^\s*[[{]/.test(start.toString())) return "documents";
	throw notASession(file, "its first line is longer than 1 MiB and not JSON");
}

async function bytesAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const buffer = Buffer.alloc(length);
	const { bytesRead } = await handle.read(buffer, 0, length, position);
	return buffer.subarray(0, bytesRead);
}

const NEWLINE = "\n";

/** Whether a line begins a document of several lines, by its start and its end. */
function isOpened(start: Buffer, end: Buffer): boolean {
	return /^\s*[[{]/.test(start.toString()) && /[[{,]\s*$/.test(end.toString().slice(-ENDING));
}

/** Far more than the white space at the end of a line. */
const ENDING = 100;

function notASession(file: string, reason: string): Error {
	return new Error(`${file} is not a session: ${reason}`);
}
