import { availableParallelism } from "node:os";
import { workerEntry } from "../../core/worker-entry.ts";
import { childProcess } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import { CodeIndexError } from "../code-index.ts";
import type { ScannedFile } from "../scan/scanned-tree.ts";
import { type FileOutcome, failedFile } from "./file-outcome.ts";

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
/** A parser that needs more is lost in one file, which is stored as one that could not be parsed. */
const MAX_HEAP_MB = 512;

/**
 * Parses the files of a project in processes of their own: untrusted text can end the native parser's process, and
 * nothing else ends a parser that hangs.
 */
export class Parser {
	readonly #processes: number;
	readonly #supervisor: WorkerSupervisor<readonly string[], readonly FileOutcome[]>;

	constructor(root: string, options: ParserOptions = {}) {
		this.#processes = options.processes ?? Math.min(4, availableParallelism());
		const entry = workerEntry("./parser-process", import.meta.url);
		this.#supervisor = new WorkerSupervisor({
			start: () => childProcess(entry, { args: [root], maxHeapMb: MAX_HEAP_MB }),
			size: this.#processes,
			ahead: BATCHES_AHEAD,
			deadlineMs: options.deadlineMs ?? 30_000,
			idleMs: options.idleMs ?? 60_000,
			endOnFailure: true,
		});
	}

	/**
	 * Hands on each result as it comes, in any order. A file that ends or hangs its process is reported as one that cannot
	 * be parsed. Rejects with the code `aborted`, or with what `take` throws.
	 */
	async parse(
		files: readonly ScannedFile[],
		take: (outcome: FileOutcome) => void,
		signal?: AbortSignal,
	): Promise<void> {
		if (signal?.aborted) throw aborted();
		/** Taken from the end. */
		const waiting = batchesOf(files).reverse();
		const failure = new AbortController();
		const stop = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])]);
		const work = async () => {
			for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
				const outcomes = await this.#parseBatch(batch, stop);
				if (stop.aborted) throw aborted();
				if (outcomes) for (const outcome of outcomes) take(outcome);
				// Each file of a lost batch gets a second chance.
				else waiting.push(...batch.map((path) => [path]));
			}
		};
		const lanes = Math.min(this.#processes * BATCHES_AHEAD, waiting.length);
		try {
			await Promise.all(Array.from({ length: lanes }, work));
		} catch (error) {
			failure.abort();
			throw error;
		}
	}

	/** Ends all processes. */
	close(): void {
		void this.#supervisor.close();
	}

	/** Returns nothing for a batch of several files that was lost. */
	async #parseBatch(
		batch: readonly string[],
		signal: AbortSignal,
	): Promise<readonly FileOutcome[] | undefined> {
		try {
			return await this.#supervisor.run(batch, { signal });
		} catch (error) {
			const { fault, message } = error as WorkerError;
			if (fault === "aborted" || fault === "closed") throw aborted();
			if (fault === "start") {
				throw new CodeIndexError("failed", `The parser could not be started: ${message}`);
			}
			const [path, ...others] = batch;
			if (path === undefined || others.length > 0) return undefined;
			const isLate = fault === "deadline";
			return [failedFile(path, isLate ? "parsing it did not end" : "the parser failed on it")];
		}
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

function aborted(): CodeIndexError {
	return new CodeIndexError("aborted", "Indexing was aborted; what is done so far is kept.");
}
