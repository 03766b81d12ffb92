import { existsSync, statSync } from "node:fs";
import { describeError } from "../../core/errno.ts";
import type { Coverage } from "../answers.ts";
import {
	type BuildReport,
	CodeIndexError,
	type IndexProgress,
	type IndexStatus,
} from "../code-index.ts";
import { Indexer, type RefreshReport } from "../indexer.ts";
import type { IndexReader } from "../reader.ts";
import { storeFailure } from "../store/failures.ts";
import { IndexStore, identityOf, removeDatabase } from "../store/index-store.ts";
import { WriterLock } from "../store/writer-lock.ts";

export interface ServiceCall {
	readonly signal: AbortSignal;
	readonly onProgress: (progress: IndexProgress) => void;
}

/** A question to the index. */
export type Question<Answer> = (reader: IndexReader) => Answer;

interface Opened {
	readonly store: IndexStore;
	readonly lock: WriterLock;
	readonly indexer: Indexer;
}

const REPLACE_WAIT_MS = 10_000;
/** How many files that were not understood are named in an answer. */
const UNPARSED_NAMED = 5;
const LEFT_OUT_NAMED = 3;

/**
 * The index of one project with all that can happen to it: opened when it is needed, refreshed before every
 * question, made anew when it turns out to be damaged. One call at a time.
 */
export class IndexService {
	readonly #root: string;
	readonly #path: string;
	#opened: Opened | undefined;
	#note: string | undefined;

	constructor(root: string, path: string) {
		this.#root = root;
		this.#path = path;
	}

	async status(): Promise<IndexStatus> {
		const bare = { root: this.#root, database: this.#path };
		const note = () => (this.#note === undefined ? {} : { note: this.#note });
		if (!this.#opened && !existsSync(this.#path)) {
			return { state: "absent", ...bare, bytes: 0, files: 0, symbols: 0, ...note() };
		}
		const { store } = await this.#open();
		store.sync();
		const { isComplete, updatedMs } = store.state();
		return {
			state: isComplete ? "ready" : updatedMs === undefined ? "absent" : "partial",
			...bare,
			bytes: bytesOf(this.#path),
			files: store.files.indexed.size,
			symbols: store.files.symbols,
			...(updatedMs === undefined ? {} : { updatedMs }),
			...note(),
		};
	}

	async build(call: ServiceCall): Promise<BuildReport> {
		const start = performance.now();
		return await this.#surviving(call, async ({ store, indexer }) => {
			const done = await indexer.refresh({ ...call, mayBuild: true });
			const { added, changed, removed } = done;
			const coverage = store.read((reader) => this.#coverage(store, reader, done));
			return { coverage, added, changed, removed, seconds: (performance.now() - start) / 1000 };
		});
	}

	/** Refreshes the index and answers from it. */
	async ask<Answer extends object>(
		question: Question<Answer>,
		call: ServiceCall,
	): Promise<Answer & { coverage: Coverage }> {
		if (!this.#opened && !existsSync(this.#path)) throw this.#notIndexed();
		return await this.#surviving(call, async ({ store, indexer }) => {
			store.sync();
			if (store.state().updatedMs === undefined) throw this.#notIndexed();
			const done = await indexer.refresh({ ...call, mayBuild: false });
			return store.read((reader) => ({
				...question(reader),
				coverage: this.#coverage(store, reader, done),
			}));
		});
	}

	close(): void {
		this.#opened?.indexer.close();
		this.#opened?.store.close();
		this.#opened?.lock.close();
		this.#opened = undefined;
	}

	/** Does something with the index. If that turns out to be damaged, it is made anew and the work done again. */
	async #surviving<T>(call: ServiceCall, work: (opened: Opened) => Promise<T>): Promise<T> {
		try {
			return await this.#explaining(async () => work(await this.#openInPlace(call)));
		} catch (error) {
			if (storeFailure(error) !== "damaged") throw error;
			return await this.#explaining(async () => {
				await this.#replace(error, call);
				return await work(await this.#open());
			});
		}
	}

	/** Failures in the words of those who ask; but for damage, which is mended. */
	async #explaining<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			switch (storeFailure(error)) {
				case "full":
					throw new CodeIndexError(
						"failed",
						`There is no room on the disk for the index in ${this.#path}; it is as it was before. Make room and try again.`,
						{ cause: error },
					);
				case "busy":
					throw new CodeIndexError(
						"failed",
						`Another process is writing the index in ${this.#path}. Try again when it is done.`,
						{ cause: error },
					);
				default:
					throw error;
			}
		}
	}

	/** Opens the index; if its file has been deleted or replaced since, what is there now. */
	async #openInPlace(call: ServiceCall): Promise<Opened> {
		const opened = await this.#open();
		if (opened.store.isInPlace()) return opened;
		const hadContent = opened.store.files.indexed.size > 0;
		this.close();
		const current = await this.#open();
		// Who has agreed to an index once has agreed to have it made again.
		if (hadContent && current.store.state().updatedMs === undefined) {
			this.#note = `The index was deleted while it was open, and was built anew ${timeOfDay()}.`;
			await current.indexer.refresh({ ...call, mayBuild: true });
		}
		return current;
	}

	async #open(): Promise<Opened> {
		if (this.#opened) return this.#opened;
		const lock = await WriterLock.open(this.#path);
		try {
			const store = await IndexStore.open(this.#path);
			this.#opened = { store, lock, indexer: new Indexer(this.#root, store, lock) };
			return this.#opened;
		} catch (error) {
			lock.close();
			throw error;
		}
	}

	/** Puts a new index in the place of a damaged one, unless another process has done so. */
	async #replace(damage: unknown, call: ServiceCall): Promise<void> {
		const damaged = this.#opened?.store.identity ?? identityOf(this.#path);
		this.close();
		const lock = await WriterLock.open(this.#path);
		try {
			if (!(await lock.take(REPLACE_WAIT_MS, call.signal))) {
				const message = `The index in ${this.#path} is damaged, and another process is at it. Try again.`;
				throw new CodeIndexError("failed", message, { cause: damage });
			}
			if (identityOf(this.#path) === damaged) removeDatabase(this.#path);
		} finally {
			lock.release();
			lock.close();
		}
		this.#note = `The index was damaged (${describeError(damage)}) and built anew ${timeOfDay()}.`;
		const { indexer } = await this.#open();
		await indexer.refresh({ ...call, mayBuild: true });
	}

	#coverage(store: IndexStore, reader: IndexReader, done: RefreshReport): Coverage {
		const unparsed = [...reader.files.values()].filter(({ problem }) => problem !== undefined);
		const paths = unparsed.map(({ path }) => path).sort();
		return {
			files: reader.files.size,
			unparsed: { count: paths.length, paths: paths.slice(0, UNPARSED_NAMED) },
			unresolvedImports: store.files.unresolved,
			checkedMs: done.checkedMs,
			refreshedFiles: done.added + done.changed + done.removed,
			complete: store.state().isComplete,
			...leftOut(done),
		};
	}

	#notIndexed(): CodeIndexError {
		const message = `${this.#root} has not been indexed yet. Build the index first: strata index.`;
		return new CodeIndexError("not-indexed", message);
	}
}

/** Links are not followed on purpose, and without git nothing is lost. */
function leftOut({ trouble }: RefreshReport): Pick<Coverage, "leftOut"> {
	const lost = trouble.filter(({ kind }) => kind !== "link" && kind !== "git");
	if (lost.length === 0) return {};
	const first = lost
		.slice(0, LEFT_OUT_NAMED)
		.map(({ path, message: reason }) => ({ path, reason }));
	return { leftOut: { count: lost.length, first } };
}

function bytesOf(path: string): number {
	const sizes = [path, `${path}-wal`].map(
		(file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0,
	);
	return sizes.reduce((sum, size) => sum + size, 0);
}

function timeOfDay(): string {
	return `at ${new Date().toTimeString().slice(0, 5)}`;
}
