import type { ClientBase } from "pg";

/**
 * All tables are in the schema `strata`. `heads` has a row for each session name: who may write for it (`owner`,
 * `epoch`, `claim`), and how far it is (`version`, `last`). It is separate from `sessions`, whose rows are large
 * and change seldom. `home` is the data folder whose server had the session last. `writes` numbers the statements
 * of a claim, so that a late repetition of an older one changes nothing. `stream` changes when a session is
 * deleted; numbers up to `base` belong to the streams before. `is_parked`: the last owner gave the session up because
 * it was idle. Open commands are few: an index of them serves a claim and a burial.
 */
const MIGRATIONS: readonly string[] = [
	`
	CREATE TABLE strata.nodes (
		id uuid PRIMARY KEY,
		home text NOT NULL,
		address text NOT NULL,
		started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
		expires_at timestamptz NOT NULL
	);

	CREATE SEQUENCE strata.streams;

	CREATE TABLE strata.heads (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		principal text NOT NULL,
		session bytea NOT NULL,
		owner uuid,
		home text NOT NULL,
		epoch bigint NOT NULL,
		claim uuid NOT NULL,
		writes bigint NOT NULL DEFAULT 0,
		version bigint NOT NULL DEFAULT 0,
		stream bigint NOT NULL DEFAULT nextval('strata.streams'),
		base bigint NOT NULL DEFAULT 0,
		last bigint NOT NULL DEFAULT 0,
		in_progress boolean NOT NULL DEFAULT false,
		ended_at bigint,
		UNIQUE (principal, session)
	) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
	CREATE INDEX heads_by_owner ON strata.heads (owner);
	CREATE INDEX heads_by_home ON strata.heads (home);
	CREATE INDEX heads_ended ON strata.heads (ended_at) WHERE ended_at IS NOT NULL;

	CREATE TABLE strata.sessions (
		head bigint PRIMARY KEY REFERENCES strata.heads (id) ON DELETE CASCADE,
		record text NOT NULL
	);

	CREATE TABLE strata.commands (
		position bigint GENERATED ALWAYS AS IDENTITY,
		principal text NOT NULL,
		id bytea NOT NULL,
		type text NOT NULL,
		session bytea,
		fingerprint text NOT NULL,
		key bytea,
		key_scope bytea NOT NULL,
		node uuid NOT NULL,
		admitted_at bigint NOT NULL,
		outcome text,
		finished_at bigint,
		summary text,
		digest text,
		PRIMARY KEY (principal, id)
	) WITH (fillfactor = 70);
	CREATE INDEX commands_by_key ON strata.commands (principal, key, key_scope, position) WHERE key IS NOT NULL;
	CREATE INDEX commands_by_time ON strata.commands (principal, admitted_at, position);
	CREATE INDEX commands_by_session ON strata.commands (principal, session, admitted_at, position)
		WHERE session IS NOT NULL;
	CREATE INDEX commands_open ON strata.commands (node) WHERE outcome IS NULL;
	CREATE INDEX commands_by_age ON strata.commands (admitted_at) WHERE outcome IS NOT NULL;

	CREATE TABLE strata.events (
		stream bigint NOT NULL,
		seq bigint NOT NULL,
		at bigint NOT NULL,
		body text NOT NULL,
		PRIMARY KEY (stream, seq, at)
	) PARTITION BY RANGE (at);
	CREATE TABLE strata.events_other PARTITION OF strata.events DEFAULT;

	CREATE TABLE strata.gone_streams (stream bigint PRIMARY KEY);

	CREATE TABLE strata.entries (
		stream bigint NOT NULL,
		conversation text NOT NULL,
		n integer NOT NULL,
		body text NOT NULL,
		PRIMARY KEY (stream, conversation, n)
	);

	CREATE TABLE strata.owners (
		position bigint GENERATED ALWAYS AS IDENTITY,
		conversation text PRIMARY KEY,
		principal text NOT NULL
	);
	CREATE INDEX owners_by_principal ON strata.owners (principal, position);

	CREATE TABLE strata.evicted (principal text PRIMARY KEY, before bigint NOT NULL);

	CREATE TABLE strata.tokens (
		digest bytea PRIMARY KEY,
		name text NOT NULL,
		created_at timestamptz NOT NULL DEFAULT clock_timestamp()
	);
	CREATE INDEX tokens_by_name ON strata.tokens (name);
	`,
	`
	ALTER TABLE strata.heads ADD COLUMN is_parked boolean NOT NULL DEFAULT false;
	DROP INDEX strata.commands_open;
	CREATE INDEX commands_open ON strata.commands (principal, session, node) WHERE outcome IS NULL;
	`,
	// What a server tells the others about itself, and the secret of their links.
	`
	ALTER TABLE strata.nodes ADD COLUMN about text NOT NULL DEFAULT '{}';
	CREATE TABLE strata.cluster (id boolean PRIMARY KEY DEFAULT true CHECK (id), secret text NOT NULL);
	`,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Any number: all servers of a database must use the same. */
const MIGRATION_LOCK = 0x5742a7a;

export class NewerSchema extends Error {
	constructor(version: number) {
		super(
			`the database has schema ${version}, but this pi-strata knows ${SCHEMA_VERSION}; update pi-strata`,
		);
	}
}

/** One server at a time; the others wait. Throws {@link NewerSchema}. */
export async function migrate(client: ClientBase): Promise<void> {
	await client.query("BEGIN");
	await client.query("SET LOCAL lock_timeout = 0"); // the caller's time is the limit
	await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
	const before = await schemaVersion(client);
	if (before > SCHEMA_VERSION) {
		await client.query("ROLLBACK");
		throw new NewerSchema(before);
	}
	if (before === 0) {
		await client.query("CREATE SCHEMA IF NOT EXISTS strata");
		await client.query("CREATE TABLE strata.schema_version (version integer NOT NULL)");
		await client.query("INSERT INTO strata.schema_version VALUES (0)");
	}
	for (const sql of MIGRATIONS.slice(before)) await client.query(sql);
	if (before < SCHEMA_VERSION) {
		await client.query("UPDATE strata.schema_version SET version = $1", [SCHEMA_VERSION]);
	}
	await client.query("COMMIT");
	// Without statistics, Postgres may scan whole tables.
	if (before < SCHEMA_VERSION) {
		for (const table of ["heads", "sessions", "commands", "events", "entries"]) {
			await client.query(`ANALYZE strata.${table}`);
		}
	}
}

/** 0 if there is no schema yet. */
export async function schemaVersion(client: ClientBase): Promise<number> {
	const table = await client.query("SELECT to_regclass('strata.schema_version') AS name");
	if (table.rows[0]?.name === null) return 0;
	const { rows } = await client.query("SELECT version FROM strata.schema_version");
	return Number(rows[0]?.version ?? 0);
}
