import { join } from "node:path";
import { openDatabaseStore } from "../core/database-store.ts";
import { agentFolder } from "../core/places.ts";
import type { Migration } from "../core/sqlite.ts";

/** The store's name in its `version.json`. */
export const HOOK_STORE = "hook";

export function hookFolder(env: NodeJS.ProcessEnv = process.env): string {
	return join(agentFolder(env), "strata", HOOK_STORE);
}

/** A result that was shortened, or would have been. Holds no text. */
interface SavedResult {
	readonly agent: string;
	readonly sessionId: string;
	readonly id: string;
	readonly isShadow: boolean;
	/** What each request that carries it is shorter by, in tokens by estimate. */
	readonly tokens: number;
}

export interface SavedSum {
	readonly agent: string;
	readonly isShadow: boolean;
	readonly sessions: number;
	readonly results: number;
	readonly tokens: number;
}

const FILE = "saved.sqlite";
const DAY_MS = 24 * 60 * 60_000;

const MIGRATIONS: Migration[] = [
	(database) =>
		database.exec(`
			CREATE TABLE saved (
				agent TEXT NOT NULL,
				session TEXT NOT NULL,
				call TEXT NOT NULL,
				isShadow INTEGER NOT NULL,
				tokens INTEGER NOT NULL,
				atMs INTEGER NOT NULL,
				PRIMARY KEY (agent, session, call, isShadow)
			) STRICT, WITHOUT ROWID;
			CREATE INDEX savedByTime ON saved (atMs);
		`),
];

/** Returns whether it is the first of its session. Rejects if the store cannot be used. */
export async function noteSaved(
	folder: string,
	{ agent, sessionId, id, isShadow, tokens }: SavedResult,
	{ keepDays, nowMs = Date.now() }: { readonly keepDays: number; readonly nowMs?: number },
): Promise<boolean> {
	const database = await open(folder);
	try {
		const known = database.prepare("SELECT 1 FROM saved WHERE agent = ? AND session = ? LIMIT 1");
		const isFirst = known.get(agent, sessionId) === undefined;
		database
			.prepare("INSERT OR REPLACE INTO saved VALUES (?, ?, ?, ?, ?, ?)")
			.run(agent, sessionId, id, isShadow ? 1 : 0, tokens, nowMs);
		database.prepare("DELETE FROM saved WHERE atMs < ?").run(nowMs - keepDays * DAY_MS);
		return isFirst;
	} finally {
		database.close();
	}
}

/** By agent, what was saved first. Rejects if the store cannot be used. */
export async function savedSums(folder: string): Promise<SavedSum[]> {
	const database = await open(folder);
	try {
		const rows = database
			.prepare(
				`SELECT agent, isShadow, COUNT(DISTINCT session) AS sessions, COUNT(*) AS results, SUM(tokens) AS tokens
				FROM saved GROUP BY agent, isShadow ORDER BY isShadow, agent`,
			)
			.all();
		return rows.map(({ agent, isShadow, sessions, results, tokens }) => ({
			agent: String(agent),
			isShadow: isShadow === 1,
			sessions: Number(sessions),
			results: Number(results),
			tokens: Number(tokens),
		}));
	} finally {
		database.close();
	}
}

async function open(folder: string) {
	const opened = await openDatabaseStore({
		folder,
		name: HOOK_STORE,
		file: FILE,
		migrations: MIGRATIONS,
	});
	if (opened.kind !== "open") throw new Error(opened.message);
	return opened.database;
}
