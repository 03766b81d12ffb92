import type { Dirent } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "./blob-store.ts";
import { type FileTimes, isSurelySame, timesOf } from "./file-times.ts";
import { matchesAny } from "./glob.ts";
import { hashBytes } from "./hash.ts";
import type { ObjectStore } from "./object-store.ts";
import { readRegularFile } from "./regular-file.ts";
import {
	createValueFinder,
	isVariablesFile,
	secretValuesOf,
	secretVariables,
} from "./secret-values.ts";

export type ExcludedValues = ReturnType<typeof createExcludedValues>;

/** Bounds the time a turn waits. The scan goes from the root outwards. */
const maxFolders = 2_000;
const maxFiles = 200;
const maxFileBytes = 256 * 1024;
/** Variables get twice as many, so that keys cannot displace them. */
const maxValues = 20_000;
/** Calls within this time share one scan. */
const freshMs = 1_000;
const sideBySide = 32;

/**
 * Contents of excluded files, which no store may hold. Kept in memory only. A value removed from
 * its file still counts: earlier output may hold it.
 */
export function createExcludedValues({
	root,
	exclude,
	env = process.env,
}: {
	readonly root: string;
	readonly exclude: readonly string[];
	readonly env?: NodeJS.ProcessEnv;
}) {
	const values = secretVariables(env);
	let find = createValueFinder(values);
	let folders = new Map<string, Folder>();
	let contents = new Map<string, Content>();
	let revision = 0;
	let leftOut = 0;
	let looking: Promise<void> | undefined;
	let lookedAt = Number.NEGATIVE_INFINITY;
	let isExpired = false;

	/** Scans the project. Await it before using the other members. Never rejects. */
	async function refresh(): Promise<void> {
		if (looking && isExpired) await looking;
		if (!looking && !isExpired && performance.now() - lookedAt < freshMs) return;
		if (!looking) {
			isExpired = false;
			lookedAt = performance.now();
			looking = look().finally(() => {
				looking = undefined;
			});
		}
		await looking;
	}

	return {
		refresh,
		/** Files may have been written: the next refresh must scan again. */
		expire(): void {
			isExpired = true;
		},
		appearIn: (text: string) => find(text),
		/** Changes whenever values are added: earlier decisions are then stale. */
		get revision() {
			return revision;
		},
		/** `leftOut` counts files that were too many, too large or unreadable. */
		get files() {
			return { read: contents.size, leftOut };
		},
	};

	async function look(): Promise<void> {
		const paths = await excludedPaths();
		const next = new Map<string, Content>();
		const before = values.size;
		leftOut = Math.max(0, paths.length - maxFiles);
		// Variables first: many keys and certificates must not displace them.
		const order = Object.groupBy(paths, (path) => (isVariablesFile(path) ? "first" : "then"));
		const chosen = [...(order.first ?? []), ...(order.then ?? [])].slice(0, maxFiles);
		await inGroups(chosen, async (path) => {
			const content = await contentOf(path, contents.get(path));
			if (content) next.set(path, content);
			if (!content || content.isCut) leftOut++;
		});
		contents = next;
		if (values.size === before) return;
		find = createValueFinder(values);
		revision++;
	}

	async function contentOf(
		path: string,
		before: Content | undefined,
	): Promise<Content | undefined> {
		try {
			const takenMs = Date.now();
			const times = timesOf(await stat(path));
			if (before && isSurelySame(before, before.takenMs, times)) return before;
			const file = await readRegularFile(await realpath(path), maxFileBytes);
			if (file.kind !== "read") return undefined;
			const text = textOf(file.bytes);
			const found = text === undefined ? [] : secretValuesOf(path, text);
			const room = isVariablesFile(path) ? 2 * maxValues : maxValues;
			for (const value of found) if (values.size < room) values.add(value);
			const isCut = values.size >= room && [...found].some((value) => !values.has(value));
			return { ...times, takenMs, isCut };
		} catch {
			return undefined; // gone or unreadable, so for the user's commands too
		}
	}

	/** Files near the root first. Includes git-ignored files: secrets usually are ignored. */
	async function excludedPaths(): Promise<string[]> {
		const found: string[] = [];
		const next = new Map<string, Folder>();
		let level = [root];
		while (level.length > 0) {
			const deeper: string[] = [];
			await inGroups(level, async (path) => {
				const folder = await folderOf(path, folders.get(path));
				if (!folder) return;
				next.set(path, folder);
				found.push(...folder.excluded);
				deeper.push(...folder.inner);
			});
			level = deeper.sort().slice(0, maxFolders - next.size);
		}
		folders = next;
		return found;
	}

	async function folderOf(path: string, before: Folder | undefined): Promise<Folder | undefined> {
		try {
			const takenMs = Date.now();
			const times = timesOf(await lstat(path));
			if (before && isSurelySame(before, before.takenMs, times)) return before;
			const entries = await readdir(path, { withFileTypes: true });
			const inner = entries.filter(isFolderToEnter).map(({ name }) => join(path, name));
			const excluded = entries
				.filter((entry) => !entry.isDirectory())
				.map(({ name }) => join(path, name))
				.filter((file) => matchesAny(exclude, file));
			return { ...times, takenMs, inner, excluded };
		} catch {
			return undefined;
		}
	}
}

/** Windows programs write UTF-16 with a BOM. Any other file with zeros is binary. */
function textOf(bytes: Buffer): string | undefined {
	const start = bytes.toString("latin1", 0, 2);
	const even = bytes.length & ~1;
	if (start === "\xff\xfe") return bytes.toString("utf16le", 2, even);
	if (start === "\xfe\xff")
		return Buffer.from(bytes.subarray(2, even)).swap16().toString("utf16le");
	return bytes.includes(0) ? undefined : bytes.toString();
}

interface Look extends FileTimes {
	readonly takenMs: number;
}

interface Content extends Look {
	/** The limit dropped some of its values. */
	readonly isCut: boolean;
}

interface Folder extends Look {
	readonly inner: readonly string[];
	readonly excluded: readonly string[];
}

function isFolderToEnter(entry: Dirent): boolean {
	return entry.isDirectory() && entry.name !== "node_modules" && entry.name !== ".git";
}

async function inGroups<Item>(
	items: readonly Item[],
	work: (item: Item) => Promise<void>,
): Promise<void> {
	for (let at = 0; at < items.length; at += sideBySide) {
		await Promise.all(items.slice(at, at + sideBySide).map(work));
	}
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

/** Refuses file versions too: a copy of an excluded file may have any name. */
export function guardObjects(store: ObjectStore, values: ExcludedValues): ObjectStore {
	return {
		...store,
		async put(bytes, hash) {
			await values.refresh();
			if (!values.appearIn(Buffer.from(bytes).toString())) return await store.put(bytes, hash);
			return { kind: "failed", reason: "excluded", message: WHY, hash: hash ?? hashBytes(bytes) };
		},
	};
}
