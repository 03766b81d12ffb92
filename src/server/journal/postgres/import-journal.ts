import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { ClientBase } from "pg";
import { openForReading } from "../../../core/sqlite.ts";
import { fromColumn } from "../schema.ts";
import { keyScope, toBytes } from "./columns.ts";
import { addPartitions } from "./database-retention.ts";
import { newId } from "./held.ts";
import { migrate } from "./schema.ts";

interface Imported {
	readonly sessions: number;
	readonly commands: number;
	readonly events: number;
	readonly conversations: number;
}

type Row = Record<string, SQLOutputValue>;

const BATCH = 1_000;
/** Any number: one journal at a time. */
const IMPORT_LOCK = 0x5742a7c;

/** Copies the journal of a stopped server, in one transaction. The database must not have sessions of its own. */
export async function importJournal(
	client: ClientBase,
	{ dataDir, home }: { dataDir: string; home: string },
): Promise<Imported> {
	const path = join(dataDir, "journal.db");
	const opened = await openForReading(path);
	if (opened.kind !== "open") throw new Error(`cannot read ${path}: ${opened.message}`);
	const { database } = opened;
	try {
		await migrate(client);
		await addPartitions(client);
		await client.query("BEGIN");
		await client.query("SELECT pg_advisory_xact_lock($1)", [IMPORT_LOCK]);
		const { rows } = await client.query(
			"SELECT EXISTS (SELECT 1 FROM strata.commands) OR EXISTS (SELECT 1 FROM strata.heads) AS used",
		);
		if (rows[0]?.used) {
			throw new Error("the database already has sessions or commands; migrate into an empty one");
		}
		const imported = await copy(database, client, home);
		await client.query("COMMIT");
		await client.query("ANALYZE strata.heads, strata.sessions, strata.commands, strata.entries");
		return imported;
	} finally {
		database.close();
	}
}

async function copy(database: DatabaseSync, client: ClientBase, home: string): Promise<Imported> {
	const { heads, conversations } = await copySessions(database, client, home);
	let commands = 0;
	for (const rows of pages(database, "commands")) {
		commands += rows.length;
		await client.query(INSERT_COMMANDS, commandColumns(rows));
	}
	const streams = new Map(
		database
			.prepare("SELECT id, principal, session FROM streams WHERE gone = 0")
			.all()
			.map((row) => [Number(row.id), heads.get(nameOf(row.principal, row.session))] as const),
	);
	let events = 0;
	for (const all of pages(database, "events")) {
		const rows = all.filter(({ stream }) => streams.get(Number(stream)) !== undefined);
		events += rows.length;
		await client.query(INSERT_EVENTS, [
			rows.map(({ stream }) => streams.get(Number(stream))),
			rows.map(({ seq }) => seq),
			rows.map(({ at }) => at),
			rows.map(({ body }) => body),
		]);
	}
	for (const rows of pages(database, "owners")) {
		await client.query(
			"INSERT INTO strata.owners (conversation, principal) SELECT * FROM unnest($1::text[], $2::text[])",
			[rows.map((row) => row.conversation), rows.map(({ principal }) => principal)],
		);
	}
	const evicted = database.prepare("SELECT principal, before FROM forgotten").all();
	await client.query("INSERT INTO strata.evicted SELECT * FROM unnest($1::text[], $2::bigint[])", [
		evicted.map(({ principal }) => principal),
		evicted.map(({ before }) => before),
	]);
	return { sessions: conversations.sessions, commands, events, conversations: conversations.kept };
}

/** Returns the database's stream of each name. */
async function copySessions(database: DatabaseSync, client: ClientBase, home: string) {
	const heads = new Map<string, string>();
	const conversations = { sessions: 0, kept: 0 };
	const rows = database
		.prepare(
			`SELECT streams.principal, streams.session AS id, last, under_way, ended_at, NULL AS cwd FROM streams WHERE gone = 0
				AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.principal = streams.principal AND sessions.id = session)
			UNION ALL SELECT principal, id, coalesce((SELECT last FROM streams WHERE streams.principal = sessions.principal
				AND session = sessions.id AND gone = 0), 0), coalesce((SELECT under_way FROM streams
				WHERE streams.principal = sessions.principal AND session = sessions.id AND gone = 0), 0), NULL, cwd FROM sessions`,
		)
		.all();
	const find = database.prepare("SELECT * FROM sessions WHERE principal = ? AND id = ?");
	for (const { principal, id, last, under_way, ended_at, cwd } of rows) {
		const session = cwd === null ? undefined : find.get(String(principal), String(id));
		const endedAt = session ? null : (ended_at ?? Date.now());
		const { rows: made } = await client.query(
			`INSERT INTO strata.heads (principal, session, home, epoch, claim, version, last, base, in_progress, ended_at)
				VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9) RETURNING id, stream`,
			[
				principal,
				toBytes(String(id)),
				home,
				newId(),
				session?.version ?? 0,
				last,
				session ? 0 : last,
				under_way === 1,
				endedAt,
			],
		);
		heads.set(nameOf(principal, id), made[0].stream);
		if (!session) continue;
		conversations.sessions++;
		const settings = JSON.parse(String(session.settings));
		const record = {
			principal,
			id,
			cwd,
			...(session.file !== null && { file: session.file }),
			createdAtMs: session.created_at,
			settings,
		};
		await client.query("INSERT INTO strata.sessions (head, record) VALUES ($1, $2)", [
			made[0].id,
			JSON.stringify(record),
		]);
		conversations.kept += await copyConversation(client, made[0].stream, session.file, settings);
	}
	return { heads, conversations };
}

async function copyConversation(
	client: ClientBase,
	stream: string,
	file: SQLOutputValue | undefined,
	settings: { piSessionId?: string },
): Promise<number> {
	const { piSessionId } = settings;
	if (typeof file !== "string" || piSessionId === undefined) return 0;
	const text = await readFile(file, "utf8").catch(() => "");
	// Pi skips lines that it cannot read, and the database takes no NUL, which a power cut may leave.
	const lines = text.split("\n").filter(isEntry);
	if (lines.length === 0) return 0;
	await client.query(
		"INSERT INTO strata.entries SELECT $1, $2, n, body FROM unnest($3::integer[], $4::text[]) AS u (n, body)",
		[stream, piSessionId, lines.map((_, index) => index), lines],
	);
	return 1;
}

function isEntry(line: string): boolean {
	try {
		return line !== "" && JSON.parse(line) !== null;
	} catch {
		return false;
	}
}

function* pages(database: DatabaseSync, table: "commands" | "events" | "owners"): Generator<Row[]> {
	const read = database.prepare(
		`SELECT * FROM ${table} WHERE position > ? ORDER BY position LIMIT ${BATCH}`,
	);
	for (let after = 0; ; ) {
		const rows = read.all(after);
		if (rows.length === 0) return;
		yield rows;
		after = Number(rows.at(-1)?.position);
	}
}

function commandColumns(rows: readonly Row[]): unknown[] {
	const text = (value: SQLOutputValue | undefined) =>
		value === null || value === undefined ? null : toBytes(fromColumn(value));
	return [
		newId(),
		rows.map(({ principal }) => principal),
		rows.map(({ id }) => text(id)),
		rows.map(({ type }) => type),
		rows.map(({ session }) => text(session)),
		rows.map(({ fingerprint }) => fingerprint),
		rows.map(({ key }) => text(key)),
		rows.map((row) => keyScope(row.key_session === null ? undefined : String(row.key_session))),
		rows.map((row) => row.admitted_at),
		rows.map(({ outcome, type }) => outcome ?? interruptedJson(String(type))),
		rows.map((row) => row.finished_at ?? row.admitted_at),
		rows.map(({ success, error, code, version, outcome }) =>
			outcome === null
				? JSON.stringify({ success: false, code: "interrupted" })
				: JSON.stringify({
						success: success === 1,
						...(error !== null && { error }),
						...(code !== null && { code }),
						...(version !== null && { sessionVersion: version }),
					}),
		),
		rows.map(({ digest }) => digest),
	];
}

/** For a command in flight when the server was killed. */
function interruptedJson(command: string): string {
	const error =
		"the server stopped while this command was in flight; it may or may not have had an effect";
	return JSON.stringify({ type: "response", command, success: false, code: "interrupted", error });
}

function nameOf(
	principal: SQLOutputValue | undefined,
	session: SQLOutputValue | undefined,
): string {
	return JSON.stringify([principal, session]);
}

const INSERT_COMMANDS = `INSERT INTO strata.commands (node, principal, id, type, session, fingerprint, key, key_scope,
		admitted_at, outcome, finished_at, summary, digest)
	SELECT $1, * FROM unnest($2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::text[], $7::bytea[], $8::bytea[],
		$9::bigint[], $10::text[], $11::bigint[], $12::text[], $13::text[])`;
const INSERT_EVENTS = `INSERT INTO strata.events (stream, seq, at, body)
	SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])`;
