import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { describeError, errnoOf } from "../../core/errno.ts";
import { property } from "../../core/property.ts";
import { plainText } from "../../text/one-line.ts";
import type { Entry } from "./entry.ts";
import { EntryParser } from "./entry-parser.ts";

export interface SessionFile {
	readonly file: string;
	readonly version: 1 | 2 | 3;
	readonly entries: readonly Entry[];
	readonly skipped: SkippedLines;
}

/** Numbers of lines. All are 0 for an intact file. */
export interface SkippedLines {
	readonly damaged: number;
	readonly tooLong: number;
	/** Entries without a parent earlier in the file. They are attached to the line above. */
	readonly relinked: number;
	/** Entries beyond `maxEntries` or `maxBlocks`. */
	readonly surplus: number;
}

export interface SessionFileOptions {
	/** Maximum line length in bytes. Default: 32 MiB, enough for an answer with several large images. */
	readonly maxLineBytes?: number;
	/** Maximum number of entries. Default: 200,000, which take about 200 MB of memory. */
	readonly maxEntries?: number;
	/** Maximum number of content blocks, which the last entry may exceed. Default: 500,000. */
	readonly maxBlocks?: number;
	readonly onProgress?: (bytes: number, ofBytes: number) => void;
}

/** Maximum length of a session header, as in pi. A longer first line is not a header. */
const MAX_HEADER_BYTES = 1024 * 1024;

/** Counts unusable lines. Throws if the file is not a session. Keeps hashes and sizes, but no texts. */
export async function readSessionFile(
	file: string,
	options: SessionFileOptions = {},
): Promise<SessionFile> {
	const { maxLineBytes = 32 * 1024 * 1024, maxEntries = 200_000, maxBlocks = 500_000 } = options;
	const size = await checkFile(file);
	let parser: EntryParser | undefined;
	let version: SessionFile["version"] = 3;
	const skipped = { damaged: 0, tooLong: 0, relinked: 0, surplus: 0 };
	const onBytes = (bytes: number) => options.onProgress?.(bytes, size);
	for await (const line of readJsonLines(file, maxLineBytes, onBytes)) {
		if (typeof line === "string") {
			skipped[line]++;
			if (line === "tooLong") parser?.skip();
		} else if (!parser) {
			version = versionOf(line.value, file);
			parser = new EntryParser(version);
		} else if (parser.entries.length >= maxEntries || parser.blockCount >= maxBlocks) {
			skipped.surplus++;
		} else {
			const outcome = parser.add(line.value);
			if (outcome !== "added") skipped[outcome]++;
		}
	}
	if (!parser) throw notASession(file, "none of its lines is JSON");
	return { file, version, entries: parser.entries, skipped };
}

async function checkFile(file: string): Promise<number> {
	const unreadable = (error: unknown): never => {
		const reason = errnoOf(error) === "ENOENT" ? "there is no such file" : describeError(error);
		throw new Error(`cannot read ${file}: ${reason}`, { cause: error });
	};
	const stats = await stat(file).catch(unreadable);
	if (!stats.isFile()) throw notASession(file, "it is not a file"); // opening a pipe would block
	if (stats.size === 0) throw notASession(file, "it is empty");
	const handle = await open(file).catch(unreadable);
	try {
		const start = Buffer.alloc(Math.min(stats.size, MAX_HEADER_BYTES));
		const { bytesRead } = await handle.read(start, 0, start.length, 0);
		const beginning = start.subarray(0, bytesRead);
		const end = beginning.indexOf("\n");
		// Only the first line is checked, since a crash may leave zeros in a later line.
		const firstLine = end === -1 ? beginning : beginning.subarray(0, end);
		if (firstLine.includes(0)) throw notASession(file, "it is binary");
		if (bytesRead === MAX_HEADER_BYTES && end === -1) {
			throw notASession(file, "its first line is longer than 1 MiB");
		}
		return stats.size;
	} finally {
		await handle.close();
	}
}

function versionOf(header: unknown, file: string): SessionFile["version"] {
	if (property(header, "type") !== "session") {
		throw notASession(file, 'it does not begin with a "session" line');
	}
	const version = property(header, "version") ?? 1;
	if (version === 1 || version === 2 || version === 3) return version;
	const isPlain = typeof version === "number" || typeof version === "string";
	const named = isPlain ? plainText(JSON.stringify(version), 40) : "of another kind";
	throw new Error(`${file} has session format ${named}; only formats 1 to 3 are supported`);
}

function notASession(file: string, reason: string): Error {
	return new Error(`${file} is not a session of pi: ${reason}`);
}

/** `tooLong`: the line exceeds the bound and was skipped without buffering. */
type JsonLine = { readonly value: unknown } | "damaged" | "tooLong";

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1024 * 1024;

/** Holds one line in memory at a time, whatever the file size. Skips blank lines. */
async function* readJsonLines(
	path: string,
	maxLineBytes: number,
	onBytes: (bytes: number) => void,
): AsyncGenerator<JsonLine> {
	let pieces: Buffer[] = [];
	let length = 0;
	let bytes = 0;
	for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
		const buffer = chunk as Buffer;
		let from = 0;
		for (let at = buffer.indexOf(NEWLINE); at !== -1; at = buffer.indexOf(NEWLINE, from)) {
			take(buffer.subarray(from, at));
			const line = finish();
			if (line) yield line;
			from = at + 1;
		}
		take(buffer.subarray(from));
		bytes += buffer.length;
		onBytes(bytes);
	}
	const last = finish();
	if (last) yield last;

	function take(piece: Buffer): void {
		length += piece.length;
		if (length <= maxLineBytes) pieces.push(piece);
		else pieces = []; // too long: only the length is kept
	}

	function finish(): JsonLine | undefined {
		const line = length > maxLineBytes ? "tooLong" : parse(pieces);
		pieces = [];
		length = 0;
		return line;
	}
}

function parse(pieces: readonly Buffer[]): JsonLine | undefined {
	const text = (pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
		.toString()
		.trim(); // also removes a BOM
	if (text === "") return undefined;
	try {
		return { value: JSON.parse(text) };
	} catch {
		return "damaged"; // the caller counts it
	}
}
