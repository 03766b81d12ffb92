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

const INTERRUPTED_TEXT =
	"the server stopped while this command was in flight; it may or may not have had an effect: check the session, then use a new id";

/**
 * Removes servers whose lease is over by the database's clock, and gives their open commands an outcome. Two
 * statements: the second sees what was written until the first. A server whose row is locked is writing, or hangs in a
 * transaction: the next attempt finds it again, so no server waits for it.
 */
export async function buryExpired(client: ClientBase, nowMs: number): Promise<number> {
	await client.query("BEGIN");
	const dead = await client.query(
		`DELETE FROM strata.nodes WHERE id IN (SELECT id FROM strata.nodes WHERE expires_at < clock_timestamp()
			ORDER BY id FOR UPDATE SKIP LOCKED) RETURNING id`,
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
export interface FoundSession {
	readonly head: string;
	readonly record: string | null;
	readonly owner: string | null;
	/** Of the owner's row, if it is there. */
	readonly address: string | null;
	/** Until its lease is over, by the database's clock. */
	readonly left_ms: number | null;
}

/** In the order of the names. */
export async function lookAt(
	client: ClientBase,
	names: readonly StreamName[],
): Promise<(FoundSession | undefined)[]> {
	const { rows } = await client.query<FoundSession & { index: number }>({
		...LOOK,
		values: namesAsColumns(names),
	});
	const found = new Map(rows.map((row) => [row.index, row]));
	return names.map((_, index) => found.get(index));
}

const LOOK = {
	name: "strata_look",
	text: `SELECT n.index, heads.id AS head, sessions.record, heads.owner, nodes.address,
			(extract(epoch FROM nodes.expires_at - clock_timestamp()) * 1000)::float8 AS left_ms
		FROM unnest($1::text[], $2::bytea[], $3::integer[]) AS n (principal, session, index)
		JOIN strata.heads ON heads.principal = n.principal AND heads.session = n.session
		LEFT JOIN strata.sessions ON sessions.head = heads.id
		LEFT JOIN strata.nodes ON nodes.id = heads.owner`,
};

function namesAsColumns(names: readonly StreamName[]): unknown[] {
	return [
		names.map(({ principal }) => principal),
		names.map(({ sessionId }) => toBytes(sessionId)),
		names.map((_, index) => index),
	];
}

const FREE = `(heads.owner IS NULL OR heads.owner = $1 OR NOT EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = heads.owner))`;
const ALIVE = "EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = $1 FOR KEY SHARE)";

export interface TakenSession {
	readonly held: Held;
	readonly version: number;
	readonly isCutOff: boolean;
	/** This data folder's server had it last. */
	readonly isOwn: boolean;
	readonly record?: SessionRecord;
}

interface TakenRow extends HeldRow {
	readonly principal: string;
	readonly session: Buffer;
	readonly version: string;
	readonly in_progress: boolean;
	readonly own: boolean;
}

/**
 * Takes sessions that no living server has. Their open commands get an outcome in the same transaction, behind what
 * the last owners have written. A head that is locked is being written or claimed: who asks again finds out, and the
 * others are not kept waiting.
 */
export async function takeSessions(
	client: ClientBase,
	node: Node,
	heads: readonly string[],
	nowMs: number,
): Promise<Map<string, TakenSession>> {
	const taken = new Map<string, TakenSession>();
	if (heads.length === 0) return taken;
	await client.query("BEGIN");
	const { rows } = await client.query<TakenRow>(TAKE, [node.id, node.home, heads]);
	const names = rows.map(({ principal, session }) => ({ principal, session }));
	if (!isTakenOut("interruption")) {
		await client.query(INTERRUPT_IN_SESSIONS.text, [
			INTERRUPTED_TEXT,
			nowMs,
			names.map(({ principal }) => principal),
			names.map(({ session }) => session),
			node.id,
		]);
	}
	const found = await client.query<{ head: string; record: string }>(
		"SELECT head, record FROM strata.sessions WHERE head = ANY($1::bigint[])",
		[rows.map(({ head }) => head)],
	);
	await client.query("COMMIT");
	const records = new Map(found.rows.map(({ head, record }) => [head, record]));
	for (const row of rows) {
		const record = records.get(row.head);
		const name = { principal: row.principal, sessionId: fromBytes(row.session) };
		taken.set(row.head, {
			held: heldOf(name, row),
			version: Number(row.version),
			isCutOff: row.in_progress && record !== undefined,
			isOwn: row.own,
			...(record !== undefined && { record: JSON.parse(record) as SessionRecord }),
		});
	}
	return taken;
}

const TAKE = `UPDATE strata.heads SET owner = $1, home = $2, claim = gen_random_uuid(), epoch = epoch + 1, writes = 0,
		is_parked = false
	FROM (SELECT id, home FROM strata.heads WHERE id = ANY($3::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED) AS old
	WHERE heads.id = old.id AND ${FREE} AND ${ALIVE}
	RETURNING ${HELD_COLUMNS}, heads.principal, heads.session, heads.version, heads.in_progress, old.home = $2 AS own`;

const INTERRUPT_IN_SESSIONS = {
	text: `UPDATE strata.commands SET ${INTERRUPT} FROM unnest($3::text[], $4::bytea[]) AS i (principal, session)
		WHERE commands.principal = i.principal AND commands.session = i.session AND commands.node <> $5
			AND commands.outcome IS NULL`,
};

/**
 * Reserves names that no session has. That of a deleted session is free although its last server holds it: that one
 * finds its claim gone.
 */
export async function reserveNames(
	client: ClientBase,
	node: Node,
	names: readonly StreamName[],
): Promise<Held[]> {
	if (names.length === 0) return [];
	const [principals, sessions] = namesAsColumns(names);
	const { rows } = await client.query<HeldRow & { principal: string; session: Buffer }>(
		`INSERT INTO strata.heads AS heads (principal, session, owner, home, epoch, claim)
			SELECT n.principal, n.session, $1, $2, 1, gen_random_uuid()
				FROM unnest($3::text[], $4::bytea[]) AS n (principal, session) WHERE ${ALIVE}
				ORDER BY n.principal, n.session
			ON CONFLICT (principal, session) DO UPDATE SET owner = $1, home = $2, claim = gen_random_uuid(),
				epoch = heads.epoch + 1, writes = 0, is_parked = false, ended_at = NULL
			WHERE (${FREE} OR heads.ended_at IS NOT NULL)
				AND NOT EXISTS (SELECT 1 FROM strata.sessions WHERE sessions.head = heads.id)
			RETURNING ${HELD_COLUMNS}, heads.principal, heads.session`,
		[node.id, node.home, principals, sessions],
	);
	return rows.map((row) =>
		heldOf({ principal: row.principal, sessionId: fromBytes(row.session) }, row),
	);
}

/** What it takes to give a session or a name up. */
type GivenUp = Pick<Held, "head" | "claim">;

/** Names that a node has reserved and that have no session yet. */
export async function reservedNames(
	client: ClientBase,
	node: Node,
): Promise<(GivenUp & StreamName)[]> {
	const { rows } = await client.query<GivenUp & { principal: string; session: Buffer }>(
		`SELECT heads.id AS head, heads.claim, heads.principal, heads.session FROM strata.heads
			WHERE heads.owner = $1 AND heads.ended_at IS NULL
				AND NOT EXISTS (SELECT 1 FROM strata.sessions WHERE sessions.head = heads.id)`,
		[node.id],
	);
	return rows.map(({ session, ...row }) => ({ ...row, sessionId: fromBytes(session) }));
}

interface Adopted {
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
 * process is dead, since the folder is locked, so its lease need not run out. Parked sessions wait for a command.
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
			FROM strata.sessions WHERE sessions.head = heads.id AND heads.home = $2 AND NOT heads.is_parked
				AND ${FREE} AND ${ALIVE}
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

/**
 * Gives sessions up. Only the owner of a claim can. A restart does not take them back: the next command does. Retention
 * evicts names without a session.
 */
export async function giveUp(
	client: ClientBase,
	all: readonly GivenUp[],
	nowMs: number,
): Promise<void> {
	await client.query(
		`UPDATE strata.heads SET owner = NULL, is_parked = true, ended_at = CASE
				WHEN EXISTS (SELECT 1 FROM strata.sessions WHERE sessions.head = heads.id) THEN heads.ended_at
				ELSE coalesce(heads.ended_at, $3) END
			FROM unnest($1::bigint[], $2::uuid[]) AS i (head, claim)
			WHERE heads.id = i.head AND heads.claim = i.claim`,
		[all.map(({ head }) => head), all.map(({ claim }) => claim), nowMs],
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

export interface LocatedSession {
	readonly record: SessionRecord;
	/** The living server that has it. */
	readonly owner: string | undefined;
	/** Until the owner's lease is over, unless it is renewed. */
	readonly leftMs?: number;
}

/** At most this many are listed. */
const MAX_LISTED = 1_000;

/** A principal's sessions, the newest first, and the living servers that have them. */
export async function sessionsOf(client: ClientBase, principal: string): Promise<LocatedSession[]> {
	const { rows } = await client.query<{ record: string; owner: string | null }>(
		`SELECT sessions.record, nodes.id AS owner FROM strata.heads
			JOIN strata.sessions ON sessions.head = heads.id LEFT JOIN strata.nodes ON nodes.id = heads.owner
			WHERE heads.principal = $1 ORDER BY heads.id DESC LIMIT ${MAX_LISTED}`,
		[principal],
	);
	return rows.map(({ record, owner }) => ({
		record: JSON.parse(record) as SessionRecord,
		owner: owner ?? undefined,
	}));
}

/** How many sessions of a principal other living servers have, those included that are just being created. */
export async function countElsewhere(
	client: ClientBase,
	principal: string,
	self: string,
): Promise<number> {
	const { rows } = await client.query<{ count: number }>(
		`SELECT count(*)::int AS count FROM strata.nodes JOIN strata.heads ON heads.owner = nodes.id
			WHERE nodes.id <> $2 AND nodes.expires_at > clock_timestamp()
				AND heads.principal = $1 AND heads.ended_at IS NULL`,
		[principal, self],
	);
	return rows[0]?.count ?? 0;
}

/** The secret that servers of this database share. The first one creates it. */
export async function clusterSecret(client: ClientBase, proposed: string): Promise<string> {
	await client.query("INSERT INTO strata.cluster (secret) VALUES ($1) ON CONFLICT DO NOTHING", [
		proposed,
	]);
	const { rows } = await client.query<{ secret: string }>("SELECT secret FROM strata.cluster");
	return String(rows[0]?.secret);
}
