import { describeError } from "../../core/errno.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import type { Reply, WriterJob, WriterReply } from "./messages.ts";
import type { Refusal } from "./refusal.ts";

interface JournalFileProxyOptions {
	readonly thread: WriterThread;
	readonly path: string;
	now(): number;
	readonly maxFileBytes: number;
	onOpened(opened: Reply<"opened">): Promise<void>;
}

/** Opens the file before a job if needed: at the start, after a refusal, or in a new thread. */
export class JournalFileProxy {
	readonly #options: JournalFileProxyOptions;
	#recovery: (WriterJob & { kind: "open" })["recovery"] = "settle";
	#isRecovered = false;
	#isOpen = false;
	#lastExitMs = Number.NEGATIVE_INFINITY;

	constructor(options: JournalFileProxyOptions) {
		this.#options = options;
	}

	/** Returns a refusal if opening failed. Later jobs then try to open the file again. */
	async open(): Promise<Refusal | undefined> {
		const refusal = await this.#withThread(() => this.#ensureOpen());
		// If the file opens only later, its content was not recovered: see FOUND_LATE.
		if (!this.#isRecovered) this.#recovery = "only-empty";
		return refusal;
	}

	write(job: WriterJob & { kind: "write" }) {
		return this.#run(job) as Promise<Reply<"written" | "bad-record" | "refused">>;
	}

	sweep(job: WriterJob & { kind: "sweep" }) {
		return this.#run(job) as Promise<Reply<"swept" | "refused">>;
	}

	async close(): Promise<void> {
		try {
			if (this.#isOpen) await this.#options.thread.run({ kind: "close" });
		} catch {
			// The thread died; committed records are on disk.
		}
		await this.#options.thread.close();
	}

	async #run(job: WriterJob): Promise<WriterReply> {
		const reply = await this.#withThread(async () => {
			const refusal = await this.#ensureOpen();
			return refusal ?? (await this.#options.thread.run(job));
		});
		if (!("kind" in reply)) return { kind: "refused", refusal: reply };
		if (reply.kind === "refused") this.#isOpen = false;
		return reply;
	}

	async #ensureOpen(): Promise<Refusal | undefined> {
		if (this.#isOpen) return undefined;
		const { path, now, maxFileBytes, onOpened } = this.#options;
		const recovery = this.#recovery;
		const job = { kind: "open", path, nowMs: now(), maxFileBytes, recovery } as const;
		const reply = await this.#options.thread.run(job);
		if (reply.kind === "refused") return reply.refusal;
		if (reply.kind !== "opened")
			throw new Error(`the journal's thread answered "${reply.kind}" to "open"`);
		try {
			if (!this.#isRecovered) await onOpened(reply);
			this.#isRecovered = true;
		} catch (error) {
			if (recovery === "settle") throw error; // `openJournal` rejects
			return { why: describeError(error), permanent: false };
		}
		if (reply.refusal) return reply.refusal;
		this.#recovery = "continue";
		this.#isOpen = true;
		return undefined;
	}

	/** Restarts a dead thread and retries immediately, but not twice within {@link RESTART_MS}. */
	async #withThread<T>(body: () => Promise<T>): Promise<T | Refusal> {
		for (;;) {
			try {
				return await body();
			} catch (error) {
				if (!(error instanceof WorkerError)) throw error;
				this.#isOpen = false;
				const sinceLastMs = performance.now() - this.#lastExitMs;
				this.#lastExitMs = performance.now();
				if (sinceLastMs < RESTART_MS) return THREAD_EXITED;
			}
		}
	}
}

/** If the thread dies during a job, the job may or may not have run. */
export type WriterThread = WorkerSupervisor<WriterJob, WriterReply>;

export function createWriterThread(start = startJournalWorker): WriterThread {
	return new WorkerSupervisor({ start, endOnFailure: true });
}

export function startJournalWorker() {
	return thread(workerEntry("./journal-worker", import.meta.url));
}

const RESTART_MS = 5_000;

const THREAD_EXITED: Refusal = { why: "the journal's writer thread stopped", permanent: false };
