import { setImmediate } from "node:timers/promises";
import type { Coverage } from "./answers.ts";
import { CodeIndexError } from "./code-index.ts";
import type { FileParser, Intake, IntakeOptions, RefreshPlan, Scan } from "./intake.ts";
import { readSource } from "./read-source.ts";
import { changedFiles, projectChanges } from "./scan/changed-files.ts";
import type { ScannedFile, ScanTrouble } from "./scan/scanned-tree.ts";
import { TreeScanner } from "./scan/tree-scanner.ts";
import { DamagedDatabase } from "./store/failures.ts";
import type { IndexStore } from "./store/index-store.ts";
import type { WriterLock } from "./store/writer-lock.ts";

export interface RefreshOptions extends IntakeOptions {
	/** Allows the first indexing. Without it, a partial index is refreshed but not continued. */
	readonly mayBuild: boolean;
}

export interface RefreshReport {
	readonly added: number;
	readonly changed: number;
	readonly removed: number;
	readonly checkedMs: number;
	readonly trouble: readonly ScanTrouble[];
}

const LOCK_WAIT_MS = 10_000;
/** Another process may be running its first indexing. */
const BUILD_LOCK_WAIT_MS = 600_000;

/** Keeps a stored index equal to the project's tree. One call at a time. */
export class Indexer {
	readonly #root: string;
	readonly #store: IndexStore;
	readonly #lock: () => Pick<WriterLock, "take" | "release">;
	readonly #scanner: TreeScanner;
	readonly #parser: FileParser | undefined;
	#intake: Intake | undefined;

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

	/** Rejects with a `CodeIndexError`, or with the store's error. */
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
			// Another process may have stored the same changes.
			const current = store.sync() ? await planRefresh(store, scan, options) : plan;
			if (!current.isEmpty) await this.#takeIn(current, options);
			return reportOf(current);
		});
	}

	/** Not while a refresh is in flight. */
	close(): void {
		this.#intake?.close();
	}

	async #takeIn(plan: RefreshPlan, options: RefreshOptions): Promise<void> {
		// Loaded only when there is something to write.
		const { Intake } = await import("./intake.ts");
		this.#intake ??= new Intake(this.#root, this.#store, this.#parser);
		await this.#intake.carryOut(plan, options);
	}

	async #whileLocked<T>({ signal, mayBuild }: RefreshOptions, work: () => Promise<T>): Promise<T> {
		const waitMs = mayBuild ? BUILD_LOCK_WAIT_MS : LOCK_WAIT_MS;
		const lock = this.#lock();
		if (!(await lock.take(waitMs, signal))) {
			const message = `Another process has been writing the index of ${this.#root} for ${waitMs / 1000} seconds. Try again when it is done.`;
			throw new CodeIndexError("failed", message);
		}
		try {
			// A process without disk space removes its unfinished index: later writes would be lost.
			if (!this.#store.isInPlace()) throw new DamagedDatabase("its file was deleted");
			return await work();
		} finally {
			lock.release();
		}
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

const READS_PER_TURN = 64;

/** Compares metadata first; if timestamps are inconclusive, content hashes. */
async function planRefresh(
	store: IndexStore,
	scan: Scan,
	{ signal, mayBuild }: RefreshOptions,
): Promise<RefreshPlan> {
	const { root, tree, scannedMs } = scan;
	const { isComplete } = store.state();
	const { added, removed, toHash } = changedFiles(store.files.known, tree.files);
	const changed: ScannedFile[] = [];
	const confirmed: ScannedFile[] = [];
	const announced: ScannedFile[] = [];
	for (const [index, file] of toHash.entries()) {
		if (index % READS_PER_TURN === 0) {
			await setImmediate();
			if (signal?.aborted) throw new CodeIndexError("aborted", "Refreshing the index was aborted.");
		}
		const content = store.files.row(file.path)?.content;
		if (!content) announced.push(file);
		else if (hasHash(root, file.path, content.hash)) confirmed.push(file);
		else changed.push(file);
	}
	const project = projectChanges(store.projectState(), tree, {
		hash: (path) => configHash(root, path),
		scannedMs,
	});
	const completes = isComplete || mayBuild;
	const files = {
		added: completes ? [...announced, ...added] : [],
		unknown: completes ? added : [],
		changed,
		removed,
		confirmed,
	};
	const hasFiles = Object.values(files).some((list) => list.length > 0);
	const isEmpty = !hasFiles && !project.isNew && isComplete === completes;
	return { scan, isFirst: !isComplete, completes, ...files, project, isEmpty };
}

function hasHash(root: string, path: string, hash: Uint8Array): boolean {
	const source = readSource(root, path);
	return source.kind === "read" && Buffer.compare(source.hash, hash) === 0;
}

function configHash(root: string, path: string): string {
	// Workspace packages are links in `node_modules`.
	const source = readSource(root, path, { followLinks: true });
	return source.kind === "read" ? Buffer.from(source.hash).toString("hex") : source.kind;
}

const LEFT_OUT_NAMED = 3;

/** Links are skipped on purpose, so they are counted separately. */
export function leftOut({
	trouble,
}: RefreshReport): Pick<Coverage, "leftOut" | "linksNotFollowed"> {
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
