/**
 * What a number of sessions needs: rows, connections, memory and room in the database. Servers on one Postgres are
 * measured first: memory of an open session, rows and bytes of a prompt, connections. The rest is multiplication, and knows
 * no effect of size.
 *
 *   STRATA_SCALE="sessions=100000 active=0.1 promptsPerDay=10 eventsPerPrompt=60 servers=20" npm run bench -- scale
 *
 * Without `eventsPerPrompt`, as many as the measured prompts have: an answer of 60 deltas, without tools.
 */
import pg from "pg";
import { type Client, createClient } from "../src/protocol/client.ts";
import { postgresPrograms, startPostgres } from "../test/support/postgres.ts";
import { createFolder, processorMs, residentBytes, startStrata } from "./server/processes.ts";
import {
	type Demand,
	demandFrom,
	type PromptTable,
	project,
	type UnitCosts,
} from "./server/projection.ts";
import { startStreamingProvider } from "./server/streaming-provider.ts";
import { type Line, missing, report, rounded, sized } from "./support.ts";

const SESSIONS = sized(100, 4);
/** The first sessions load pi's code. */
const WARMING = sized(10, 2);
const PROMPTING = sized(20, 2);
const PROMPTS = sized(10, 1);
const DELTAS = 60;
const DEFAULT: Demand = { sessions: 100_000, active: 0.1, promptsPerDay: 10, servers: 20 };
const TOKEN = "bench-bench-bench-bench";
const TABLES: readonly PromptTable[] = ["events", "commands", "entries"];

if (postgresPrograms === undefined) {
	missing("all cases", "PostgreSQL is not installed");
	report([{ case: "skipped: PostgreSQL is not installed", unit: "", value: 0 }]);
} else {
	const demand = demandFrom(process.env.STRATA_SCALE ?? "", DEFAULT);
	const postgres = await startPostgres();
	try {
		const costs = await measure(await postgres.database());
		report([...measured(costs), ...projected(demand, costs)]);
	} finally {
		await postgres.stop();
	}
}

async function measure(url: string): Promise<UnitCosts> {
	const provider = await startStreamingProvider(DELTAS);
	const folder = createFolder(provider.url);
	const words = ["--database", url, "--limit", "maxSessionsPerPrincipal=1000"];
	const server = await startStrata(folder, { words, tokens: { bench: TOKEN } });
	const client = createClient({ url: `ws://127.0.0.1:${server.port}`, token: TOKEN });
	const database = new pg.Client({ connectionString: url });
	await database.connect();
	try {
		await openSessions(client, folder, 0, WARMING);
		const before = { bytes: residentBytes(server.pid), ms: processorMs(server.pid) };
		await openSessions(client, folder, WARMING, WARMING + SESSIONS);
		const openSessionBytes = (residentBytes(server.pid) - before.bytes) / SESSIONS;
		const openingMs = (processorMs(server.pid) - before.ms) / SESSIONS;
		const count = WARMING + SESSIONS;
		const sessionBytes =
			((await sizeOf(database, "heads")) + (await sizeOf(database, "sessions"))) / count;
		const first = await countRows(database);
		for (let prompt = 0; prompt < PROMPTS; prompt++) await promptAll(client);
		const last = await countRows(database);
		const { rows: connections } = await database.query<{ count: number }>(
			"SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'strata %'",
		);
		const prompts = PROMPTING * PROMPTS;
		const perPrompt = (table: PromptTable) => (last[table] - first[table]) / prompts;
		const bytesOf = async (table: PromptTable) =>
			(await sizeOf(database, table)) / Math.max(1, last[table]);
		return {
			baseBytes: before.bytes,
			openSessionBytes,
			openingMs,
			connectionsPerServer: connections[0]?.count ?? 0,
			sessionBytes,
			rows: {
				events: perPrompt("events"),
				commands: perPrompt("commands"),
				entries: perPrompt("entries"),
			},
			rowBytes: {
				events: await bytesOf("events"),
				commands: await bytesOf("commands"),
				entries: await bytesOf("entries"),
			},
		};
	} finally {
		await database.end();
		client.close();
		await server.stop();
		await provider.close();
	}
}

async function openSessions(client: Client, cwd: string, from: number, to: number): Promise<void> {
	for (let number = from; number < to; number++) {
		await client.request("create_session", { sessionId: `s${number}`, cwd });
	}
}

/** A prompt in each of some sessions, until all are settled. */
async function promptAll(client: Client): Promise<void> {
	for (let number = 0; number < PROMPTING; number++) {
		const sessionId = `s${number}`;
		await client.request("prompt", { sessionId, message: "Count the words.", waitFor: "settled" });
	}
}

async function countRows(database: pg.Client): Promise<Record<PromptTable, number>> {
	const counts = { events: 0, commands: 0, entries: 0 };
	for (const table of TABLES) {
		const { rows } = await database.query(`SELECT count(*)::int AS count FROM strata.${table}`);
		counts[table] = rows[0].count;
	}
	return counts;
}

/** With its indexes, and partitions if it has any. */
async function sizeOf(database: pg.Client, table: string): Promise<number> {
	const { rows } = await database.query(
		`SELECT greatest(pg_total_relation_size('strata.${table}'),
			(SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM pg_partition_tree('strata.${table}')))::float AS bytes`,
	);
	return rows[0].bytes;
}

function measured(costs: UnitCosts): Line[] {
	const from = { sessions: SESSIONS, prompts: PROMPTING * PROMPTS, deltas: DELTAS };
	const { rows, rowBytes } = costs;
	const line = (name: string, unit: string, value: number, digits = 1): Line => {
		return { case: name, unit, value, digits, from };
	};
	return [
		line("a server without sessions in use: resident memory", "MB", costs.baseBytes / 1e6, 0),
		line("an open session: resident memory", "KB", costs.openSessionBytes / 1e3, 0),
		line("an open session: processor time to create it", "ms", costs.openingMs),
		line("a server: connections to the database", "", costs.connectionsPerServer, 0),
		line("a session in the database, without its conversation", "bytes", costs.sessionBytes, 0),
		...TABLES.flatMap((table) => [
			line(`a prompt: rows of ${table}`, "", rows[table]),
			line(`a row of ${table}, with its indexes`, "bytes", rowBytes[table], 0),
		]),
	];
}

function projected(demand: Demand, costs: UnitCosts): Line[] {
	const projection = project(demand, costs);
	const from = {
		"active %": rounded(demand.active * 100),
		"prompts of each a day": demand.promptsPerDay,
		"events of a prompt": rounded(demand.eventsPerPrompt ?? costs.rows.events),
		servers: demand.servers,
	};
	const line = (name: string, unit: string, value: number, digits = 1): Line => {
		return { case: `${demand.sessions} sessions, projected: ${name}`, unit, value, digits, from };
	};
	return [
		line("rows written a day", "million", projection.rowsPerDay / 1e6),
		line("rows written a second, on average", "", projection.rowsPerSecond, 0),
		line("size of the database with 14 days of events", "GB", projection.databaseBytes / 1e9),
		line("conversations grow a day by", "GB", projection.growthBytesPerDay / 1e9, 2),
		line("connections to the database", "", projection.connections, 0),
		line("resident memory of each server", "GB", projection.bytesPerServer / 1e9, 2),
	];
}
