import { existsSync, mkdirSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryName } from "../../core/atomic-file.ts";
import { describeError } from "../../core/errno.ts";
import { matchesAny } from "../../core/glob.ts";
import type { AnswerOf, Coverage, Covered, QueryOf, QuestionName, Uncovered } from "../answers.ts";
import {
	type BuildReport,
	type CallOptions,
	CodeIndexError,
	type IndexStatus,
} from "../code-index.ts";
import type { IndexReader, ReadText } from "../index-reader.ts";
import { Indexer, leftOut, type RefreshReport } from "../indexer.ts";
import { languagesIn, pathKind } from "../languages.ts";
import { readSource } from "../read-source.ts";
import type { GitListing } from "../scan/git-files.ts";
import { MAX_TEXT_BYTES } from "../scan/scanned-tree.ts";
import { storeFailure } from "../store/failures.ts";
import { IndexStore, identityOf, removeDatabase } from "../store/index-store.ts";
import { WriterLock } from "../store/writer-lock.ts";
import type { Calls } from "./messages.ts";
import {
	asPartial,
	completeAll,
	mayAskSkeletons,
	neededFor,
	pendingIn,
} from "./skeleton-answers.ts";

export interface ServiceCall extends Required<CallOptions> {
	/** Returns a listing that was started for this call, once. */
	readonly takeListing?: () => GitListing | undefined;
}

interface Opened {
	readonly store: IndexStore;
	readonly indexer: Indexer;
	/** Whether there was no index when it was opened. A failed build then leaves nothing useful. */
	wasEmpty: boolean;
	readonly inMemory?: InMemory;
}

interface InMemory {
	readonly reason: string;
	/** When to try the disk again, in ms of the monotonic clock. */
	retryAt: number;
}

const REPLACE_WAIT_MS = 10_000;
/** Maximum size of an index in memory, enough for about 700 MB of sources. */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;
/** Retry interval while the disk is unwritable. A retry first writes `PROBE_BYTES`. */
const RETRY_MS = 60_000;
/** Backoff: each failure after a successful probe doubles the interval, up to this maximum. */
const MAX_RETRY_MS = 60 * 60_000;
const PROBE_BYTES = 256 * 1024;
const UNPARSED_NAMED = 5;

/** Refreshes the index before each question, rebuilds it if damaged, keeps it in memory if unwritable. */
export class IndexService {
	readonly #root: string;
	readonly #path: string;
	readonly #exclude: readonly string[];
	#opened: Opened | undefined;
	#lock: WriterLock | undefined;
	#note: string | undefined;
	/** Whether the index may be rebuilt. An earlier index implies consent. */
	#hasConsent = false;
	#retryMs = RETRY_MS;
	#leftOut: ReturnType<typeof leftOut> = {};

	/** `exclude` names documents that are never shown. */
	constructor(root: string, path: string, exclude: readonly string[] = []) {
		this.#root = root;
		this.#path = path;
		this.#exclude = exclude;
	}

	async status(): Promise<IndexStatus> {
		const bare = { root: this.#root, database: this.#path };
		if (!this.#opened && !existsSync(this.#path)) {
			return { state: "absent", ...bare, bytes: 0, files: 0, symbols: 0, ...this.#noteField() };
		}
		const { store } = await this.#open();
		store.sync();
		const { isComplete, updatedMs } = store.state();
		return {
			state: isComplete ? "ready" : updatedMs === undefined ? "absent" : "partial",
			...bare,
			bytes: sizeOf(this.#path) + sizeOf(`${this.#path}-wal`),
			files: store.files.indexed.size,
			symbols: store.files.total("symbols"),
			...(updatedMs === undefined ? {} : { updatedMs }),
			...pendingIn(store),
			...this.#leftOut,
			...this.#noteField(),
		};
	}

	async build(
		call: ServiceCall,
		{ skeletonFirst }: Calls["build"]["query"] = {},
	): Promise<BuildReport> {
		const start = performance.now();
		return await this.#withRecovery(call, async ({ store, indexer }) => {
			const extent = skeletonFirst ? "skeleton" : "whole";
			const done = await indexer.refresh({ ...call, mayBuild: true, extent });
			if (!skeletonFirst) await completeAll({ store, indexer }, call);
			const { added, changed, removed } = done;
			const coverage = store.read((reader) => this.#coverage(store, reader, done));
			return { coverage, added, changed, removed, seconds: (performance.now() - start) / 1000 };
		});
	}

	async ask<Name extends QuestionName>(
		name: Name,
		query: QueryOf<Name>,
		call: ServiceCall,
	): Promise<Uncovered<AnswerOf<Name>> & Covered> {
		if (!this.#opened && !existsSync(this.#path)) throw this.#notIndexed();
		// The query's code is loaded while git lists the files.
		const loading = queries[name]();
		loading.catch(() => {});
		return await this.#withRecovery(call, async (opened) => {
			const { store, indexer, inMemory } = opened;
			store.sync();
			const isMissing = store.state().updatedMs === undefined;
			if (isMissing && !(inMemory && this.#hasConsent)) throw this.#notIndexed();
			const done = await indexer.refresh({ ...call, mayBuild: isMissing });
			const answer = await loading;
			const read = () =>
				store.read((reader) => ({
					...answer(reader, query, (path) => this.#readText(path), done.texts),
					coverage: this.#coverage(store, reader, done),
				}));
			const { skeletons } = store.files;
			if (skeletons.size === 0) return read();
			const first = mayAskSkeletons(name) ? read() : undefined;
			const needed = first ? neededFor(name, first, query) : "all";
			if (needed === "all") await completeAll(opened, call);
			else if (needed !== "none") await indexer.complete({ ...call, files: needed });
			const whole = needed === "none" && first ? first : read();
			if (skeletons.size === 0) return whole;
			indexer.completeLater();
			return asPartial(name, whole);
		});
	}

	close(): void {
		this.#opened?.indexer.close();
		this.#opened?.store.close();
		this.#lock?.close();
		this.#opened = undefined;
		this.#lock = undefined;
	}

	#readText(path: string): string | undefined {
		// Documents are searched as text, and some hold secrets. Code is asked for by its symbols.
		const isDocument = pathKind(path) !== "source";
		if (isDocument && matchesAny(this.#exclude, path)) return undefined;
		const source = readSource(this.#root, path, isDocument ? { maxBytes: MAX_TEXT_BYTES } : {});
		return source.kind === "read" ? source.bytes.toString("utf8") : undefined;
	}

	#writerLock(): WriterLock {
		this.#lock ??= new WriterLock(this.#path);
		return this.#lock;
	}

	async #withRecovery<T>(call: ServiceCall, work: (opened: Opened) => Promise<T>): Promise<T> {
		try {
			return await this.#withClearErrors(async () => {
				const opened = await this.#openCurrent(call);
				opened.wasEmpty &&= opened.store.state().updatedMs === undefined;
				return await work(opened);
			});
		} catch (error) {
			if (storeFailure(error) !== "damaged") return await this.#retryInMemory(error, work);
			const again = this.#withClearErrors(async () => {
				await this.#replace(error, call);
				return await work(await this.#open());
			});
			return await again.catch((another) => this.#retryInMemory(another, work));
		}
	}

	#isUnwritable(error: unknown): boolean {
		const failure = storeFailure(error);
		return !this.#opened?.inMemory && (failure === "full" || failure === "unwritable");
	}

	/** Throws the error unless it means that the disk cannot be written to. */
	async #retryInMemory<T>(error: unknown, work: (opened: Opened) => Promise<T>): Promise<T> {
		if (!this.#isUnwritable(error)) throw error;
		const before = this.#opened;
		if (before?.wasEmpty) await this.#removeUnfinished(before);
		this.close();
		return await this.#withClearErrors(async () => work(await this.#openInMemory(error)));
	}

	/** Explains errors. Damage and an unwritable disk pass through, since the service recovers from them. */
	async #withClearErrors<T>(work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			const failure = storeFailure(error);
			const inMemory = this.#opened?.inMemory;
			if (failure === "full" && inMemory) throw this.#outOfSpace(inMemory.reason, error);
			if (failure !== "busy") throw error;
			const message = `Another process is writing the index in ${this.#path}. Try again when it is done.`;
			throw new CodeIndexError("failed", message, { cause: error });
		}
	}

	/** Reopens the index if its file was deleted or replaced, or if the disk is writable again. */
	async #openCurrent(call: ServiceCall): Promise<Opened> {
		const opened = await this.#open();
		const { inMemory } = opened;
		const isBack = inMemory !== undefined && this.#canWrite(inMemory);
		if (!isBack && opened.store.isInPlace()) return opened;
		const hadContent = opened.store.files.indexed.size > 0;
		this.#hasConsent ||= hadContent;
		this.close();
		const current = await this.#open();
		if (hadContent && current.store.state().updatedMs === undefined) {
			if (!isBack)
				this.#note = `The index was deleted while it was open, and was rebuilt ${timeOfDay()}.`;
			await current.indexer.refresh({ ...call, mayBuild: true });
		}
		if (!current.inMemory) this.#retryMs = RETRY_MS;
		return current;
	}

	async #open(): Promise<Opened> {
		this.#opened ??= await this.#openOnDisk().catch((error) => {
			if (!this.#isUnwritable(error)) throw error;
			return this.#openInMemory(error);
		});
		return this.#opened;
	}

	async #openOnDisk(): Promise<Opened> {
		const isNew = sizeOf(this.#path) === 0;
		try {
			const store = await IndexStore.open(this.#path);
			const wasEmpty = store.state().updatedMs === undefined;
			const indexer = new Indexer(this.#root, store, () => this.#writerLock());
			return { store, indexer, wasEmpty };
		} catch (error) {
			if (isNew && this.#isUnwritable(error)) await this.#removeUnfinished();
			this.close();
			throw error;
		}
	}

	async #openInMemory(error: unknown): Promise<Opened> {
		const { cause = error } = error as { cause?: unknown };
		const reason = describeError(cause);
		const bytes = sizeOf(this.#path);
		this.#hasConsent ||= bytes > 0;
		if (bytes > MAX_MEMORY_BYTES) throw this.#outOfSpace(reason, error);
		const store = await IndexStore.openInMemory(this.#path, MAX_MEMORY_BYTES).catch((trouble) => {
			// An error without a cause: the index is newer, or SQLite is missing.
			if (trouble instanceof CodeIndexError && trouble.cause === undefined) throw trouble;
			return IndexStore.openInMemory("", MAX_MEMORY_BYTES);
		});
		this.#opened = {
			store,
			indexer: new Indexer(this.#root, store, () => noLock),
			wasEmpty: false,
			inMemory: { reason, retryAt: performance.now() + this.#retryMs },
		};
		this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
		return this.#opened;
	}

	#canWrite(inMemory: InMemory): boolean {
		if (performance.now() < inMemory.retryAt) return false;
		const folder = dirname(this.#path);
		const probe = join(folder, temporaryName());
		try {
			mkdirSync(folder, { recursive: true, mode: 0o700 });
			writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { flag: "wx", mode: 0o600 });
			return true;
		} catch {
			inMemory.retryAt = performance.now() + RETRY_MS;
			return false;
		} finally {
			rmSync(probe, { force: true });
			removeIfEmpty(folder);
		}
	}

	async #replace(damage: unknown, call: ServiceCall): Promise<void> {
		const damaged = this.#opened?.store.identity ?? identityOf(this.#path);
		this.#hasConsent = true;
		this.close();
		const lock = this.#writerLock();
		try {
			if (!(await lock.take(REPLACE_WAIT_MS, call.signal))) {
				const message = `The index in ${this.#path} is damaged, and another process is writing it. Try again.`;
				throw new CodeIndexError("failed", message, { cause: damage });
			}
			if (identityOf(this.#path) === damaged) removeDatabase(this.#path);
		} finally {
			lock.release();
		}
		this.#note = `The index was damaged (${describeError(damage)}) and rebuilt ${timeOfDay()}.`;
		const { indexer } = await this.#open();
		await indexer.refresh({ ...call, mayBuild: true });
	}

	async #removeUnfinished(opened?: Opened): Promise<void> {
		const lock = this.#writerLock();
		try {
			// Another process may have indexed more. If the lock cannot be created, no process holds it.
			if (!(await lock.take(0).catch(() => true))) return;
			if (opened && (!opened.store.isInPlace() || opened.store.state().isComplete)) return;
			opened?.indexer.close();
			opened?.store.close();
			removeDatabase(this.#path);
			lock.remove();
		} catch {
			return; // the next build starts from the remaining files
		}
		removeIfEmpty(dirname(this.#path));
	}

	#coverage(store: IndexStore, reader: IndexReader, done: RefreshReport): Coverage {
		const unparsed = [...reader.files.values()].filter(({ problem }) => problem !== undefined);
		const paths = unparsed.map(({ path }) => path).sort();
		const reason = this.#opened?.inMemory?.reason;
		this.#leftOut = leftOut(done);
		return {
			files: reader.files.size,
			...languagesIn(reader.files.values()),
			unparsed: { count: paths.length, paths: paths.slice(0, UNPARSED_NAMED) },
			unresolvedImports: store.files.total("unresolved"),
			checkedMs: done.checkedMs,
			refreshedFiles: done.added + done.changed + done.removed,
			complete: store.state().isComplete,
			...pendingIn(store),
			...this.#leftOut,
			...(reason !== undefined && { notStored: { place: dirname(this.#path), reason } }),
		};
	}

	#noteField(): Pick<IndexStatus, "note"> {
		const inMemory = this.#opened?.inMemory;
		const note = inMemory
			? `The index is in memory only: ${dirname(this.#path)} cannot be written to (${inMemory.reason}).`
			: this.#note;
		return note === undefined ? {} : { note };
	}

	#outOfSpace(reason: string, cause: unknown): CodeIndexError {
		const message = `The index cannot be written to ${dirname(this.#path)} (${reason}), and is too large for memory. The stored index is unchanged. Free some space, or set XDG_CACHE_HOME to another folder, and try again.`;
		return new CodeIndexError("failed", message, { cause });
	}

	#notIndexed(): CodeIndexError {
		const message = `${this.#root} has not been indexed yet. Build the index first: strata index.`;
		return new CodeIndexError("not-indexed", message);
	}
}

type Query<Name extends QuestionName> = (
	reader: IndexReader,
	query: QueryOf<Name>,
	readText: ReadText,
	/** Paths of documents and configuration files. */
	texts?: readonly string[],
) => Uncovered<AnswerOf<Name>>;

/** Each query is loaded on first use. */
export const queries: { readonly [Name in QuestionName]: () => Promise<Query<Name>> } = {
	search: async () => (await import("../queries/search.ts")).search,
	dependencies: async () => (await import("../queries/dependencies.ts")).dependencies,
	outline: async () => (await import("../queries/outline.ts")).outline,
	symbol: async () => (await import("../queries/outline.ts")).symbolSource,
	usages: async () => (await import("../queries/usages.ts")).usages,
	impact: async () => (await import("../queries/impact.ts")).impact,
	taskContext: async () => (await import("../queries/dependencies.ts")).taskContext,
	symbolMap: async () => (await import("../queries/symbol-map.ts")).symbolMap,
};

/** An index in memory has no other writer, so it needs no lock. */
const noLock = { take: () => Promise.resolve(true), release: () => {} };

function removeIfEmpty(folder: string): void {
	try {
		rmdirSync(folder);
	} catch {
		// The folder is not empty, or does not exist.
	}
}

function sizeOf(path: string): number {
	return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function timeOfDay(): string {
	return `at ${new Date().toTimeString().slice(0, 5)}`;
}
