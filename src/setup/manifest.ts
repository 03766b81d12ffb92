import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { errnoOf } from "../core/errno.ts";
import { hashBytes } from "../core/hash.ts";
import { isRecord } from "../core/property.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { openStoreFolder } from "../core/store-version.ts";
import type { FileRecord } from "./record.ts";

/** The store's name in its `version.json`. */
const SETUP_STORE = "setup";
const MAX_BYTES = 64 * 1024 * 1024;

export function setupFolder(piFolder: string): string {
	return join(piFolder, "strata", SETUP_STORE);
}

/**
 * What setup did on this machine, so that it can be undone. Each record is a file of its own: two setups at once do
 * not overwrite each other's. Private (0600): a record may hold parts of a configuration.
 */
export class Manifest {
	readonly #folder: string;
	#files: readonly FileRecord[];

	private constructor(folder: string, files: readonly FileRecord[]) {
		this.#folder = folder;
		this.#files = files;
	}

	/** For readers that go on without one. */
	static readonly empty = new Manifest("", []);

	/** Throws if a record is damaged: an undo by half would be worse than none. */
	static async load(folder: string): Promise<Manifest> {
		const stored: StoredRecord[] = [];
		for (const name of await recordNames(folder)) {
			const path = join(folder, name);
			const file = await readRegularFile(path, MAX_BYTES);
			if (file.kind === "missing") continue; // another setup has just undone it
			const one = file.kind === "read" ? storedIn(file.bytes.toString("utf8")) : undefined;
			if (!one) {
				throw new Error(
					`${path} is damaged; move it away, then remove "strata" from your agents by hand`,
				);
			}
			stored.push(one);
		}
		stored.sort((a, b) => a.recordedMs - b.recordedMs);
		return new Manifest(
			folder,
			stored.map(({ record }) => record),
		);
	}

	/** The latest written last. */
	get files(): readonly FileRecord[] {
		return this.#files;
	}

	recordOf(path: string): FileRecord | undefined {
		return this.#files.find((record) => record.path === path);
	}

	async put(record: FileRecord): Promise<void> {
		const store = await openStoreFolder({
			...{ folder: this.#folder, name: SETUP_STORE, version: 1, owns: isRecordName },
		});
		if (store.kind !== "ready") throw new Error(store.message);
		const stored: StoredRecord = { recordedMs: Date.now(), record };
		const text = `${JSON.stringify(stored, null, "\t")}\n`;
		await writeFileAtomic(join(this.#folder, nameFor(record.path)), text, { durable: true });
		this.#files = [...this.#others(record.path), record];
	}

	async drop(path: string): Promise<void> {
		await rm(join(this.#folder, nameFor(path)), { force: true });
		this.#files = this.#others(path);
		if ((await recordNames(this.#folder)).length > 0) return;
		for (const name of ["version.json", ".gitignore"]) {
			await rm(join(this.#folder, name), { force: true });
		}
		// Not recursive: another setup may be writing its record.
		await rmdir(this.#folder).catch(() => {});
	}

	#others(path: string): FileRecord[] {
		return this.#files.filter((record) => record.path !== path);
	}
}

interface StoredRecord {
	readonly recordedMs: number;
	readonly record: FileRecord;
}

function nameFor(path: string): string {
	return `${hashBytes(path)}.json`;
}

function isRecordName(name: string): boolean {
	return /^[0-9a-f]{64}\.json$/.test(name);
}

async function recordNames(folder: string): Promise<string[]> {
	try {
		return (await readdir(folder)).filter(isRecordName);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return [];
		throw error;
	}
}

function storedIn(text: string): StoredRecord | undefined {
	try {
		const value: unknown = JSON.parse(text);
		if (!isRecord(value) || typeof value.recordedMs !== "number") return undefined;
		const { recordedMs, record } = value;
		return isFileRecord(record) ? { recordedMs, record } : undefined;
	} catch {
		return undefined;
	}
}

function isFileRecord(value: unknown): value is FileRecord {
	if (!isRecord(value)) return false;
	const { agent, path, format, keys, folders, restore } = value;
	const isPlace = typeof agent === "string" && typeof path === "string";
	const isFormat = format === "json" || format === "toml";
	const isList = Array.isArray(keys) && keys.every(isSetKey) && Array.isArray(folders);
	return isPlace && isFormat && isList && (restore === null || isRecord(restore));
}

function isSetKey(value: unknown): boolean {
	if (!isRecord(value)) return false;
	return (
		Array.isArray(value.path) && typeof value.kind === "string" && typeof value.depth === "number"
	);
}
