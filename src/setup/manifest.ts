import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { isRecord } from "../core/property.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { openStoreFolder } from "../core/store-version.ts";
import type { FileRecord } from "./record.ts";

/** The store's name in its `version.json`. */
const SETUP_STORE = "setup";
const FILE = "manifest.json";
const MAX_BYTES = 64 * 1024 * 1024;

export function setupFolder(piFolder: string): string {
	return join(piFolder, "strata", SETUP_STORE);
}

/** What setup did on this machine, so that it can be undone. Private (0600): it may hold parts of configurations. */
export class Manifest {
	readonly #folder: string;
	#files: readonly FileRecord[];

	private constructor(folder: string, files: readonly FileRecord[]) {
		this.#folder = folder;
		this.#files = files;
	}

	/** For readers that go on without one. */
	static readonly empty = new Manifest("", []);

	/** Throws if the file is damaged: an undo by half would be worse than none. */
	static async load(folder: string): Promise<Manifest> {
		const path = join(folder, FILE);
		const file = await readRegularFile(path, MAX_BYTES);
		if (file.kind === "missing") return new Manifest(folder, []);
		const files = file.kind === "read" ? filesIn(file.bytes.toString("utf8")) : undefined;
		if (files) return new Manifest(folder, files);
		throw new Error(
			`${path} is damaged; move it away, then remove "strata" from your agents by hand`,
		);
	}

	get files(): readonly FileRecord[] {
		return this.#files;
	}

	recordOf(path: string): FileRecord | undefined {
		return this.#files.find((record) => record.path === path);
	}

	async put(record: FileRecord): Promise<void> {
		await this.#save([...(await this.#others(record.path)), record]);
	}

	async drop(path: string): Promise<void> {
		await this.#save(await this.#others(path));
	}

	/** Read again: another setup may have written since. */
	async #others(path: string): Promise<FileRecord[]> {
		const { files } = await Manifest.load(this.#folder);
		return files.filter((record) => record.path !== path);
	}

	async #save(files: readonly FileRecord[]): Promise<void> {
		this.#files = files;
		if (files.length === 0) {
			await rm(this.#folder, { recursive: true, force: true });
			return;
		}
		const store = await openStoreFolder({
			...{ folder: this.#folder, name: SETUP_STORE, version: 1 },
			owns: (name) => name === FILE,
		});
		if (store.kind !== "ready") throw new Error(store.message);
		const text = `${JSON.stringify({ files }, null, "\t")}\n`;
		await writeFileAtomic(join(this.#folder, FILE), text, { durable: true });
	}
}

function filesIn(text: string): FileRecord[] | undefined {
	try {
		const value: unknown = JSON.parse(text);
		const files = isRecord(value) ? value.files : undefined;
		return Array.isArray(files) && files.every(isFileRecord) ? files : undefined;
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
