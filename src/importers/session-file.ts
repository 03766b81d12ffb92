import { open, stat } from "node:fs/promises";
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

/** If no line up to this one is recognized, the file is no session. */
const MAX_UNKNOWN_LINES = 100;

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
	const skipped = { damaged: 0, tooLong: 0, relinked: 0, surplus: 0 };
	const take = ({ format, parser }: NonNullable<typeof read>, value: unknown) => {
		for (const line of format.lines?.(value) ?? [value]) {
			if (parser.entryCount >= maxEntries || parser.blockCount >= maxBlocks) skipped.surplus++;
			else {
				const outcome = parser.add(line);
				if (outcome === "damaged" || outcome === "relinked") skipped[outcome]++;
			}
		}
	};
	for await (const given of await valuesIn(file, options)) {
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
		if (!read && waiting.length + skipped.damaged >= MAX_UNKNOWN_LINES) break;
	}
	if (!read) {
		const agents = [...new Set(FORMATS.map(({ agent }) => agent))].join(", ");
		const reason = `none of its first lines is from ${agents}`;
		throw notASession(file, waiting.length === 0 ? "none of its lines is JSON" : reason);
	}
	const { format, parser } = read;
	return parser.end().map((session) => ({ ...session, agent: format.agent, file, skipped }));
}

/** The JSON values in a file, however they are stored. */
async function valuesIn(
	file: string,
	{ maxLineBytes = 32 * MIB, maxDocumentBytes = 64 * MIB, onProgress }: SessionFileOptions,
): Promise<AsyncIterable<JsonValue>> {
	const { size, layout } = await layoutOf(file);
	const onBytes = (bytes: number) => onProgress?.(bytes, size);
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

/** The first line of JSON lines is no longer. Pi's own bound. */
const MAX_HEADER_BYTES = MIB;

const DATABASE_MARK = Buffer.from("SQLite format 3\0");

async function layoutOf(
	file: string,
): Promise<{ size: number; layout: "lines" | "documents" | "database" }> {
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
		const start = Buffer.alloc(Math.min(size, MAX_HEADER_BYTES));
		const { bytesRead } = await handle.read(start, 0, start.length, 0);
		const beginning = start.subarray(0, bytesRead);
		if (beginning.subarray(0, DATABASE_MARK.length).equals(DATABASE_MARK)) {
			return { size, layout: "database" };
		}
		const end = beginning.indexOf("\n");
		// Only the first line is checked, since a crash may leave zeros in a later line.
		const firstLine = end === -1 ? beginning : beginning.subarray(0, end);
		if (firstLine.includes(0)) throw notASession(file, "it is binary");
		const isCut = bytesRead === MAX_HEADER_BYTES && end === -1;
		if (!isCut) return { size, layout: isOpened(firstLine) ? "documents" : "lines" };
		if (firstLine[0] === OPENING) return { size, layout: "documents" };
		throw notASession(file, "its first line is longer than 1 MiB");
	} finally {
		await handle.close();
	}
}

const OPENING = "{".charCodeAt(0);

/** Whether a line begins a document of several lines. */
function isOpened(line: Buffer): boolean {
	const text = line.toString().trim();
	return /^[[{]/.test(text) && /[[{,]$/.test(text);
}

function notASession(file: string, reason: string): Error {
	return new Error(`${file} is not a session: ${reason}`);
}
