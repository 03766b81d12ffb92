import { setImmediate } from "node:timers/promises";
import { compareText } from "../core/compare-text.ts";
import { isSurelySame } from "../core/file-times.ts";
import { type CallOptions, CodeIndexError } from "./code-index.ts";
import type { Completion } from "./completion.ts";
import type { Extent } from "./language.ts";
import type { ParsedAhead } from "./parsing/parsed-ahead.ts";
import type { FileParser } from "./parsing/parser.ts";
import { readSource } from "./read-source.ts";
import type { RefreshPlan, RefreshRunner, Scan } from "./refresh-runner.ts";
import type { GitListing } from "./scan/git-files.ts";
import { TreeScanner } from "./scan/scan-tree.ts";
import type {
	KnownConfig,
	KnownFile,
	ProjectState,
	ScannedFile,
	ScanTrouble,
	Symlink,
} from "./scan/scanned-tree.ts";
import { DamagedDatabase } from "./store/failures.ts";
import type { IndexStore } from "./store/index-store.ts";
import type { WriterLock } from "./store/writer-lock.ts";

interface RefreshOptions extends CallOptions {
	/** Whether the first indexing is allowed. If not, a partial index is refreshed but not completed. */
	readonly mayBuild: boolean;
	/** How much of new files is read. Default: `whole`. */
	readonly extent?: Extent;
	/** Returns a listing that was started for this refresh, once. */
	readonly takeListing?: () => GitListing | undefined;
}

export type RefreshReport = ReturnType<typeof reportOf>;

const LOCK_WAIT_MS = 10_000;
/** A build waits longer, since another process may be running the first indexing. */
const BUILD_LOCK_WAIT_MS = 600_000;

/** Keeps a stored index up to date with the project's files. Refreshes must not overlap. */
export class Indexer {
	readonly #root: string;
	readonly #store: IndexStore;
	readonly #lock: () => Pick<WriterLock, "take" | "release">;
	readonly #scanner: TreeScanner;
	readonly #parser: FileParser | undefined;
	#runner: RefreshRunner | undefined;
	#completion: Completion | undefined;
	/** Ends with the last writer in line. */
	#writing: Promise<unknown> = Promise.resolve();

	constructor(
		root: string,
		store: IndexStore,
		lock: () => Pick<WriterLock, "take" | "release">,
		parser?: FileParser,
	) {
		this.#root = root;
		this.#store = store;
		this.#lock = lock;
		this.#scanner = new TreeScanner(root);
		this.#parser = parser;
	}

	/** Rejects with a `CodeIndexError` or a store error. */
	async refresh(options: RefreshOptions): Promise<RefreshReport> {
		const { signal, onProgress, takeListing } = options;
		const store = this.#store;
		const isFirst = options.mayBuild && store.files.indexed.size === 0;
		// The parser starts while git lists the files. If its code cannot be loaded, `#run` reports the error.
		if (isFirst)
			this.#openRunner().then(
				(runner) => runner.start(),
				() => {},
			);
		// A parser that runs already is given an edited file while the scan goes on.
		const ahead = this.#runner?.parsedAhead(signal);
		const scannedMs = Date.now();
		const tree = await this.#scanner.scan({
			...(signal && { signal }),
			...(takeListing && { takeListing }),
			...(ahead && { onChanged: (file) => ahead.start(file) }),
			onProgress: (done) => onProgress?.({ phase: "scanning", done }),
			alsoConfigs: store.projectState().lookedFor,
		});
		const scan = { root: this.#root, tree, scannedMs };
		store.sync();
		const plan = await planRefresh(store, scan, options);
		if (plan.isEmpty) return reportOf(plan);
		return await this.#whileLocked(options, async () => {
			// Another process may have stored the same changes meanwhile.
			const isOld = store.sync();
			const current = isOld ? await planRefresh(store, scan, options) : plan;
			if (!current.isEmpty) await this.#run(current, options, isOld ? undefined : ahead);
			return reportOf(current);
		});
	}

	/** Reads what skeletons lack, of all files or of some. Files that have changed since are left to the next refresh. */
	async complete(options: CallOptions & { readonly files?: readonly string[] }): Promise<void> {
		if (this.#store.files.skeletons.size === 0) return;
		const completion = await this.#openCompletion();
		await completion.run(options);
	}

	/** Like {@link complete}, in the background. A failure is left to the next call. */
	completeLater(): void {
		this.#openCompletion().then(
			(completion) => completion.run({}).catch(() => {}),
			() => {},
		);
	}

	/** Must not be called while a refresh is in flight. */
	close(): void {
		this.#completion?.close();
		this.#runner?.close();
	}

	async #run(plan: RefreshPlan, options: RefreshOptions, ahead?: ParsedAhead): Promise<void> {
		const runner = await this.#openRunner();
		await runner.run(plan, options, ahead);
	}

	/** The runner is loaded only when there is something to write. */
	async #openRunner(): Promise<RefreshRunner> {
		const { RefreshRunner } = await import("./refresh-runner.ts");
		this.#runner ??= new RefreshRunner(this.#root, this.#store, this.#parser);
		return this.#runner;
	}

	async #openCompletion(): Promise<Completion> {
		const runner = await this.#openRunner();
		const { Completion } = await import("./completion.ts");
		this.#completion ??= new Completion(this.#store, runner.parser, (work) =>
			this.#whileLocked({ mayBuild: false }, async () => work()),
		);
		return this.#completion;
	}

	/** Writers of this process take turns. Other processes are kept out by the lock. */
	#whileLocked<T>(options: RefreshOptions, work: () => Promise<T>): Promise<T> {
		const turn = this.#writing.then(() => this.#withLock(options, work));
		this.#writing = turn.catch(() => {});
		return turn;
	}

	async #withLock<T>({ signal, mayBuild }: RefreshOptions, work: () => Promise<T>): Promise<T> {
		const waitMs = mayBuild ? BUILD_LOCK_WAIT_MS : LOCK_WAIT_MS;
		const lock = this.#lock();
		if (!(await lock.take(waitMs, signal))) {
			const message = `Another process has been writing the index of ${this.#root} for ${waitMs / 1000} seconds. Try again when it is done.`;
			throw new CodeIndexError("failed", message);
		}
		try {
			// A process that runs out of disk space deletes its unfinished index. Writes to it would be lost.
			if (!this.#store.isInPlace()) throw new DamagedDatabase("its file was deleted");
			return await work();
		} finally {
			lock.release();
		}
	}
}

function reportOf({ added, changed, removed, scan }: RefreshPlan) {
	return {
		added: added.length,
		changed: changed.length,
		removed: removed.length,
		checkedMs: scan.scannedMs,
		trouble: scan.tree.trouble,
		texts: scan.tree.texts,
	};
}

const READS_PER_TURN = 64;

/** Compares metadata first. If timestamps are inconclusive, compares content hashes. */
async function planRefresh(
	store: IndexStore,
	scan: Scan,
	{ signal, mayBuild, extent = "whole" }: RefreshOptions,
): Promise<RefreshPlan> {
	const { root, tree } = scan;
	const { isComplete } = store.state();
	const { added, removed, toHash } = changedFiles(store.files.rows, tree.files);
	const changed: ScannedFile[] = [];
	const confirmed: ScannedFile[] = [];
	const registered: ScannedFile[] = [];
	for (const [index, file] of toHash.entries()) {
		if (index % READS_PER_TURN === 0) {
			await setImmediate();
			if (signal?.aborted) throw new CodeIndexError("aborted", "Refreshing the index was aborted.");
		}
		const content = store.files.rows.get(file.path)?.content;
		if (!content) registered.push(file);
		else if (hasHash(root, file.path, content.hash)) confirmed.push(file);
		else changed.push(file);
	}
	const project = projectChanges(store.projectState(), scan);
	const completes = isComplete || mayBuild;
	const files = {
		added: completes ? [...registered, ...added] : [],
		withoutId: completes ? added : [],
		changed,
		removed,
		confirmed,
	};
	const hasFiles = Object.values(files).some((list) => list.length > 0);
	const isEmpty = !hasFiles && !project.isNew && isComplete === completes;
	return { scan, isFirst: !isComplete, extent, completes, ...files, project, isEmpty };
}

export function changedFiles(known: ReadonlyMap<string, KnownFile>, files: readonly ScannedFile[]) {
	const added: ScannedFile[] = [];
	const unchanged: ScannedFile[] = [];
	// Files whose metadata is inconclusive.
	const toHash: ScannedFile[] = [];
	for (const file of files) {
		const before = known.get(file.path);
		if (before === undefined) added.push(file);
		else if (isSurelySame(before, before.storedMs, file)) unchanged.push(file);
		else toHash.push(file);
	}
	const removed: string[] = [];
	if (unchanged.length + toHash.length < known.size) {
		const present = new Set(files.map((file) => file.path));
		for (const path of known.keys()) if (!present.has(path)) removed.push(path);
	}
	return { added, removed, unchanged, toHash };
}

function projectChanges(before: ProjectState, { root, tree, scannedMs }: Scan) {
	const known = new Map(before.configs.map((config) => [config.path, config]));
	const { added, removed, unchanged, toHash } = changedFiles(known, tree.configs);
	const looked = [...added, ...toHash].map((file): KnownConfig => {
		return { ...file, storedMs: scannedMs, hash: configHash(root, file.path) };
	});
	const links = changedLinks(before.links, tree.links);
	if (looked.length + removed.length + links.length === 0) {
		return { state: before, changed: [], isNew: false };
	}
	const kept = unchanged.flatMap(({ path }) => known.get(path) ?? []);
	const configs = [...kept, ...looked].sort((one, other) => compareText(one.path, other.path));
	const different = looked.filter(({ path, hash }) => known.get(path)?.hash !== hash);
	return {
		state: { configs, links: tree.links, lookedFor: before.lookedFor },
		changed: [...removed, ...different.map(({ path }) => path), ...links],
		isNew: true,
	};
}

function changedLinks(before: readonly Symlink[], now: readonly Symlink[]): string[] {
	const old = new Map(before.map(({ path, target }) => [path, target]));
	const changed = now.filter(({ path, target }) => old.get(path) !== target);
	const present = new Set(now.map(({ path }) => path));
	const gone = before.filter(({ path }) => !present.has(path));
	return [...changed, ...gone].map(({ path }) => path);
}

function hasHash(root: string, path: string, hash: string): boolean {
	const source = readSource(root, path);
	return source.kind === "read" && Buffer.from(source.hash).toString("hex") === hash;
}

function configHash(root: string, path: string): string {
	// Symlinks are followed, since workspace packages are symlinks in `node_modules`.
	const source = readSource(root, path, { followLinks: true });
	return source.kind === "read" ? Buffer.from(source.hash).toString("hex") : source.kind;
}

const LEFT_OUT_NAMED = 3;

/** Symlinks are skipped on purpose, so they are counted separately. */
export function leftOut({ trouble }: RefreshReport) {
	const byKind = Object.groupBy(trouble, ({ kind }) => kind);
	const links = byKind.link?.length ?? 0;
	const lost = trouble.filter(({ kind }) => kind in LOST);
	const kinds = Object.entries(LOST).flatMap(([kind, what]) => {
		const count = byKind[kind as ScanTrouble["kind"]]?.length ?? 0;
		return count > 0 ? [{ what, count }] : [];
	});
	const first = lost
		.slice(0, LEFT_OUT_NAMED)
		.map(({ path, message: reason }) => ({ path, reason }));
	return {
		...(lost.length > 0 && { leftOut: { count: lost.length, kinds, first } }),
		...(links > 0 && { linksNotFollowed: links }),
	};
}

const LOST: Partial<Record<ScanTrouble["kind"], string>> = {
	unreadable: "unreadable",
	"bad-name": "with names that are not UTF-8",
	"too-big": "too large",
	"too-many": "beyond the bounds",
	rules: "with rules that are not applied",
};
