import { chunks } from "../core/chunks.ts";
import { type CallOptions, CodeIndexError, type IndexProgress } from "./code-index.ts";
import type { FileOutcome } from "./parsing/file-outcome.ts";
import type { FileParser } from "./parsing/parser.ts";
import { VACUUM_AFTER } from "./refresh-runner.ts";
import type { FileRow } from "./store/file-table.ts";
import type { IndexStore } from "./store/index-store.ts";

/** Bounds what is parsed but not yet stored. */
const FILES_AHEAD = 2_000;
/** Files per transaction. A question waits for at most one, about 30 ms. */
const FILES_PER_COMMIT = 64;

export interface CompletionOptions extends CallOptions {
	/** Paths. Default: all skeletons. */
	readonly files?: readonly string[];
}

/** Reads the references and words of files that are stored as skeletons. Questions run in between. */
export class Completion {
	readonly #store: IndexStore;
	readonly #parser: FileParser;
	readonly #locked: (work: () => void) => Promise<void>;
	readonly #closing = new AbortController();
	readonly #listeners = new Set<(progress: IndexProgress) => void>();
	#running: Promise<void> | undefined;

	/** `locked` runs a function while neither a refresh nor another process writes. */
	constructor(store: IndexStore, parser: FileParser, locked: (work: () => void) => Promise<void>) {
		this.#store = store;
		this.#parser = parser;
		this.#locked = locked;
	}

	/** An abort ends the waiting but not the work, since other questions may wait for it. */
	async run({ files, signal, onProgress }: CompletionOptions): Promise<void> {
		if (files) {
			const wanted = new Set(files);
			await this.#complete(this.#skeletons().filter(({ path }) => wanted.has(path)));
			return;
		}
		this.#running ??= this.#completeAll().finally(() => {
			this.#running = undefined;
		});
		if (onProgress) this.#listeners.add(onProgress);
		try {
			await unlessAborted(this.#running, signal);
		} finally {
			if (onProgress) this.#listeners.delete(onProgress);
		}
	}

	/** Work in flight is dropped: its files stay skeletons. */
	close(): void {
		this.#closing.abort();
	}

	async #completeAll(): Promise<void> {
		const all = this.#skeletons();
		await this.#complete(all, (done) => {
			for (const listener of this.#listeners) {
				listener({ phase: "parsing", done, total: all.length });
			}
		});
		if (all.length < VACUUM_AFTER) return;
		await this.#locked(() => {
			if (!this.#closing.signal.aborted) this.#store.vacuum();
		});
	}

	async #complete(rows: readonly FileRow[], onProgress?: (done: number) => void): Promise<void> {
		let done = 0;
		for (const some of chunks(rows, FILES_AHEAD)) {
			let parsed: FileOutcome[] = [];
			let storing = Promise.resolve();
			const store = () => {
				const outcomes = parsed;
				parsed = [];
				storing = storing.then(() => this.#locked(() => this.#put(outcomes)));
				// Awaited below, after the parser.
				storing.catch(() => {});
			};
			const take = (outcome: FileOutcome) => {
				if (parsed.push(outcome) >= FILES_PER_COMMIT) store();
				if (++done % 32 === 0) onProgress?.(done);
			};
			await this.#parser.parse(some, take, this.#closing.signal);
			store();
			await storing;
		}
	}

	#skeletons(): FileRow[] {
		const { skeletons, byId } = this.#store.files;
		return [...skeletons].flatMap((id) => byId.get(id) ?? []);
	}

	#put(outcomes: readonly FileOutcome[]): void {
		if (this.#closing.signal.aborted || outcomes.length === 0) return;
		const store = this.#store;
		store.begin();
		try {
			for (const outcome of outcomes) this.#putOne(outcome);
			store.commit();
		} catch (error) {
			store.rollback();
			throw error;
		}
	}

	#putOne(outcome: FileOutcome): void {
		// The table may have changed since the file was chosen.
		const row = this.#store.files.rows.get(outcome.path);
		if (outcome.kind === "gone" || !row?.content?.file.isSkeleton) return;
		const { hash, packed } = outcome;
		// Without a hash, the file could not be read, or killed the parser.
		if (hash.length === 0) this.#store.writer.settle(row, packed.problem);
		else this.#store.writer.complete(row, hash, packed);
	}
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
	if (!signal) return await work;
	const aborted = () => new CodeIndexError("aborted", "Waiting for the index was aborted.");
	if (signal.aborted) throw aborted();
	const { promise, reject } = Promise.withResolvers<never>();
	const stop = () => reject(aborted());
	signal.addEventListener("abort", stop);
	try {
		await Promise.race([work, promise]);
	} finally {
		signal.removeEventListener("abort", stop);
	}
}
