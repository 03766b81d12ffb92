import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openDatabaseStore } from "../core/database-store.ts";
import type { Migration } from "../core/sqlite.ts";

export { dayOf } from "./period.ts";

export const SAVED_STORE = "saved";

export function savedFolder(agentDir: string): string {
	return join(agentDir, "strata", SAVED_STORE);
}

/** Requests of one day, project and model in pi, and what systems saved in them. */
export interface SavedRow {
	/** In local time: `2026-11-16`. */
	readonly day: string;
	readonly project: string;
	/** `provider/id` */
	readonly model: string;
	readonly requests: number;
	/** Of prompts and answers, by list prices. */
	readonly dollars: number;
	/** Requests of unknown price, which no sum of dollars includes. */
	readonly unpriced: number;
	readonly saved: SavedSums;
}

/** By the name of a system. `tokens`: kept out of the context. `dollars`: less than pi alone would have paid. */
export type SavedSums = Readonly<
	Record<string, { readonly tokens: number; readonly dollars: number }>
>;

const MIGRATIONS: Migration[] = [
	(database) =>
		database.exec(`
			CREATE TABLE cost (
				day TEXT NOT NULL, project TEXT NOT NULL, model TEXT NOT NULL,
				requests INTEGER NOT NULL, dollars REAL NOT NULL, unpriced INTEGER NOT NULL,
				PRIMARY KEY (day, project, model)
			) STRICT, WITHOUT ROWID;
			CREATE TABLE saving (
				day TEXT NOT NULL, project TEXT NOT NULL, model TEXT NOT NULL, system TEXT NOT NULL,
				tokens REAL NOT NULL, dollars REAL NOT NULL,
				PRIMARY KEY (day, project, model, system)
			) STRICT, WITHOUT ROWID`),
];

/** What sessions of pi cost and saved, by day. Several processes may add to it. */
export class SavedBook {
	readonly #database: DatabaseSync;

	private constructor(database: DatabaseSync) {
		this.#database = database;
	}

	/** Returns the reason if the book cannot be used. */
	static async open(agentDir: string): Promise<SavedBook | string> {
		const opened = await openDatabaseStore({
			folder: savedFolder(agentDir),
			name: SAVED_STORE,
			file: "saved.db",
			migrations: MIGRATIONS,
		});
		return opened.kind === "open" ? new SavedBook(opened.database) : opened.message;
	}

	/** `undefined` if nothing was ever written. Returns the reason if the book cannot be used. */
	static async openIfThere(agentDir: string): Promise<SavedBook | string | undefined> {
		return existsSync(savedFolder(agentDir)) ? await SavedBook.open(agentDir) : undefined;
	}

	/** Adds to what the book has, all rows or none. */
	add(rows: readonly SavedRow[]): void {
		const cost = this.#database.prepare(`INSERT INTO cost VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,
				dollars = dollars + excluded.dollars, unpriced = unpriced + excluded.unpriced`);
		const saving = this.#database.prepare(`INSERT INTO saving VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, dollars = dollars + excluded.dollars`);
		this.#database.exec("BEGIN IMMEDIATE");
		try {
			for (const { day, project, model, requests, dollars, unpriced, saved } of rows) {
				cost.run(day, project, model, requests, dollars, unpriced);
				for (const [system, sums] of Object.entries(saved)) {
					saving.run(day, project, model, system, sums.tokens, sums.dollars);
				}
			}
			this.#database.exec("COMMIT");
		} catch (error) {
			if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
			throw error;
		}
	}

	/** Sums from a day on; without one, of all days. */
	sums(since = ""): Omit<SavedRow, "day" | "project" | "model"> {
		const cost = this.#database
			.prepare(
				"SELECT TOTAL(requests) AS requests, TOTAL(dollars) AS dollars, TOTAL(unpriced) AS unpriced FROM cost WHERE day >= ?",
			)
			.get(since);
		const savings = this.#database
			.prepare(
				"SELECT system, TOTAL(tokens) AS tokens, TOTAL(dollars) AS dollars FROM saving WHERE day >= ? GROUP BY system",
			)
			.all(since);
		return { ...costIn(cost ?? {}), saved: savedIn(savings) };
	}

	/** Sums of each day from `since` on that has any, in order of time. */
	days(since = ""): Omit<SavedRow, "project" | "model">[] {
		const rows = this.#database
			.prepare(
				"SELECT day, TOTAL(requests) AS requests, TOTAL(dollars) AS dollars, TOTAL(unpriced) AS unpriced FROM cost WHERE day >= ? GROUP BY day ORDER BY day",
			)
			.all(since);
		const savings = this.#database
			.prepare(
				"SELECT day, system, TOTAL(tokens) AS tokens, TOTAL(dollars) AS dollars FROM saving WHERE day >= ? GROUP BY day, system",
			)
			.all(since);
		const byDay = Map.groupBy(savings, ({ day }) => String(day));
		return rows.map((row) => {
			const day = String(row.day);
			return { day, ...costIn(row), saved: savedIn(byDay.get(day) ?? []) };
		});
	}

	close(): void {
		this.#database.close();
	}
}

type Row = Readonly<Record<string, unknown>>;

function costIn({ requests, dollars, unpriced }: Row) {
	return { requests: Number(requests), dollars: Number(dollars), unpriced: Number(unpriced) };
}

function savedIn(rows: readonly Row[]): SavedSums {
	return Object.fromEntries(
		rows.map(({ system, tokens, dollars }) => [
			String(system),
			{ tokens: Number(tokens), dollars: Number(dollars) },
		]),
	);
}
