import { randomUUID } from "node:crypto";
import {
	appendFileSync,
	closeSync,
	mkdirSync,
	openSync,
	readSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { PiProcesses } from "./open-session-file.ts";

interface MirrorOptions {
	/** The real path of a session file that another process writes. It is never written here. */
	readonly original: string;
	/** A private folder of the server. */
	readonly folder: string;
	readonly piProcesses: PiProcesses;
}

const POLL_MS = 500;
/** A process that has ended is noticed after as many polls. */
const PROCESS_POLLS = 6;
const CHUNK_BYTES = 1024 * 1024;

/**
 * A private copy of a session file that a pi in a terminal writes. The server's pi opens the copy, so that nothing
 * is ever written to the original. Holds whole lines only.
 */
export class SessionMirror {
	readonly original: string;
	readonly path: string;
	/** The process that has the original open; `undefined` if none does any more. */
	piProcess: number | undefined;
	readonly #piProcesses: PiProcesses;
	/** How many bytes of the original the copy has. Behind them, the server's own pi may have added entries. */
	#copied = 0;
	#identity = "";
	#timer: NodeJS.Timeout | undefined;
	#onChange = () => {};
	#isClosed = false;

	/** Throws if the original cannot be read. */
	static async open(options: MirrorOptions): Promise<SessionMirror> {
		const mirror = new SessionMirror(options);
		mirror.piProcess = (await options.piProcesses()).get(options.original);
		mirror.update();
		return mirror;
	}

	private constructor({ original, folder, piProcesses }: MirrorOptions) {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		this.original = original;
		this.path = join(folder, `${randomUUID()}.jsonl`);
		this.#piProcesses = piProcesses;
		writeFileSync(this.path, "", { mode: 0o600, flag: "wx" });
	}

	/** Copies new lines; everything if the original was replaced. Returns whether there was anything new. */
	update(): boolean {
		const { size, ino, dev } = statSync(this.original);
		const identity = `${dev} ${ino}`;
		if (identity !== this.#identity || size < this.#copied) this.#copied = 0;
		this.#identity = identity;
		const lines = wholeLines(this.original, this.#copied, size);
		if (lines.length === 0) return false;
		truncateSync(this.path, this.#copied);
		appendFileSync(this.path, lines);
		this.#copied += lines.length;
		return true;
	}

	/** Calls `onChange` after each copy of new lines, and when the other process ends. */
	follow(onChange: () => void): void {
		let polls = 0;
		this.#onChange = onChange;
		this.#timer = setInterval(() => {
			this.poll();
			if (++polls % PROCESS_POLLS === 0) void this.#checkProcess();
		}, POLL_MS).unref();
	}

	/** Looks for new lines now, and not half a second later. */
	poll(): void {
		try {
			if (!this.#isClosed && this.update()) this.#onChange();
		} catch {
			// The file may be replaced at this moment: the next poll finds it.
		}
	}

	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
		rmSync(this.path, { force: true });
	}

	async #checkProcess(): Promise<void> {
		try {
			const before = this.piProcess;
			const now = (await this.#piProcesses()).get(this.original);
			if (this.#isClosed) return;
			this.piProcess = now;
			if (now !== before) this.#onChange();
		} catch {
			// The next look may succeed.
		}
	}
}

/** Entries that only name, label or report; others change what the model sees. */
const HARMLESS: ReadonlySet<string> = new Set(["message", "custom", "session_info", "label"]);

/**
 * Entries that are new. `isContinued`: they only continue the conversation, so that events can say all of it. The
 * server's own pi may have added entries behind the last one, which are gone again.
 */
export function addedEntries(before: readonly string[], now: readonly SessionEntry[]) {
	const known = new Set(before);
	const entries = now.filter(({ id }) => !known.has(id));
	const at = now.length - entries.length;
	const isBehind = now.slice(at).every(({ id }) => !known.has(id));
	const isChain = entries.every(({ parentId }, index) => {
		return parentId === (now[at + index - 1]?.id ?? null);
	});
	const isContinued = isBehind && isChain && entries.every(({ type }) => HARMLESS.has(type));
	return { entries, isContinued };
}

/** The bytes from `from` on, up to the last line feed. */
function wholeLines(path: string, from: number, size: number): Buffer {
	if (size <= from) return Buffer.alloc(0);
	const file = openSync(path, "r");
	try {
		const bytes = Buffer.alloc(size - from);
		let filled = 0;
		while (filled < bytes.length) {
			const length = Math.min(CHUNK_BYTES, bytes.length - filled);
			const read = readSync(file, bytes, filled, length, from + filled);
			if (read === 0) break;
			filled += read;
		}
		return bytes.subarray(0, bytes.subarray(0, filled).lastIndexOf(0x0a) + 1);
	} finally {
		closeSync(file);
	}
}
