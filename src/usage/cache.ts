import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openDatabaseStore } from "../core/database-store.ts";
import { packageVersion } from "../core/package-info.ts";
import { cacheFolder } from "../core/places.ts";
import type { Migration } from "../core/sqlite.ts";
import type { FileUsage } from "./file-usage.ts";

export const USAGE_STORE = "usage";

export function usageFolder(env: NodeJS.ProcessEnv = process.env): string {
	return join(cacheFolder(env), USAGE_STORE);
}

/** A file as it was when it was read. A file that grew has another state. */
export interface FileState {
	readonly path: string;
	readonly size: number;
	readonly mtimeMs: number;
}

/** Raise it when the importers or the causes of misses change between two releases. */
const FORMAT = 3;

const MIGRATIONS: Migration[] = [
	(database) =>
		database.exec(`CREATE TABLE file (
			path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime REAL NOT NULL,
			version TEXT NOT NULL, usage TEXT NOT NULL
		) STRICT, WITHOUT ROWID`),
];

/** Stores what each session file says, so that only new and changed files are read again. */
export class UsageCache {
	readonly #database: DatabaseSync;
	readonly #version = `${packageVersion()}/${FORMAT}`;

	private constructor(database: DatabaseSync) {
		this.#database = database;
	}

	/** Returns the reason if the cache cannot be used. */
	static async open(folder: string): Promise<UsageCache | string> {
		const opened = await openDatabaseStore({
			folder,
			name: USAGE_STORE,
			file: "usage.db",
			migrations: MIGRATIONS,
		});
		return opened.kind === "open" ? new UsageCache(opened.database) : opened.message;
	}

	get({ path, size, mtimeMs }: FileState): FileUsage | undefined {
		return attempt(() => {
			const query =
				"SELECT usage FROM file WHERE path = ? AND size = ? AND mtime = ? AND version = ?";
			const row = this.#database.prepare(query).get(path, size, mtimeMs, this.#version);
			return row && (JSON.parse(String(row.usage)) as FileUsage);
		});
	}

	put({ path, size, mtimeMs }: FileState, usage: FileUsage): void {
		attempt(() => {
			const row = [path, size, mtimeMs, this.#version, JSON.stringify(usage)];
			this.#database.prepare("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)").run(...row);
		});
	}

	/** Removes what it holds of files that are gone. */
	forgetDeleted(): void {
		attempt(() => {
			const rows = this.#database.prepare("SELECT path FROM file").all();
			const remove = this.#database.prepare("DELETE FROM file WHERE path = ?");
			for (const { path } of rows) if (!existsSync(String(path))) remove.run(String(path));
		});
	}

	close(): void {
		this.#database.close();
	}
}

/** A damaged, locked or full database only costs time: files are read again. */
function attempt<Result>(use: () => Result): Result | undefined {
	try {
		return use();
	} catch {
		return undefined;
	}
}
