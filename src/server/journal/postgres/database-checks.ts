import type { ClientBase } from "pg";
import { reasonOf } from "./database-refusal.ts";
import type { DatabaseAddress } from "./database-url.ts";
import { SCHEMA_VERSION, schemaVersion } from "./schema.ts";
import { withDatabase } from "./token-table.ts";

/** A finding of `strata doctor`. */
interface DatabaseFinding {
	readonly name: string;
	readonly ok: boolean;
	/** Without it, a promise is broken or the server does not start. */
	readonly required: boolean;
	readonly note: string;
}

const OLDEST = 13;
const TIMEOUT_MS = 10_000;
const MAX_CLOCK_MS = 60_000;
/** Rows of a table before it should have statistics. */
const MANY_ROWS = 10_000;

/** Settings that lose acknowledged commits, and when. */
const SETTINGS = [
	["fsync", "off", "a crash of the database's machine damages it", true],
	["full_page_writes", "off", "a crash of the database's machine may damage it", true],
	["synchronous_commit", "off", "the server sets it to on for itself", false],
] as const;

/** Never rejects. */
export async function checkDatabase(address: DatabaseAddress): Promise<DatabaseFinding[]> {
	const reached = { name: "database", required: true };
	try {
		const findings = await withDatabase(address, findingsOf, TIMEOUT_MS);
		return [{ ...reached, ok: true, note: address.description }, ...findings];
	} catch (error) {
		const cause = error instanceof Error ? (error.cause ?? error) : error;
		return [{ ...reached, ok: false, note: `${address.description}: ${reasonOf(cause)}` }];
	}
}

async function findingsOf(client: ClientBase): Promise<DatabaseFinding[]> {
	const { rows } = await client.query(
		`SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
			has_database_privilege(current_database(), 'CREATE') AS create,
			extract(epoch FROM clock_timestamp()) * 1000 AS now, pg_encoding_to_char(encoding) AS encoding,
			(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS standbys
			FROM pg_database WHERE datname = current_database()`,
	);
	const [row] = rows;
	const version = Math.floor(row.version / 10_000);
	const schema = await schemaVersion(client);
	const skewMs = Math.round(Math.abs(Number(row.now) - Date.now()));
	const isSafe = Number(row.standbys) > 0;
	return [
		{
			name: "PostgreSQL",
			ok: version >= OLDEST,
			required: true,
			note: version >= OLDEST ? row.name : `${row.name}; ${OLDEST} or later is needed`,
		},
		...(await settingsOf(client)),
		{
			name: "encoding",
			ok: row.encoding === "UTF8",
			required: true,
			note: row.encoding === "UTF8" ? "UTF8" : `${row.encoding}; the database must be UTF8`,
		},
		{
			name: "schema",
			ok: schema <= SCHEMA_VERSION && (schema > 0 || row.create),
			required: true,
			note: schemaNote(schema, row.create),
		},
		{
			name: "clock",
			ok: skewMs <= MAX_CLOCK_MS,
			required: false,
			note: `${skewMs} ms from this machine's; leases go by the database's`,
		},
		{
			name: "standby",
			ok: isSafe,
			required: false,
			note: isSafe
				? "a synchronous standby is connected"
				: "no synchronous standby: a fail-over may lose acknowledged commands",
		},
		...(schema === SCHEMA_VERSION ? [await statistics(client)] : []),
	];
}

async function settingsOf(client: ClientBase): Promise<DatabaseFinding[]> {
	const findings: DatabaseFinding[] = [];
	for (const [name, bad, why, required] of SETTINGS) {
		// What the connection itself has set does not count.
		const { rows } = await client.query("SELECT reset_val FROM pg_settings WHERE name = $1", [
			name,
		]);
		const value = rows[0]?.reset_val;
		const ok = value !== bad;
		findings.push({ name, ok, required, note: ok ? String(value) : `${value}: ${why}` });
	}
	return findings;
}

function schemaNote(schema: number, mayCreate: boolean): string {
	if (schema > SCHEMA_VERSION)
		return `version ${schema} is newer than this pi-strata; update pi-strata`;
	if (schema > 0) return `version ${schema}`;
	return mayCreate
		? "none yet; the server creates it"
		: "none yet, and the user may not create it: GRANT CREATE ON DATABASE";
}

async function statistics(client: ClientBase): Promise<DatabaseFinding> {
	const { rows } = await client.query(
		`SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'strata' AND n_live_tup > $1
			AND last_analyze IS NULL AND last_autoanalyze IS NULL`,
		[MANY_ROWS],
	);
	const names = rows.map(({ relname }) => relname).join(", ");
	const note =
		names === "" ? "up to date" : `missing for ${names}: run ANALYZE, and turn autovacuum on`;
	return { name: "statistics", ok: names === "", required: false, note };
}
