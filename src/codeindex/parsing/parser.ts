import module from "node:module";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { workerEntry } from "../../core/worker-entry.ts";
import { childProcess } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import { CodeIndexError } from "../code-index.ts";
import type { Extent } from "../language.ts";
import { type FileOutcome, failedFile } from "./file-outcome.ts";

export interface ParserJob {
	readonly paths: readonly string[];
	readonly extent: Extent;
}

/** A file to parse. Its size decides how files are batched. */
interface FileToParse {
	readonly path: string;
	readonly bytes: number;
}

export interface ParserOptions {
	/** Default: one per core, up to four. */
	readonly processes?: number;
	readonly deadlineMs?: number;
	readonly idleMs?: number;
	/** What a process runs. Default: `parser-process`. */
	readonly entry?: URL;
}

/** Below both, one process is as fast as several: each would compile the same code first. */
const FEW_FILES = 600;
const FEW_BYTES = 6_000_000;
const BATCH_FILES = 32;
const BATCH_BYTES = 400_000;
/** Batches in flight per process: one running, one queued. */
const BATCHES_AHEAD = 2;
/** A file that needs more heap is stored as failed. With V8's own nursery, a process takes 100 MB more and is no faster. */
const HEAP = { maxHeapMb: 512, nurseryMb: 16 };

/** What an indexer needs of a {@link Parser}. */
export type FileParser = Pick<Parser, "parse" | "close"> & Partial<Pick<Parser, "start">>;

/** Parses in child processes: untrusted text can crash or hang the native parser. */
export class Parser {
	readonly #processes: number;
	/** How many processes the files in hand are worth. */
	#useful = 1;
	readonly #supervisor: WorkerSupervisor<ParserJob, readonly FileOutcome[]>;

	constructor(root: string, options: ParserOptions = {}) {
		this.#processes = options.processes ?? Math.min(4, availableParallelism());
		const entry = options.entry ?? workerEntry("./parser-process", import.meta.url);
		const useful = () => this.#useful;
		const folder = module.getCompileCacheDir?.();
		// Node names a folder of its version in the one that it was given.
		const compileCache = folder === undefined ? undefined : dirname(folder);
		this.#supervisor = new WorkerSupervisor({
			start: () => childProcess(entry, { args: [root], compileCache, ...HEAP }),
			get size() {
				return useful();
			},
			maxInFlight: BATCHES_AHEAD,
			deadlineMs: options.deadlineMs ?? 30_000,
			idleMs: options.idleMs ?? 60_000,
			endOnFailure: true,
		});
	}

	/** Starts a process ahead of the first files. A failure is reported by `parse`. */
	start(): void {
		this.#supervisor.run({ paths: [], extent: "skeleton" }).catch(() => {});
	}

	/** Calls `take` in any order. A file that crashes or hangs its process is reported as failed. */
	async parse(
		files: readonly FileToParse[],
		take: (outcome: FileOutcome) => void,
		signal?: AbortSignal,
		extent: Extent = "whole",
	): Promise<void> {
		if (signal?.aborted) throw aborted();
		const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
		const isFew = files.length < FEW_FILES && bytes < FEW_BYTES;
		this.#useful = isFew ? 1 : this.#processes;
		const queue = batchesOf(files).reverse();
		const failure = new AbortController();
		const stop = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])]);
		const work = async () => {
			for (let batch = queue.pop(); batch; batch = queue.pop()) {
				const outcomes = await this.#parseBatch({ paths: batch, extent }, stop);
				if (stop.aborted) throw aborted();
				if (outcomes) for (const outcome of outcomes) take(outcome);
				// Retries each file of a lost batch separately.
				else queue.push(...batch.map((path) => [path]));
			}
		};
		const workers = Math.min(this.#useful * BATCHES_AHEAD, queue.length);
		try {
			await Promise.all(Array.from({ length: workers }, work));
		} catch (error) {
			failure.abort();
			throw error;
		}
	}

	close(): void {
		void this.#supervisor.close();
	}

	/** Returns undefined if a batch of several files was lost. */
	async #parseBatch(
		job: ParserJob,
		signal: AbortSignal,
	): Promise<readonly FileOutcome[] | undefined> {
		try {
			return await this.#supervisor.run(job, { signal });
		} catch (error) {
			const { fault, message } = error as WorkerError;
			if (fault === "aborted" || fault === "closed") throw aborted();
			if (fault === "start") {
				throw new CodeIndexError("failed", `The parser could not be started: ${message}`);
			}
			const [path, ...others] = job.paths;
			if (path === undefined || others.length > 0) return undefined;
			const isLate = fault === "deadline";
			return [failedFile(path, isLate ? "parsing it took too long" : "the parser failed on it")];
		}
	}
}

function batchesOf(files: readonly FileToParse[]): string[][] {
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

function aborted(): CodeIndexError {
	return new CodeIndexError("aborted", "Indexing was aborted. Completed files are kept.");
}
