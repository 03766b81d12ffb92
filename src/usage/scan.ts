import { describeError } from "../core/errno.ts";
import { forEachFile } from "../core/file-workers.ts";
import { workerEntry } from "../core/worker-entry.ts";
import { sessionState } from "../importers/index.ts";
import type { FileState, UsageCache } from "./cache.ts";
import type { FileUsage } from "./file-usage.ts";

export interface ScanOptions {
	readonly cache?: UsageCache | undefined;
	/** Files that were last written before this time are not read. Default: all are. */
	readonly sinceMs?: number | undefined;
	onUsage(file: string, usage: FileUsage): void;
	onProgress?(bytes: number, ofBytes: number): void;
}

interface ScanResult {
	/** Files that were looked at, in the cache or on disk. */
	readonly files: number;
	readonly cached: number;
	readonly failed: readonly FailedFile[];
}

export interface FailedFile {
	readonly file: string;
	readonly reason: string;
}

/** A file is written after its last request. The slack covers clocks that differ. */
const SLACK_MS = 24 * 3600 * 1000;

/** Reads what each file says, from the cache where the file is unchanged. A bad file harms no other. */
export async function scanUsage(
	files: readonly string[],
	options: ScanOptions,
): Promise<ScanResult> {
	const { cache, onUsage, sinceMs = Number.NEGATIVE_INFINITY } = options;
	const failed: FailedFile[] = [];
	const pending: FileState[] = [];
	let looked = 0;
	for (const file of files) {
		const state = stateOf(file);
		if (typeof state === "string") failed.push({ file, reason: state });
		else if (state.mtimeMs >= sinceMs - SLACK_MS) {
			looked++;
			const known = cache?.get(state);
			if (known) onUsage(file, known);
			else pending.push(state);
		}
	}
	await readAll(pending, options, failed);
	return { files: looked, cached: looked - pending.length, failed };
}

/** Returns the reason if the file is gone. */
function stateOf(path: string): FileState | string {
	try {
		return { path, ...sessionState(path) };
	} catch (error) {
		return `cannot read ${path}: ${describeError(error)}`;
	}
}

async function readAll(
	pending: readonly FileState[],
	{ cache, onUsage, onProgress }: ScanOptions,
	failed: FailedFile[],
): Promise<void> {
	const total = pending.reduce((sum, { size }) => sum + size, 0);
	let done = 0;
	// The largest first, so that no worker ends long after the others.
	const jobs = pending.toSorted((a, b) => b.size - a.size);
	const entry = workerEntry("./usage-worker", import.meta.url);
	const handler = async () => {
		const { readUsage } = await import("./read-usage.ts");
		return ({ path }: FileState) => readUsage(path);
	};
	await forEachFile<FileState, FileUsage>(jobs, { entry, handler }, async (state, run) => {
		try {
			const usage = await run();
			// The state is from before the reading: if the file grew meanwhile, it is read again.
			cache?.put(state, usage);
			onUsage(state.path, usage);
		} catch (error) {
			failed.push({ file: state.path, reason: describeError(error) });
		}
		done += state.size;
		onProgress?.(done, total);
	});
}
