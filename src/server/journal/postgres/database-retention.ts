import type { ClientBase } from "pg";
import type { EvictionMark, JournalSize, WriterJob } from "../messages.ts";

interface SweepResult {
	readonly evicted: EvictionMark[];
	readonly more: boolean;
	readonly size?: JournalSize;
}

const DAY_MS = 24 * 60 * 60_000;
const DAYS_AHEAD = 3;
const STEP_ROWS = 2_000;
/** Any number: one server sweeps at a time. */
const SWEEP_LOCK = 0x5742a7b;
/** Maximum time to wait for the lock that adding or dropping a partition takes. */
const LOCK_MS = 500;

/** Events are dropped by the day, with their partition. The rest is deleted in steps. */
export async function sweepStep(
	client: ClientBase,
	{ olderThanMs, maxOwned }: WriterJob & { kind: "sweep" },
): Promise<SweepResult> {
	const { rows } = await client.query("SELECT pg_try_advisory_lock($1) AS mine", [SWEEP_LOCK]);
	if (!rows[0]?.mine)
		return { evicted: await marks(client), more: false, size: await sizeOf(client) };
	try {
		await addPartitions(client);
		await dropPartitions(client, olderThanMs);
		const commands = await client.query(EVICT_COMMANDS, [olderThanMs]);
		const steps = [
			commands.rowCount ?? 0,
			await count(client, EVICT_GONE_EVENTS, []),
			await count(client, EVICT_GONE_ENTRIES, []),
			await count(client, EVICT_GONE_STREAMS, []),
			await count(client, EVICT_OTHER_EVENTS, [olderThanMs]),
			await count(client, EVICT_OWNERS, [maxOwned]),
			await count(client, EVICT_ENDED, [olderThanMs]),
		];
		const evicted = new Map<string, number>();
		for (const { principal, admitted_at } of commands.rows) {
			evicted.set(principal, Math.max(evicted.get(principal) ?? 0, Number(admitted_at) + 1));
		}
		if (evicted.size > 0)
			await client.query(SAVE_MARKS, [[...evicted.keys()], [...evicted.values()]]);
		return {
			evicted: await marks(client),
			more: steps.some((rows) => rows >= STEP_ROWS),
			size: await sizeOf(client),
		};
	} finally {
		await client.query("SELECT pg_advisory_unlock($1)", [SWEEP_LOCK]);
	}
}

export async function marks(client: ClientBase): Promise<EvictionMark[]> {
	const { rows } = await client.query("SELECT principal, before FROM strata.evicted");
	return rows.map(({ principal, before }) => ({ principal, before: Number(before) }));
}

/** A day by the database's clock. Events of a server with another clock go to `events_other`. */
export async function addPartitions(client: ClientBase): Promise<void> {
	const { rows } = await client.query(
		"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
	);
	const today = Math.floor(Number(rows[0]?.now) / DAY_MS);
	for (let day = today; day < today + DAYS_AHEAD; day++) {
		const name = partitionOf(day);
		const known = await client.query("SELECT to_regclass($1) AS name", [`strata.${name}`]);
		if (known.rows[0]?.name !== null) continue;
		// Fails if `events_other` has rows of that day; they stay there, and retention deletes them.
		await attempt(
			client,
			`CREATE TABLE IF NOT EXISTS strata.${name} PARTITION OF strata.events
				FOR VALUES FROM (${day * DAY_MS}) TO (${(day + 1) * DAY_MS})`,
		);
	}
}

async function dropPartitions(client: ClientBase, olderThanMs: number): Promise<void> {
	const { rows } = await client.query(
		`SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
			WHERE inhparent = 'strata.events'::regclass AND relname ~ '^events_[0-9]+$'`,
	);
	for (const { relname } of rows) {
		const day = Number(String(relname).slice("events_".length));
		if ((day + 1) * DAY_MS > olderThanMs) continue;
		await attempt(client, `DROP TABLE IF EXISTS strata.${partitionOf(day)}`);
	}
}

/** In a transaction of its own that does not wait long: writers queue behind a waiting lock. */
async function attempt(client: ClientBase, sql: string): Promise<void> {
	await client.query("BEGIN");
	try {
		await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`);
		await client.query(sql);
		await client.query("COMMIT");
	} catch {
		await client.query("ROLLBACK"); // the next sweep tries again
	}
}

function partitionOf(day: number): string {
	return `events_${day}`;
}

async function count(client: ClientBase, sql: string, values: unknown[]): Promise<number> {
	return (await client.query(sql, values)).rowCount ?? 0;
}

/** Estimates: counting rows would read them all. */
async function sizeOf(client: ClientBase): Promise<JournalSize> {
	const { rows } = await client.query(
		`SELECT sum(pg_total_relation_size(oid)) AS bytes,
			coalesce(sum(reltuples) FILTER (WHERE relname = 'commands'), 0) AS commands,
			coalesce(sum(reltuples) FILTER (WHERE relname ~ '^events_'), 0) AS events,
			coalesce(sum(reltuples) FILTER (WHERE relname = 'sessions'), 0) AS sessions
			FROM pg_class WHERE relnamespace = 'strata'::regnamespace AND relkind = 'r'`,
	);
	const [row] = rows;
	const number = (name: string) => Math.max(0, Math.round(Number(row?.[name] ?? 0)));
	return {
		fileBytes: number("bytes"),
		usedBytes: 0, // the database's disk is its owner's to bound
		commands: number("commands"),
		events: number("events"),
		sessions: number("sessions"),
	};
}

const EVICT_COMMANDS = `DELETE FROM strata.commands WHERE (principal, id) IN
	(SELECT principal, id FROM strata.commands WHERE outcome IS NOT NULL AND admitted_at < $1
		ORDER BY admitted_at LIMIT ${STEP_ROWS}) RETURNING principal, admitted_at`;
const EVICT_OTHER_EVENTS = `DELETE FROM strata.events_other WHERE ctid IN
	(SELECT ctid FROM strata.events_other WHERE at < $1 LIMIT ${STEP_ROWS})`;
/** Only what deleted sessions left. A long one has more rows than a statement could delete in its time. */
const EVICT_GONE_EVENTS = `DELETE FROM strata.events WHERE (stream, seq, at) IN
	(SELECT events.stream, seq, at FROM strata.gone_streams JOIN strata.events ON events.stream = gone_streams.stream
		LIMIT ${STEP_ROWS})`;
const EVICT_GONE_ENTRIES = `DELETE FROM strata.entries WHERE (stream, conversation, n) IN
	(SELECT entries.stream, conversation, n FROM strata.gone_streams
		JOIN strata.entries ON entries.stream = gone_streams.stream LIMIT ${STEP_ROWS})`;
const EVICT_GONE_STREAMS = `DELETE FROM strata.gone_streams WHERE stream IN (SELECT stream FROM strata.gone_streams
	WHERE NOT EXISTS (SELECT 1 FROM strata.events WHERE events.stream = gone_streams.stream)
		AND NOT EXISTS (SELECT 1 FROM strata.entries WHERE entries.stream = gone_streams.stream) LIMIT ${STEP_ROWS})`;
const EVICT_OWNERS = `DELETE FROM strata.owners WHERE conversation IN (SELECT conversation FROM
	(SELECT conversation, row_number() OVER (PARTITION BY principal ORDER BY position DESC) AS n FROM strata.owners)
		AS numbered WHERE n > $1 LIMIT ${STEP_ROWS})`;
const EVICT_ENDED = `DELETE FROM strata.heads WHERE id IN (SELECT id FROM strata.heads WHERE ended_at < $1
	AND NOT EXISTS (SELECT 1 FROM strata.sessions WHERE sessions.head = heads.id) LIMIT ${STEP_ROWS})`;
const SAVE_MARKS = `INSERT INTO strata.evicted SELECT * FROM unnest($1::text[], $2::bigint[])
	ON CONFLICT (principal) DO UPDATE SET before = greatest(evicted.before, excluded.before)`;
