import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { CodeIndexError } from "../code-index.ts";
import type { ScannedFile } from "../scan/scan-tree.ts";
import { type FileOutcome, failedFile, parseFile } from "./parse-file.ts";
import type { ParseReply, ParseRequest, ParseWorkerStart } from "./parse-worker.ts";

export interface ParseOptions {
	readonly root: string;
	readonly signal?: AbortSignal | undefined;
	/** Most threads at a time. Default: one for each core, up to four. */
	readonly threads?: number | undefined;
	/** How long a thread may take for a batch. */
	readonly deadlineMs?: number | undefined;
}

/** Fewer bytes than this are parsed here and now: a thread takes longer to start. */
const SMALL_JOB_BYTES = 400_000;
const BATCH_FILES = 32;
const BATCH_BYTES = 400_000;
/** Batches a thread has at a time: one to work on, and one that waits. */
const BATCHES_AHEAD = 2;
const DEADLINE_MS = 60_000;
/** A parser that needs more is lost in one file; what is stored of that one then is that it could not be parsed. */
const MAX_HEAP_MB = 1024;

/**
 * Parses files in threads of their own and hands on each result as it comes, in any order. A thread that dies or does
 * not end is replaced, and the file it was lost in is told as one that cannot be parsed. Rejects with the
 * code `aborted`, or with what `take` throws.
 */
export async function parseFiles(
	files: readonly ScannedFile[],
	take: (outcome: FileOutcome) => void,
	options: ParseOptions,
): Promise<void> {
	refuseIfAborted(options.signal);
	const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
	if (bytes <= SMALL_JOB_BYTES) {
		for (const { path } of files) take(parseFile(options.root, path));
		return;
	}
	await new ParseJob(batchesOf(files), take, options).done;
}

function batchesOf(files: readonly ScannedFile[]): string[][] {
	const batches: string[][] = [];
	let batch: string[] = [];
	let bytes = 0;
	for (const file of files) {
		if (batch.length >= BATCH_FILES || (batch.length > 0 && bytes + file.bytes > BATCH_BYTES)) {
			batches.push(batch);
			batch = [];
			bytes = 0;
		}
		batch.push(file.path);
		bytes += file.bytes;
	}
	if (batch.length > 0) batches.push(batch);
	return batches;
}

/** The threads of one call of {@link parseFiles}, from their start to their end. */
class ParseJob {
	readonly done: Promise<void>;
	readonly #take: (outcome: FileOutcome) => void;
	readonly #options: ParseOptions;
	/** Taken from the end. */
	readonly #waiting: string[][];
	readonly #lanes = new Set<ParseLane>();
	#settle: (error?: unknown) => void = () => {};

	constructor(
		batches: readonly string[][],
		take: (outcome: FileOutcome) => void,
		options: ParseOptions,
	) {
		this.#take = take;
		this.#options = options;
		this.#waiting = batches.toReversed();
		const { signal } = options;
		const onAbort = () => this.#settle(aborted());
		this.done = new Promise<void>((resolve, reject) => {
			this.#settle = (error) => {
				this.#settle = () => {};
				signal?.removeEventListener("abort", onAbort);
				const ends = [...this.#lanes].map((lane) => lane.end());
				void Promise.all(ends).then(() => (error === undefined ? resolve() : reject(error)));
			};
		});
		signal?.addEventListener("abort", onAbort);
		const threads = options.threads ?? Math.min(4, availableParallelism());
		for (let left = Math.min(threads, batches.length); left > 0; left--) this.#startLane();
	}

	#startLane(): void {
		const lane = new ParseLane(this.#options, {
			onOutcomes: (outcomes) => {
				try {
					for (const outcome of outcomes) this.#take(outcome);
				} catch (error) {
					this.#settle(error);
					return;
				}
				this.#feed(lane);
			},
			onDeath: (unanswered, reason) => {
				this.#lanes.delete(lane);
				this.#onDeath(unanswered, reason);
			},
			onFalseStart: (error) => {
				const message = `The parser could not be started: ${describeError(error)}`;
				this.#settle(new CodeIndexError("failed", message, { cause: error }));
			},
		});
		this.#lanes.add(lane);
		this.#feed(lane);
	}

	#feed(lane: ParseLane): void {
		for (let batch = this.#waiting.pop(); batch; batch = this.#waiting.pop()) {
			lane.send(batch);
			if (lane.batches >= BATCHES_AHEAD) return;
		}
		if ([...this.#lanes].every(({ batches }) => batches === 0)) this.#settle();
	}

	/** The first batch is the one the thread was lost in. Its files get a second chance, one by one. */
	#onDeath([current, ...next]: readonly string[][], reason: string): void {
		this.#waiting.push(...next);
		const [path, ...others] = current ?? [];
		if (path !== undefined && others.length === 0) {
			try {
				this.#take(failedFile(path, reason));
			} catch (error) {
				this.#settle(error);
				return;
			}
		} else if (current) this.#waiting.push(...current.map((one) => [one]));
		this.#startLane();
	}
}

interface LaneEvents {
	onOutcomes(outcomes: readonly FileOutcome[]): void;
	/** With the batches that were not answered, in their order. Comes once, and nothing after it. */
	onDeath(unanswered: readonly string[][], reason: string): void;
	/** It did not even start. Comes instead of the others. */
	onFalseStart(error: unknown): void;
}

/** One thread, and the batches it has. */
class ParseLane {
	readonly #worker: Worker;
	readonly #sent: string[][] = [];
	readonly #events: LaneEvents;
	readonly #deadlineMs: number;
	#timer: NodeJS.Timeout | undefined;
	#isReady = false;
	#isEnded = false;

	constructor({ root, deadlineMs = DEADLINE_MS }: ParseOptions, events: LaneEvents) {
		this.#events = events;
		this.#deadlineMs = deadlineMs;
		this.#worker = new Worker(workerEntry("./parse-worker", import.meta.url), {
			workerData: { root } satisfies ParseWorkerStart,
			// A large young generation is a little faster, and 100 MB larger.
			resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 32 },
			// Sources are data from strangers: what parses them gets no environment.
			env: {},
			execArgv: [],
		});
		this.#worker.on("message", (reply: ParseReply) => this.#onReply(reply));
		this.#worker.on("error", (error) => {
			const isMemory = (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
			this.#die(isMemory ? "the parser ran out of memory" : "the parser failed on it", error);
		});
		this.#worker.on("exit", () => this.#die("the parser failed on it", "it ended at once"));
	}

	get batches(): number {
		return this.#sent.length;
	}

	send(batch: string[]): void {
		this.#sent.push(batch);
		this.#worker.postMessage(batch satisfies ParseRequest);
		if (this.#sent.length === 1) this.#watch();
	}

	async end(): Promise<void> {
		this.#isEnded = true;
		clearTimeout(this.#timer);
		await this.#worker.terminate();
	}

	#onReply(reply: ParseReply): void {
		if (this.#isEnded) return;
		if (reply === "ready") {
			this.#isReady = true;
			return;
		}
		this.#sent.shift();
		this.#watch();
		this.#events.onOutcomes(reply);
	}

	#watch(): void {
		clearTimeout(this.#timer);
		if (this.#sent.length === 0) return;
		const reason = "parsing it did not end";
		this.#timer = setTimeout(() => this.#die(reason, reason), this.#deadlineMs);
	}

	#die(reason: string, cause: unknown): void {
		if (this.#isEnded) return;
		void this.end();
		if (this.#isReady) this.#events.onDeath(this.#sent, reason);
		else this.#events.onFalseStart(cause);
	}
}

function refuseIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted) throw aborted();
}

function aborted(): CodeIndexError {
	return new CodeIndexError("aborted", "Indexing was aborted; what is done so far is kept.");
}
