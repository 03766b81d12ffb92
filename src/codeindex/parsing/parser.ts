import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { describeError } from "../../core/errno.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import { CodeIndexError } from "../code-index.ts";
import type { ScannedFile } from "../scan/scanned-tree.ts";
import { type FileOutcome, failedFile } from "./parse-file.ts";
import type { ParseReply, ParseRequest } from "./parser-process.ts";

export interface ParserOptions {
	/** Most processes at a time. Default: one for each core, up to four. */
	readonly processes?: number;
	/** How long a process may take for a batch. */
	readonly deadlineMs?: number;
	/** How long a process without work stays. */
	readonly idleMs?: number;
}

const BATCH_FILES = 32;
const BATCH_BYTES = 400_000;
/** Batches a process has at a time: one to work on, and one that waits. */
const BATCHES_AHEAD = 2;
const DEADLINE_MS = 30_000;
const IDLE_MS = 60_000;
/** A parser that needs more is lost in one file; what is stored of that one then is that it could not be parsed. */
const MAX_HEAP_MB = 512;

/**
 * Parses the files of a project in processes of their own: untrusted text can end the native parser's process, and
 * nothing else ends a parser that does not come to an end. Processes are started when there is work and stay a while
 * for more; they do not keep our own process alive.
 */
export class Parser {
	readonly #root: string;
	readonly #options: ParserOptions;
	readonly #idle: Lane[] = [];

	constructor(root: string, options: ParserOptions = {}) {
		this.#root = root;
		this.#options = options;
	}

	/**
	 * Hands on each result as it comes, in any order. A process that dies or does not end is replaced, and the file it was
	 * lost in is told as one that cannot be parsed. Rejects with the code `aborted`, or with what `take` throws.
	 */
	async parse(
		files: readonly ScannedFile[],
		take: (outcome: FileOutcome) => void,
		signal?: AbortSignal,
	): Promise<void> {
		if (signal?.aborted) throw aborted();
		const batches = batchesOf(files);
		if (batches.length === 0) return;
		const { processes = Math.min(4, availableParallelism()) } = this.#options;
		const job = new Job({
			batches,
			lanes: Math.min(processes, batches.length),
			take,
			signal,
			lane: () =>
				this.#idle.pop() ?? new Lane(this.#root, this.#options, (lane) => this.#drop(lane)),
		});
		// What has failed once, or is in the middle of something, is not used again.
		for (const lane of await job.done) this.#idle.push(lane.rest());
	}

	/** Ends all processes that are without work. */
	close(): void {
		for (const lane of this.#idle.splice(0)) lane.end();
	}

	#drop(lane: Lane): void {
		const at = this.#idle.indexOf(lane);
		if (at >= 0) this.#idle.splice(at, 1);
	}
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

interface JobOptions {
	readonly batches: readonly string[][];
	/** How many processes work on it. */
	readonly lanes: number;
	readonly take: (outcome: FileOutcome) => void;
	readonly signal: AbortSignal | undefined;
	/** A process without work. */
	readonly lane: () => Lane;
}

/** One call of {@link Parser.parse}. */
class Job {
	/** The processes it leaves without work. */
	readonly done: Promise<Lane[]>;
	readonly #options: JobOptions;
	/** Taken from the end. */
	readonly #waiting: string[][];
	readonly #lanes = new Set<Lane>();
	#settle: (error?: unknown) => void = () => {};

	constructor(options: JobOptions) {
		this.#options = options;
		this.#waiting = options.batches.toReversed();
		const { signal } = options;
		const onAbort = () => this.#settle(aborted());
		this.done = new Promise((resolve, reject) => {
			this.#settle = (error) => {
				this.#settle = () => {};
				signal?.removeEventListener("abort", onAbort);
				if (error === undefined) return resolve([...this.#lanes]);
				for (const lane of this.#lanes) lane.end();
				reject(error);
			};
		});
		signal?.addEventListener("abort", onAbort);
		for (let left = options.lanes; left > 0; left--) this.#addLane();
	}

	#addLane(): void {
		const lane = this.#options.lane();
		lane.work({
			onOutcomes: (outcomes) => {
				if (this.#handOn(outcomes)) this.#feed(lane);
			},
			onDeath: (unanswered, reason) => {
				this.#lanes.delete(lane);
				this.#onDeath(unanswered, reason);
			},
			onFalseStart: (reason) => {
				const message = `The parser could not be started: ${reason}`;
				this.#settle(new CodeIndexError("failed", message));
			},
		});
		this.#lanes.add(lane);
		this.#feed(lane);
	}

	#feed(lane: Lane): void {
		for (let batch = this.#waiting.pop(); batch; batch = this.#waiting.pop()) {
			lane.send(batch);
			if (lane.batches >= BATCHES_AHEAD) return;
		}
		if ([...this.#lanes].every(({ batches }) => batches === 0)) this.#settle();
	}

	/** The first batch is the one the process was lost in. Its files get a second chance, one by one. */
	#onDeath([current, ...next]: readonly string[][], reason: string): void {
		this.#waiting.push(...next);
		const [path, ...others] = current ?? [];
		if (path !== undefined && others.length === 0) {
			if (!this.#handOn([failedFile(path, reason)])) return;
		} else if (current) this.#waiting.push(...current.map((one) => [one]));
		this.#addLane();
	}

	#handOn(outcomes: readonly FileOutcome[]): boolean {
		try {
			for (const outcome of outcomes) this.#options.take(outcome);
			return true;
		} catch (error) {
			this.#settle(error);
			return false;
		}
	}
}

interface LaneEvents {
	onOutcomes(outcomes: readonly FileOutcome[]): void;
	/** With the batches that were not answered, in their order. Comes once, and nothing after it. */
	onDeath(unanswered: readonly string[][], reason: string): void;
	/** It did not even start. Comes instead of the others. */
	onFalseStart(reason: string): void;
}

/** One process, and the batches it has. */
class Lane {
	readonly #process: ChildProcess;
	readonly #onEnd: (lane: Lane) => void;
	readonly #deadlineMs: number;
	readonly #idleMs: number;
	#sent: string[][] = [];
	#events: LaneEvents | undefined;
	#timer: NodeJS.Timeout | undefined;
	#isReady = false;
	#isEnded = false;

	constructor(root: string, options: ParserOptions, onEnd: (lane: Lane) => void) {
		this.#onEnd = onEnd;
		this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
		this.#idleMs = options.idleMs ?? IDLE_MS;
		const entry = fileURLToPath(workerEntry("./parser-process", import.meta.url));
		this.#process = fork(entry, [root], {
			serialization: "advanced",
			execArgv: [`--max-old-space-size=${MAX_HEAP_MB}`],
			// Sources are untrusted data: what parses them gets nothing of our environment that it can do without.
			env: process.platform === "win32" ? { SystemRoot: process.env.SystemRoot } : {},
			stdio: ["ignore", "ignore", "ignore", "ipc"],
		});
		this.#process.on("message", (reply: ParseReply) => this.#onReply(reply));
		this.#process.on("error", (error) =>
			this.#die("the parser failed on it", describeError(error)),
		);
		this.#process.on("exit", () => this.#die("the parser failed on it", "it ended at once"));
	}

	get batches(): number {
		return this.#sent.length;
	}

	/** Takes up work for someone new. */
	work(events: LaneEvents): void {
		this.#events = events;
		clearTimeout(this.#timer);
		this.#process.ref();
		this.#process.channel?.ref();
	}

	send(batch: string[]): void {
		this.#sent.push(batch);
		// A process that has just died says so by itself.
		this.#process.send(batch satisfies ParseRequest as string[], () => {});
		if (this.#sent.length === 1) this.#watch();
	}

	/** Without work: it ends after a while, and keeps nobody alive. */
	rest(): this {
		this.#events = undefined;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.end(), this.#idleMs).unref();
		this.#process.unref();
		this.#process.channel?.unref();
		return this;
	}

	end(): void {
		if (this.#isEnded) return;
		this.#isEnded = true;
		clearTimeout(this.#timer);
		// Nothing gentler ends a parser in the middle of a file, and it has nothing to lose.
		this.#process.kill("SIGKILL");
		this.#process.unref();
		this.#process.channel?.unref();
		this.#onEnd(this);
	}

	#onReply(reply: ParseReply): void {
		if (this.#isEnded) return;
		if (reply === "ready") {
			this.#isReady = true;
			return;
		}
		this.#sent.shift();
		this.#watch();
		this.#events?.onOutcomes(reply);
	}

	#watch(): void {
		clearTimeout(this.#timer);
		if (this.#sent.length === 0) return;
		const reason = "parsing it did not end";
		this.#timer = setTimeout(() => this.#die(reason, reason), this.#deadlineMs);
	}

	#die(reason: string, cause: string): void {
		if (this.#isEnded) return;
		const events = this.#events;
		this.end();
		if (this.#isReady) events?.onDeath(this.#sent, reason);
		else events?.onFalseStart(cause);
	}
}

function aborted(): CodeIndexError {
	return new CodeIndexError("aborted", "Indexing was aborted; what is done so far is kept.");
}
