import { CodeIndexError, type IndexProgress } from "./code-index.ts";
import { ImportResolution } from "./import-resolution.ts";
import type { FileOutcome } from "./parsing/parse-file.ts";
import { Parser } from "./parsing/parser.ts";
import { planRefresh, type RefreshPlan } from "./refresh-plan.ts";
import { isTestPath } from "./scan/path-kinds.ts";
import type { ScannedFile, ScanTrouble } from "./scan/scanned-tree.ts";
import { TreeScanner } from "./scan/tree-scanner.ts";
import { ByteReader } from "./store/bytes.ts";
import { DamagedDatabase } from "./store/failures.ts";
import type { IndexStore } from "./store/index-store.ts";
import { requests as requestsOf } from "./store/records.ts";
import type { WriterLock } from "./store/writer-lock.ts";

export interface RefreshOptions {
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
	/** Index what was never indexed. Without it, an unfinished first indexing is kept fresh and goes no further. */
	readonly mayBuild: boolean;
}

/** What a refresh found and took in. */
export interface RefreshReport {
	readonly added: number;
	readonly changed: number;
	readonly removed: number;
	/** When the tree was looked at (ms since 1970). */
	readonly checkedMs: number;
	/** What could not be looked at. */
	readonly trouble: readonly ScanTrouble[];
}

/** How long to wait for another process that is writing. */
const LOCK_WAIT_MS = 10_000;
/** That process may be at its first indexing, which takes a while. */
const BUILD_LOCK_WAIT_MS = 600_000;
/** So many files are stored at once while a first indexing goes on: the most that an interruption can cost. */
const FILES_PER_COMMIT = 250;
/** After so many changes the database is written anew without gaps. */
const TIDY_AFTER = 200;

/** Keeps a stored index equal to the tree of a project. One call at a time. */
export class Indexer {
	readonly #root: string;
	readonly #store: IndexStore;
	readonly #lock: Pick<WriterLock, "take" | "release">;
	readonly #imports: ImportResolution;
	readonly #scanner: TreeScanner;
	readonly #parser: Pick<Parser, "parse" | "close">;

	constructor(
		root: string,
		store: IndexStore,
		lock: Pick<WriterLock, "take" | "release">,
		parser: Pick<Parser, "parse" | "close"> = new Parser(root),
	) {
		this.#root = root;
		this.#store = store;
		this.#lock = lock;
		this.#imports = new ImportResolution(store);
		this.#scanner = new TreeScanner(root);
		this.#parser = parser;
	}

	/**
	 * Looks at the tree and stores what has changed: all of it or, if that fails or is aborted, nothing; but a first
	 * indexing keeps what it has done. Rejects with a `CodeIndexError`, or with what the store throws.
	 */
	async refresh(options: RefreshOptions): Promise<RefreshReport> {
		const { signal, onProgress } = options;
		const store = this.#store;
		const scannedMs = Date.now();
		const tree = await this.#scanner.scan({
			...(signal ? { signal } : {}),
			onProgress: (done) => onProgress?.({ phase: "scanning", done }),
			alsoConfigs: store.projectState().lookedFor,
		});
		const scan = { root: this.#root, tree, scannedMs };
		store.sync();
		const plan = await planRefresh(store, scan, options);
		if (plan.isEmpty) return reportOf(plan);
		return await this.#whileLocked(options, async () => {
			// Another process may have done the same in the meantime.
			const current = store.sync() ? await planRefresh(store, scan, options) : plan;
			if (!current.isEmpty) await this.#carryOut(current, options);
			return reportOf(current);
		});
	}

	/** Ends what it has started. To be called while no refresh is under way. */
	close(): void {
		this.#parser.close();
	}

	async #whileLocked<T>({ signal, mayBuild }: RefreshOptions, work: () => Promise<T>): Promise<T> {
		const waitMs = mayBuild ? BUILD_LOCK_WAIT_MS : LOCK_WAIT_MS;
		if (!(await this.#lock.take(waitMs, signal))) {
			const message = `Another process has been writing the index of ${this.#root} for ${waitMs / 1000} seconds. Try again when it is done.`;
			throw new CodeIndexError("failed", message);
		}
		try {
			// A process that found no room removes what it has begun: what is written then would be lost.
			if (!this.#store.isInPlace()) throw new DamagedDatabase("its file was deleted");
			return await work();
		} finally {
			this.#lock.release();
		}
	}

	async #carryOut(plan: RefreshPlan, options: RefreshOptions): Promise<void> {
		const store = this.#store;
		store.begin();
		try {
			this.#prepare(plan);
			const done = await this.#parse(plan, options);
			const { lookedFor } = this.#imports;
			const { state, isNew } = plan.project;
			if (isNew || !sameTexts(state.lookedFor, lookedFor)) {
				store.setProjectState({ ...state, lookedFor });
			}
			store.setState({ isComplete: plan.completes, updatedMs: Date.now() });
			store.commit();
			if (done < TIDY_AFTER) return;
			options.onProgress?.({ phase: "storing", done, total: done });
			store.tidy();
		} catch (error) {
			const isAborted = error instanceof CodeIndexError && error.code === "aborted";
			// Every file that the first indexing has stored is whole by itself.
			if (plan.isFirst && isAborted) store.commit();
			else store.rollback();
			throw error;
		}
	}

	/** All that is done before files are parsed; what is stored then fits together again. */
	#prepare(plan: RefreshPlan): void {
		const { writer } = this.#store;
		const { scan, project, isFirst, completes } = plan;
		for (const file of plan.unknown) writer.announce(file);
		this.#imports.use(scan, project.state);
		this.#imports.resolveAgain({
			added: plan.unknown.map(({ path }) => path),
			removed: plan.removed,
			configs: [...project.configs, ...project.links],
		});
		for (const path of plan.removed) {
			const id = this.#store.files.row(path)?.id;
			if (id !== undefined) this.#store.changed(id);
			writer.remove(path);
		}
		for (const file of plan.confirmed) writer.confirm(file, scan.scannedMs);
		if (isFirst && completes) {
			this.#store.setProjectState(project.state);
			this.#commitPart();
		}
	}

	async #parse(plan: RefreshPlan, { signal, onProgress }: RefreshOptions): Promise<number> {
		const files = [...plan.changed, ...plan.added];
		const scanned = new Map(files.map((file) => [file.path, file]));
		let done = 0;
		const take = (outcome: FileOutcome) => {
			this.#put(outcome, plan, scanned.get(outcome.path));
			done++;
			if (plan.isFirst && done % FILES_PER_COMMIT === 0) this.#commitPart();
			if (done % 32 === 0 || done === files.length) {
				onProgress?.({ phase: "parsing", done, total: files.length });
			}
		};
		await this.#parser.parse(files, take, signal);
		return done;
	}

	/** A file that is gone again stays as it is: the next look at the tree will find it missing. */
	#put(outcome: FileOutcome, plan: RefreshPlan, scanned: ScannedFile | undefined): void {
		if (outcome.kind === "gone" || !scanned) return;
		const { path, packed, hash } = outcome;
		const requests = requestsOf(new ByteReader(packed.requests));
		const id = this.#store.writer.put({
			scanned,
			storedMs: plan.scan.scannedMs,
			hash,
			isTest: isTestPath(path),
			packed,
			resolutions: this.#imports.resolve(path, requests),
		});
		this.#store.changed(id);
	}

	#commitPart(): void {
		this.#store.setState({ isComplete: false, updatedMs: Date.now() });
		this.#store.commit();
		this.#store.begin();
	}
}

function reportOf({ added, changed, removed, scan }: RefreshPlan): RefreshReport {
	return {
		added: added.length,
		changed: changed.length,
		removed: removed.length,
		checkedMs: scan.scannedMs,
		trouble: scan.tree.trouble,
	};
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
	return one.length === other.length && one.every((text, index) => text === other[index]);
}
