import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { ClaudeThread } from "./claude-thread.ts";

/** A longer transcript takes longer to read than an agent should wait. */
const MAX_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Without O_NONBLOCK (absent on Windows), opening a pipe blocks until it has a writer. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads a transcript of Claude Code, and later only what was appended to it. */
export class TranscriptFile {
	readonly #path: string;
	readonly #agentId: string | undefined;
	#thread: ClaudeThread;
	#position = 0;
	#bytes = 0;

	constructor(path: string, agentId?: string) {
		this.#path = path;
		this.#agentId = agentId;
		this.#thread = new ClaudeThread(agentId);
	}

	get thread(): ClaudeThread {
		return this.#thread;
	}

	/** Bytes of the lines that were read: about what is in memory. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Throws if the file is not a regular one, is too long, or cannot be read. */
	refresh(): void {
		const file = openSync(this.#path, READ_FLAGS);
		try {
			const info = fstatSync(file);
			if (!info.isFile()) throw new Error("the transcript is not a regular file");
			if (info.size > MAX_BYTES) throw new Error("the transcript is too long");
			// It was written again: another session, or a shorter one.
			if (info.size < this.#position) {
				this.#thread = new ClaudeThread(this.#agentId);
				this.#position = 0;
				this.#bytes = 0;
			}
			const bytes = Buffer.allocUnsafe(info.size - this.#position);
			let length = 0;
			while (length < bytes.length) {
				const count = readSync(file, bytes, length, bytes.length - length, this.#position + length);
				if (count === 0) break;
				length += count;
			}
			const read = bytes.subarray(0, length);
			const start = this.#position === 0 ? startIn(read) : 0;
			const added = this.#addLines(read.subarray(start));
			this.#position += start + added;
			this.#bytes += added;
		} finally {
			closeSync(file);
		}
	}

	/** Returns the length of the complete lines. */
	#addLines(bytes: Buffer): number {
		let from = 0;
		for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
			const line = bytes.subarray(from, end);
			from = end + 1;
			if (isOfUse(line)) this.#thread.add(parsed(line));
		}
		return from;
	}
}

const BOUNDARY = Buffer.from('"subtype":"compact_boundary"');

/** The line of the last compaction: requests after it hold no results from before. */
function startIn(bytes: Buffer): number {
	const at = bytes.lastIndexOf(BOUNDARY);
	return at === -1 ? 0 : bytes.lastIndexOf(NEWLINE, at) + 1;
}

const KINDS = ['"type":"user"', '"type":"assistant"', '"type":"api-request'].map((text) =>
	Buffer.from(text),
);

/** Skips lines that only the screen needs, without parsing them. */
function isOfUse(line: Buffer): boolean {
	return KINDS.some((kind) => line.includes(kind));
}

function parsed(line: Buffer): unknown {
	try {
		return JSON.parse(line.toString("utf8"));
	} catch {
		return undefined; // a damaged line is like a missing one: what it held is not known
	}
}
