/**
 * A server that knows 10,000 sessions of which none is in use: how long it takes to start, and what each of them costs in
 * memory, beside a server without sessions. With the embedded journal their records are in memory; with PostgreSQL they
 * are rows.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openJournal } from "../src/server/journal/sqlite-journal.ts";
import { postgresPrograms, startPostgres } from "../test/support/postgres.ts";
import {
	createFolder,
	processorMs,
	residentBytes,
	type ServerProcess,
	startStrata,
} from "./server/processes.ts";
import { type Line, median, missing, report, rounded, sized } from "./support.ts";

const COUNT = sized(10_000, 50);
const rounds = sized(5, 1);
const lines: Line[] = [];

interface Side {
	readonly folder: string;
	readonly words: string[];
}

await compareStarts("the embedded journal", await embedded(0), await embedded(COUNT));
if (postgresPrograms === undefined) missing("PostgreSQL", "it is not installed");
else {
	const postgres = await startPostgres({ fsync: true });
	try {
		const empty = await shared(await postgres.database(), 0);
		await compareStarts("PostgreSQL", empty, await shared(await postgres.database(), COUNT));
	} finally {
		await postgres.stop();
	}
}
report(lines);

function recordOf(number: number, cwd: string) {
	const settings = {
		piSessionId: `0199a000-0000-7000-8000-${String(number).padStart(12, "0")}`,
		name: `session ${number}`,
		model: { provider: "bench", id: "bench" },
		thinkingLevel: "medium",
		messageCount: 40,
		lastEntry: "0a1b2c3d",
	};
	const file = join(cwd, "agent", "sessions", "--bench--", `${settings.piSessionId}.jsonl`);
	return {
		principal: "local",
		id: `s-${number}`,
		cwd,
		file,
		createdAtMs: 1_700_000_000_000,
		settings,
	};
}

async function embedded(count: number): Promise<Side> {
	const folder = createFolder();
	const dataDir = join(folder, "agent", "strata", "server");
	mkdirSync(dataDir, { recursive: true, mode: 0o700 });
	const journal = await openJournal({ dataDir, warn: () => {} });
	const saving = Array.from({ length: count }, (_, n) => journal.saveSession(recordOf(n, folder)));
	await Promise.all(saving);
	await journal.close();
	return { folder, words: [] };
}

/** The sessions are parked: no server has them. */
async function shared(url: string, count: number): Promise<Side> {
	const folder = createFolder();
	const side = { folder, words: ["--database", url] };
	await (await startStrata(folder, side)).stop(); // creates the tables
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	const all = Array.from({ length: count }, (_, number) => recordOf(number, folder));
	await client.query(
		`WITH h AS (INSERT INTO strata.heads (principal, session, home, epoch, claim, is_parked)
				SELECT 'local', convert_to(i.id, 'UTF8'), 'bench', 1, gen_random_uuid(), true FROM unnest($1::text[]) AS i (id)
				RETURNING id, session)
			INSERT INTO strata.sessions SELECT h.id, i.record FROM unnest($1::text[], $2::text[]) AS i (id, record)
				JOIN h ON h.session = convert_to(i.id, 'UTF8')`,
		[all.map(({ id }) => id), all.map((record) => JSON.stringify(record))],
	);
	await client.query("ANALYZE strata.heads, strata.sessions");
	await client.end();
	return side;
}

async function compareStarts(name: string, empty: Side, full: Side): Promise<void> {
	const measured = { empty: [] as Start[], full: [] as Start[] };
	for (let round = -1; round < rounds; round++) {
		for (const [which, side] of Object.entries({ empty, full })) {
			const start = await measureStart(side);
			if (round >= 0) measured[which as "empty" | "full"].push(start);
		}
	}
	const bytes = (starts: readonly Start[]) => median(starts.map((start) => start.bytes));
	const readyMs = median(measured.full.map((start) => start.readyMs));
	lines.push(
		{
			case: `${COUNT} parked sessions in ${name}: resident memory of one`,
			unit: "KB",
			value: Math.max(0, bytes(measured.full) - bytes(measured.empty)) / COUNT / 1_000,
			digits: 1,
			target: 10,
			from: { rounds, "MB without sessions": rounded(bytes(measured.empty) / 1e6, 0) },
		},
		{
			case: `${COUNT} parked sessions in ${name}: start of the server`,
			unit: "ms",
			value: readyMs,
			digits: 0,
			target: 2_500,
			from: {
				rounds,
				"without sessions": rounded(median(measured.empty.map((one) => one.readyMs)), 0),
				"processor ms": median(measured.full.map((one) => one.usedMs)),
				"processor ms without sessions": median(measured.empty.map((one) => one.usedMs)),
			},
		},
	);
}

interface Start {
	readonly readyMs: number;
	readonly bytes: number;
	/** Processor time of the start, which other load hardly changes. */
	readonly usedMs: number;
}

async function measureStart({ folder, words }: Side): Promise<Start> {
	const server: ServerProcess = await startStrata(folder, { words });
	const { readyMs, pid } = server;
	const bytes = residentBytes(pid);
	const usedMs = processorMs(pid);
	await server.stop();
	return { readyMs, bytes, usedMs };
}
