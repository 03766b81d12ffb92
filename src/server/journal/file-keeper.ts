import { describeError } from "../../core/errno.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import type { WriterReply, WriterRequest } from "./messages.ts";
import type { Refusal } from "./refusal.ts";

export interface FileKeeperOptions {
	thread: WriterThread;
	path: string;
	now(): number;
	maxFileBytes: number;
	onOpened(opened: Reply<"opened">): Promise<void>;
}

export type Reply<Kind extends WriterReply["kind"]> = WriterReply & { kind: Kind };

/** Opens the file before a request if needed: at the start, after a refusal, in a new thread. */
export class FileKeeper {
	readonly #options: FileKeeperOptions;
	#recovery: (WriterRequest & { kind: "open" })["recovery"] = "settle";
	#wasRead = false;
	#isOpen = false;
	#lastDeathMs = Number.NEGATIVE_INFINITY;

	constructor(options: FileKeeperOptions) {
		this.#options = options;
	}

	/** Returns why opening failed; later requests retry. */
	async open(): Promise<Refusal | undefined> {
		const refusal = await this.#withThread(() => this.#ensureOpen());
		// Content that appears later is unknown to this process: see FOUND_LATE.
		if (!this.#wasRead) this.#recovery = "only-empty";
		return refusal;
	}

	write(request: WriterRequest & { kind: "write" }) {
		return this.#ask(request) as Promise<Reply<"written" | "bad-record" | "refused">>;
	}

	sweep(request: WriterRequest & { kind: "sweep" }) {
		return this.#ask(request) as Promise<Reply<"swept" | "refused">>;
	}

	async close(): Promise<void> {
		try {
			if (this.#isOpen) await this.#options.thread.run({ kind: "close" });
		} catch {
			// The thread died; committed records are on disk.
		}
		await this.#options.thread.close();
	}

	async #ask(request: WriterRequest): Promise<WriterReply> {
		const reply = await this.#withThread(async () => {
			const refusal = await this.#ensureOpen();
			return refusal ?? (await this.#options.thread.run(request));
		});
		if (!("kind" in reply)) return { kind: "refused", refusal: reply };
		if (reply.kind === "refused") this.#isOpen = false;
		return reply;
	}

	async #ensureOpen(): Promise<Refusal | undefined> {
		if (this.#isOpen) return undefined;
		const { path, now, maxFileBytes, onOpened } = this.#options;
		const recovery = this.#recovery;
		const request = { kind: "open", path, nowMs: now(), maxFileBytes, recovery } as const;
		const reply = await this.#options.thread.run(request);
		if (reply.kind === "refused") return reply.refusal;
		if (reply.kind !== "opened") throw new Error(`the journal's thread answered ${reply.kind}`);
		try {
			if (!this.#wasRead) await onOpened(reply);
			this.#wasRead = true;
		} catch (error) {
			if (recovery === "settle") throw error; // the start fails
			return { why: describeError(error), lasting: false };
		}
		if (reply.refusal) return reply.refusal;
		this.#recovery = "continue";
		this.#isOpen = true;
		return undefined;
	}

	/** Restarts a dead thread at once, but not twice within {@link RESTART_MS}. */
	async #withThread<T>(body: () => Promise<T>): Promise<T | Refusal> {
		for (;;) {
			try {
				return await body();
			} catch (error) {
				if (!(error instanceof WorkerError)) throw error;
				this.#isOpen = false;
				const sinceLastMs = performance.now() - this.#lastDeathMs;
				this.#lastDeathMs = performance.now();
				if (sinceLastMs < RESTART_MS) return THREAD_DIED;
			}
		}
	}
}

/** A request it died over may or may not have been carried out. */
export type WriterThread = WorkerSupervisor<WriterRequest, WriterReply>;

export function createWriterThread(start = startJournalWorker): WriterThread {
	return new WorkerSupervisor({ start, endOnFailure: true });
}

export function startJournalWorker() {
	return thread(workerEntry("./journal-worker", import.meta.url));
}

const RESTART_MS = 5_000;

const THREAD_DIED: Refusal = { why: "the journal's writer stopped", lasting: false };
