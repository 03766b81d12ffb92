import type { ClientBase } from "pg";
import { isTakenOut } from "../../safeguards.ts";
import type { Recovered, SessionRecord, StoredCommand, StreamName } from "../journal.ts";
import { fromBytes, toBytes } from "./columns.ts";
import { COMMAND_COLUMNS, type CommandRow, storedCommand } from "./command-rows.ts";
import { HELD_COLUMNS, type Held, type HeldRow, heldOf, newId } from "./held.ts";

/** A server process, as the others see it. */
export interface Node {
	readonly id: string;
	/** The data folder: only one process can have it open. */
	readonly home: string;
	/** Where clients reach it. */
	readonly address: string;
}

/** The outcome of a command whose server is gone; the text is that of `interrupted` in journal.ts. */
const INTERRUPT = `outcome = '{"type":"response","command":' || to_json(type)::text || ',"success":false,"code":"interrupted","error":"'
		|| $1 || '"}', finished_at = $2,
	summary = '{"success":false,"code":"interrupted","error":"' || $1 || '"}'`;

export const INTERRUPTED_TEXT =
	"the server stopped while this command was in flight; it may or may not have had an effect: check the session, then use a new id";

/**
 * Removes servers whose lease is over by the database's clock, and gives their open commands an outcome. Two
 * statements: the first waits for what they are writing, the second sees it.
 */
export async function buryExpired(client: ClientBase, nowMs: number): Promise<number> {
	await client.query("BEGIN");
	const dead = await client.query(
		"DELETE FROM strata.nodes WHERE expires_at < clock_timestamp() RETURNING id",
	);
	await interruptCommandsOf(
		client,
		dead.rows.map(({ id }) => id),
		nowMs,
	);
	await client.query("COMMIT");
	return dead.rows.length;
}

async function interruptCommandsOf(
	client: ClientBase,
	nodes: readonly string[],
	nowMs: number,
): Promise<StoredCommand[]> {
	if (nodes.length === 0 || isTakenOut("interruption")) return [];
	const { rows } = await client.query<CommandRow>(
		`UPDATE strata.commands SET ${INTERRUPT} WHERE node = ANY($3::uuid[]) AND outcome IS NULL
			RETURNING ${COMMAND_COLUMNS}`,
		[INTERRUPTED_TEXT, nowMs, nodes],
	);
	return rows.map(storedCommand);
}

/** Who has a session, and its record. */
export async function lookAt(client: ClientBase, { principal, sessionId }: StreamName) {
	const { rows } = await client.query<{
		record: string | null;
		owner: string | null;
		address: string | null;
		expired: boolean | null;
	}>({
		name: "strata_look",
		text: `SELECT sessions.record, heads.owner, nodes.address, nodes.expires_at < clock_timestamp() AS expired
			FROM strata.heads LEFT JOIN strata.sessions ON sessions.head = heads.id
			LEFT JOIN strata.nodes ON nodes.id = heads.owner WHERE heads.principal = $1 AND heads.session = $2`,
		values: [principal, toBytes(sessionId)],
	});
	return rows[0];
}

const FREE = `(heads.owner IS NULL OR heads.owner = $1 OR NOT EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = heads.owner))`;
const ALIVE = "EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = $1 FOR KEY SHARE)";

export interface TakenSession {
	readonly held: Held;
	readonly version: number;
	readonly isCutOff: boolean;
	readonly record?: SessionRecord;
}

/**
 * Takes a session that no living server has. Its open commands get an outcome in the same transaction, after the
 * head's lock has waited for what the last owner was writing.
 */
export async function takeSession(
	client: ClientBase,
	node: Node,
	name: StreamName,
	nowMs: number,
): Promise<TakenSession | undefined> {
	const { principal, sessionId } = name;
	const session = toBytes(sessionId);
	await client.query("BEGIN");
	const { rows } = await client.query<HeldRow & { version: string; in_progress: boolean }>(
		`UPDATE strata.heads SET owner = $1, home = $2, claim = $3, epoch = epoch + 1, writes = 0
			WHERE principal = $4 AND session = $5 AND ${FREE} AND ${ALIVE}
			RETURNING ${HELD_COLUMNS}, heads.version, heads.in_progress`,
		[node.id, node.home, newId(), principal, session],
	);
	const row = rows[0];
	if (!row) {
		await client.query("ROLLBACK");
		return undefined;
	}
	if (!isTakenOut("interruption")) {
		await client.query(
			`UPDATE strata.commands SET ${INTERRUPT} WHERE principal = $3 AND session = $4 AND node <> $5
				AND outcome IS NULL`,
			[INTERRUPTED_TEXT, nowMs, principal, session, node.id],
		);
	}
	const found = await client.query("SELECT record FROM strata.sessions WHERE head = $1", [
		row.head,
	]);
	await client.query("COMMIT");
	const record = found.rows[0]?.record;
	return {
		held: heldOf(name, row),
		version: Number(row.version),
		isCutOff: row.in_progress && record !== undefined,
		...(record !== undefined && { record: JSON.parse(record) as SessionRecord }),
	};
}

/**
 * Reserves a name that no session has. That of a deleted session is free although its last server holds it: that one
 * finds its claim gone.
 */
export async function reserveName(
	client: ClientBase,
	node: Node,
	name: StreamName,
): Promise<Held | undefined> {
	const { rows } = await client.query<HeldRow>(
		`INSERT INTO strata.heads AS heads (principal, session, owner, home, epoch, claim)
			SELECT $4, $5, $1, $2, 1, $3 WHERE ${ALIVE}
			ON CONFLICT (principal, session) DO UPDATE SET owner = $1, home = $2, claim = $3, epoch = heads.epoch + 1,
				writes = 0
			WHERE (${FREE} OR heads.ended_at IS NOT NULL)
				AND NOT EXISTS (SELECT 1 FROM strata.sessions WHERE sessions.head = heads.id)
			RETURNING ${HELD_COLUMNS}`,
		[node.id, node.home, newId(), name.principal, toBytes(name.sessionId)],
	);
	return rows[0] && heldOf(name, rows[0]);
}

export interface Adopted {
	readonly held: Held[];
	readonly recovered: Recovered;
}

/** Registers a node. Its lease begins now. */
export async function register(client: ClientBase, node: Node, leaseMs: number): Promise<void> {
	await client.query(
		`INSERT INTO strata.nodes (id, home, address, expires_at)
			VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond') ON CONFLICT (id) DO NOTHING`,
		[node.id, node.home, node.address, leaseMs],
	);
}

/**
 * Takes back the sessions that this data folder's last process had, unless another server has them now. That
 * process is dead, since the folder is locked, so its lease need not run out.
 */
export async function adopt(client: ClientBase, node: Node, nowMs: number): Promise<Adopted> {
	await client.query("BEGIN");
	const dead = await client.query(
		"DELETE FROM strata.nodes WHERE home = $1 AND id <> $2 RETURNING id",
		[node.home, node.id],
	);
	const interrupted = await interruptCommandsOf(
		client,
		dead.rows.map(({ id }) => id),
		nowMs,
	);
	const { rows: orphans } = await client.query<{ id: string; stream: string }>(
		`SELECT id, stream FROM strata.heads WHERE home = $1 AND ended_at IS NULL
			AND (owner IS NULL OR NOT EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = heads.owner))
			AND NOT EXISTS (SELECT 1 FROM strata.sessions WHERE sessions.head = heads.id) FOR UPDATE`,
		[node.home],
	);
	// Clients may have seen their numbers, so the next session with the name must not use them.
	for (const { id, stream } of orphans) {
		await client.query("INSERT INTO strata.gone_streams VALUES ($1) ON CONFLICT DO NOTHING", [
			stream,
		]);
		await client.query(
			`UPDATE strata.heads SET owner = NULL, epoch = epoch + 1, claim = $2, last = last + 1, base = last + 1,
				stream = nextval('strata.streams'), in_progress = false, ended_at = $3 WHERE id = $1`,
			[id, newId(), nowMs],
		);
	}
	const { rows: owned } = await client.query(
		`SELECT count(*) FILTER (WHERE owner IS NOT NULL) AS crashed FROM strata.heads WHERE home = $1
			AND owner <> $2 AND NOT EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = heads.owner)`,
		[node.home, node.id],
	);
	const { rows } = await client.query<
		HeldRow & {
			principal: string;
			session: Buffer;
			version: string;
			in_progress: boolean;
			record: string;
		}
	>(
		`UPDATE strata.heads SET owner = $1, claim = gen_random_uuid(), epoch = epoch + 1, writes = 0
			FROM strata.sessions WHERE sessions.head = heads.id AND heads.home = $2 AND ${FREE} AND ${ALIVE}
			RETURNING ${HELD_COLUMNS}, heads.principal, heads.session, heads.version, heads.in_progress, sessions.record`,
		[node.id, node.home],
	);
	await client.query("COMMIT");
	const names = rows.map(({ principal, session }) => ({
		principal,
		sessionId: fromBytes(session),
	}));
	const sessions = rows
		.map(({ record, version }) => ({
			...(JSON.parse(record) as SessionRecord),
			version: Number(version),
		}))
		.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
	return {
		held: rows.map((row, index) => heldOf(names[index] as StreamName, row)),
		recovered: {
			sessions,
			interrupted,
			cutOff: names.filter((_, index) => rows[index]?.in_progress),
			crashed: dead.rows.length > 0 || Number(owned[0]?.crashed) > 0,
		},
	};
}

/** Gives sessions up. Only the owner of a claim can. */
export async function giveUp(client: ClientBase, all: readonly Held[]): Promise<void> {
	await client.query(
		`UPDATE strata.heads SET owner = NULL FROM unnest($1::bigint[], $2::uuid[]) AS i (head, claim)
			WHERE heads.id = i.head AND heads.claim = i.claim`,
		[all.map(({ head }) => head), all.map(({ claim }) => claim)],
	);
}

/** Ends a node: whatever it still has is free at once. */
export async function leave(client: ClientBase, node: Node, nowMs: number): Promise<void> {
	await client.query("BEGIN");
	await client.query("DELETE FROM strata.nodes WHERE id = $1", [node.id]);
	await interruptCommandsOf(client, [node.id], nowMs);
	await client.query("UPDATE strata.heads SET owner = NULL WHERE owner = $1", [node.id]);
	await client.query("COMMIT");
}
