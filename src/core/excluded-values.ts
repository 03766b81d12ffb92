import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "./blob-store.ts";
import { chunks } from "./chunks.ts";
import { type FileTimes, isSurelySame, timesOf } from "./file-times.ts";
import { matchesAny } from "./glob.ts";
import { readRegularFile } from "./regular-file.ts";
import {
	createValueFinder,
	isVariablesFile,
	secretValuesOf,
	secretVariables,
} from "./secret-values.ts";

/** These limits bound how long a turn waits for a scan. The scan is breadth-first from the root. */
const MAX_FOLDERS = 2_000;
const MAX_FILES = 200;
const MAX_FILE_BYTES = 256 * 1024;
/** Limit of values. Variables files (`.env`) may add up to twice as many, so keys cannot displace them. */
const MAX_VALUES = 20_000;
/** Calls of `refresh` within this time share one scan. */
const SCAN_INTERVAL_MS = 1_000;
const CONCURRENCY = 32;
const UNSCANNED = ["node_modules", ".git"];

interface ExcludedValuesOptions {
	readonly root: string;
	readonly exclude: readonly string[];
	readonly env?: NodeJS.ProcessEnv;
}

/**
 * Secret values of excluded files and of the environment, which no store may hold. A value removed from
 * its file stays, since output may hold it.
 */
export class ExcludedValues {
	readonly #root: string;
	readonly #exclude: readonly string[];
	readonly #values: Set<string>;
	#find: (text: string) => boolean;
	#folders = new Map<string, ScannedFolder>();
	#files = new Map<string, ScannedFile>();
	#revision = 0;
	#leftOut = 0;
	#scanning: Promise<void> | undefined;
	#scannedAt = Number.NEGATIVE_INFINITY;
	#isExpired = false;

	constructor({ root, exclude, env = process.env }: ExcludedValuesOptions) {
		this.#root = root;
		this.#exclude = exclude;
		this.#values = secretVariables(env);
		this.#find = createValueFinder(this.#values);
	}

	/** Scans the project, unless a scan is recent. Await it before using the other members. Never rejects. */
	async refresh(): Promise<void> {
		if (this.#scanning && this.#isExpired) await this.#scanning;
		const isRecent = performance.now() - this.#scannedAt < SCAN_INTERVAL_MS;
		if (!this.#scanning && !this.#isExpired && isRecent) return;
		if (!this.#scanning) {
			this.#isExpired = false;
			this.#scannedAt = performance.now();
			this.#scanning = this.#scan().finally(() => {
				this.#scanning = undefined;
			});
		}
		await this.#scanning;
	}

	/** Call this when files may have been written: the next `refresh` then scans again. */
	expire(): void {
		this.#isExpired = true;
	}

	appearIn(text: string): boolean {
		return this.#find(text);
	}

	/** Changes whenever values are added. Decisions of an earlier revision are then stale. */
	get revision(): number {
		return this.#revision;
	}

	/** `leftOut` counts files that were not fully covered: too many, too large or unreadable. */
	get files(): { read: number; leftOut: number } {
		return { read: this.#files.size, leftOut: this.#leftOut };
	}

	async #scan(): Promise<void> {
		const paths = await this.#excludedPaths();
		const next = new Map<string, ScannedFile>();
		const before = this.#values.size;
		this.#leftOut = Math.max(0, paths.length - MAX_FILES);
		// Variables files come first, so that many keys and certificates cannot displace them.
		const order = Object.groupBy(paths, (path) => (isVariablesFile(path) ? "first" : "then"));
		const chosen = [...(order.first ?? []), ...(order.then ?? [])].slice(0, MAX_FILES);
		await inBatches(chosen, async (path) => {
			const file = await this.#scanFile(path, this.#files.get(path));
			if (file) next.set(path, file);
			if (!file || file.isCut) this.#leftOut++;
		});
		this.#files = next;
		if (this.#values.size === before) return;
		this.#find = createValueFinder(this.#values);
		this.#revision++;
	}

	async #scanFile(path: string, before: ScannedFile | undefined) {
		try {
			const takenMs = Date.now();
			const times = timesOf(await stat(path));
			if (before && isSurelySame(before, before.takenMs, times)) return before;
			const file = await readRegularFile(await realpath(path), MAX_FILE_BYTES);
			if (file.kind !== "read") return undefined;
			const text = textOf(file.bytes);
			const found = text === undefined ? [] : secretValuesOf(path, text);
			const values = this.#values;
			const room = isVariablesFile(path) ? 2 * MAX_VALUES : MAX_VALUES;
			for (const value of found) if (values.size < room) values.add(value);
			const isCut = values.size >= room && [...found].some((value) => !values.has(value));
			return { ...times, takenMs, isCut };
		} catch {
			return undefined; // the file is gone or unreadable, for the user's commands too
		}
	}

	/** Returns files near the root first. Includes git-ignored files, since files with secrets usually are. */
	async #excludedPaths(): Promise<string[]> {
		const found: string[] = [];
		const next = new Map<string, ScannedFolder>();
		let level = [this.#root];
		while (level.length > 0) {
			const deeper: string[] = [];
			await inBatches(level, async (path) => {
				const folder = await scanFolder(path, this.#exclude, this.#folders.get(path));
				if (!folder) return;
				next.set(path, folder);
				found.push(...folder.excluded);
				deeper.push(...folder.inner);
			});
			level = deeper.sort().slice(0, MAX_FOLDERS - next.size);
		}
		this.#folders = next;
		return found;
	}
}

async function scanFolder(
	path: string,
	exclude: readonly string[],
	before: ScannedFolder | undefined,
): Promise<ScannedFolder | undefined> {
	try {
		const takenMs = Date.now();
		const times = timesOf(await lstat(path));
		if (before && isSurelySame(before, before.takenMs, times)) return before;
		const entries = await readdir(path, { withFileTypes: true });
		const inner = entries
			.filter((entry) => entry.isDirectory() && !UNSCANNED.includes(entry.name))
			.map(({ name }) => join(path, name));
		const excluded = entries
			.filter((entry) => !entry.isDirectory())
			.map(({ name }) => join(path, name))
			.filter((file) => matchesAny(exclude, file));
		return { ...times, takenMs, inner, excluded };
	} catch {
		return undefined;
	}
}

/** Decodes UTF-16 with a BOM, which Windows programs write. Any other file with zero bytes is binary. */
function textOf(bytes: Buffer): string | undefined {
	const start = bytes.toString("latin1", 0, 2);
	const even = bytes.length & ~1;
	if (start === "\xff\xfe") return bytes.toString("utf16le", 2, even);
	if (start === "\xfe\xff")
		return Buffer.from(bytes.subarray(2, even)).swap16().toString("utf16le");
	return bytes.includes(0) ? undefined : bytes.toString();
}

interface Scanned extends FileTimes {
	readonly takenMs: number;
}

interface ScannedFile extends Scanned {
	/** Whether `MAX_VALUES` dropped some of the file's values. */
	readonly isCut: boolean;
}

interface ScannedFolder extends Scanned {
	readonly inner: readonly string[];
	readonly excluded: readonly string[];
}

async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
	for (const batch of chunks(items, CONCURRENCY)) await Promise.all(batch.map(work));
}

const WHY = "it holds a value of a file on readcache.exclude";

export function guardBlobs(blobs: BlobStore, values: ExcludedValues): BlobStore {
	return {
		...blobs,
		async keep(text) {
			await values.refresh();
			return values.appearIn(text) ? { kind: "not-kept", why: WHY } : await blobs.keep(text);
		},
	};
}

/** For an object store's `refuse`. Checks the bytes, since a copy of an excluded file may have any name. */
export function refuseExcluded(values: ExcludedValues) {
	return async (bytes: Uint8Array): Promise<string | undefined> => {
		await values.refresh();
		return values.appearIn(Buffer.from(bytes).toString()) ? WHY : undefined;
	};
}
