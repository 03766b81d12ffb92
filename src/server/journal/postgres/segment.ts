import { isTakenOut } from "../../safeguards.ts";
import type { JournalRecord, SessionColumns } from "../messages.ts";
import { bytesArray, plainArray, textArray } from "./array-text.ts";
import { keyScope, toBytes } from "./columns.ts";
import type { Held } from "./held.ts";

/** A record with the right to write it. Records that concern no held session have none. */
export interface FencedRecord {
	readonly record: JournalRecord;
	readonly held: Held | undefined;
}

interface HeadRow {
	readonly held: Held;
	version: number | null;
	last: number;
	inProgress: boolean | null;
	session: SessionColumns | null;
}

interface CommandRow {
	readonly principal: string;
	readonly id: Buffer;
	readonly type: string;
	session: Buffer | null;
	readonly fingerprint: string;
	readonly key: Buffer | null;
	readonly scope: Buffer;
	readonly admittedAt: number;
	readonly head: string | null;
	outcome: string | null;
	finishedAt: number | null;
	summary: string | null;
	digest: string | null;
	/** The record that admits it, if any. */
	admission: number | undefined;
}

interface ConversationRows {
	readonly held: Held;
	readonly conversation: string;
	/** By their numbers. */
	readonly bodies: Map<number, string>;
	/** What the database has behind the last of them is deleted. */
	readonly isReplaced: boolean;
}

/** Records that one statement can write: no name of a command twice, nothing that ends a stream. */
export class Segment {
	readonly #heads = new Map<Held, HeadRow>();
	readonly #commands = new Map<string, CommandRow>();
	readonly #events: { held: Held; seq: number; at: number; body: string }[] = [];
	readonly #conversations = new Map<string, ConversationRows>();
	/** Positions of the records in their batch. */
	readonly indexes: number[] = [];

	/** Returns false if the record must begin another statement. */
	add({ record, held }: FencedRecord, index: number): boolean {
		if (record.kind === "owner") return false;
		if (record.kind === "outcome" && record.removed) return false;
		this.indexes.push(index);
		const head = held && this.#headOf(held);
		if (record.kind === "admit") this.#admit(record, held, index);
		else if (record.kind === "outcome") this.#finish(record, held, head);
		else if (record.kind === "session" && head) head.session = record.session;
		else if (record.kind === "event" && held && head) {
			const { seq, atMs: at, body, inProgress = false } = record.event;
			this.#events.push({ held, seq, at, body });
			head.last = Math.max(head.last, seq);
			head.inProgress = inProgress;
		} else if (record.kind === "entries" && held) {
			this.#keep(record, held);
		}
		return true;
	}

	get heads(): readonly Held[] {
		return [...this.#heads.keys()];
	}

	get commandCount(): number {
		return this.#commands.size;
	}

	/** Admitted commands, to find those whose id another process used first. */
	admissions(): { principal: string; id: Buffer; index: number }[] {
		return [...this.#commands.values()].flatMap(({ principal, id, admission }) =>
			admission === undefined ? [] : [{ principal, id, index: admission }],
		);
	}

	/** The number of this statement, for each head. The same when it is sent again. */
	number(): void {
		for (const held of this.#heads.keys()) held.writes += 1;
	}

	/**
	 * In the order of the statement's parameters, after the node. Heads are locked in the order of their ids, as by a
	 * claim, so that two servers cannot wait for each other.
	 */
	values(): string[] {
		const heads = [...this.#heads.values()];
		heads.sort((a, b) => Number(a.held.head) - Number(b.held.head));
		const commands = [...this.#commands.values()];
		const conversations = [...this.#conversations.values()];
		const entries = conversations.flatMap(({ held, conversation, bodies }) =>
			[...bodies].map(([n, body]) => ({ held, conversation, n, body })),
		);
		const replaced = conversations.filter(({ isReplaced }) => isReplaced);
		const events = this.#events;
		return [
			plainArray(heads, ({ held }) => held.head),
			plainArray(heads, ({ held }) => held.epoch),
			plainArray(heads, ({ held }) => held.claim),
			plainArray(heads, ({ held }) => held.writes),
			plainArray(heads, ({ version }) => version),
			plainArray(heads, ({ last }) => last),
			plainArray(heads, ({ inProgress }) => inProgress),
			textArray(heads, ({ session }) => session && recordJson(session)),
			textArray(commands, ({ principal }) => principal),
			bytesArray(commands, ({ id }) => id),
			textArray(commands, ({ type }) => type),
			bytesArray(commands, ({ session }) => session),
			textArray(commands, ({ fingerprint }) => fingerprint),
			bytesArray(commands, ({ key }) => key),
			bytesArray(commands, ({ scope }) => scope),
			plainArray(commands, ({ admittedAt }) => admittedAt),
			plainArray(commands, ({ head }) => head),
			textArray(commands, ({ outcome }) => outcome),
			plainArray(commands, ({ finishedAt }) => finishedAt),
			textArray(commands, ({ summary }) => summary),
			textArray(commands, ({ digest }) => digest),
			plainArray(events, ({ held }) => held.head),
			plainArray(events, ({ seq }) => seq),
			plainArray(events, ({ at }) => at),
			textArray(events, ({ body }) => body),
			plainArray(entries, ({ held }) => held.head),
			textArray(entries, ({ conversation }) => conversation),
			plainArray(entries, ({ n }) => n),
			textArray(entries, ({ body }) => body),
			plainArray(replaced, ({ held }) => held.head),
			textArray(replaced, ({ conversation }) => conversation),
			plainArray(replaced, ({ bodies }) => bodies.size),
		];
	}

	/** Entries from the first on replace the conversation, also what this statement has of it. */
	#keep({ conversation, from, bodies }: JournalRecord & { kind: "entries" }, held: Held): void {
		const key = `${held.head} ${conversation}`;
		const known = from > 0 ? this.#conversations.get(key) : undefined;
		const isReplaced = known?.isReplaced ?? from === 0;
		const rows = known ?? { held, conversation, bodies: new Map(), isReplaced };
		this.#conversations.set(key, rows);
		for (const [offset, body] of bodies.entries()) rows.bodies.set(from + offset, body);
	}

	#headOf(held: Held): HeadRow {
		const known = this.#heads.get(held);
		if (known) return known;
		const row: HeadRow = { held, version: null, last: 0, inProgress: null, session: null };
		this.#heads.set(held, row);
		return row;
	}

	#admit(
		{ command }: JournalRecord & { kind: "admit" },
		held: Held | undefined,
		admission: number | undefined,
	): CommandRow {
		const id = toBytes(command.id);
		const name = `${command.principal} ${id.toString("latin1")}`;
		const known = this.#commands.get(name);
		if (known) return known;
		const { idempotencyKey: key, sessionId } = command;
		const row: CommandRow = {
			principal: command.principal,
			id,
			type: command.type,
			session: sessionId === undefined ? null : toBytes(sessionId),
			fingerprint: command.fingerprint,
			key: key === undefined ? null : toBytes(key),
			scope: keyScope(command.keySessionId),
			admittedAt: command.atMs,
			head: held?.head ?? null,
			outcome: null,
			finishedAt: null,
			summary: null,
			digest: null,
			admission,
		};
		this.#commands.set(name, row);
		return row;
	}

	/** The first outcome stays, also within a statement. */
	#finish(
		{ command, outcome, response, version, session }: JournalRecord & { kind: "outcome" },
		held: Held | undefined,
		head: HeadRow | undefined,
	): void {
		const row = this.#admit({ kind: "admit", command }, held, undefined);
		if (row.outcome === null) {
			const { success, error, code, sessionVersion } = response;
			row.outcome = outcome;
			row.finishedAt = command.finishedAtMs;
			row.summary = JSON.stringify({ success, error, code, sessionVersion });
			row.digest = command.digest ?? null;
			if (command.sessionId !== undefined) row.session = toBytes(command.sessionId);
		}
		if (!head) return;
		if (session) head.session = session;
		if (version !== undefined) head.version = version;
	}
}

/** The settings are JSON already. */
function recordJson({ settings, ...session }: SessionColumns): string {
	return `${JSON.stringify(session).slice(0, -1)},"settings":${settings}}`;
}

const FENCE = isTakenOut("fence")
	? "true"
	: "heads.epoch = i.epoch AND heads.claim = i.claim AND heads.writes <= i.writes AND EXISTS (SELECT 1 FROM me)";

/**
 * All records of a tick, if this process may still write them. `me` keeps others from removing this node until
 * the end of the statement. A head that another process has claimed is not updated, so nothing is
 * written for it.
 */
export const WRITE = {
	name: "strata_write",
	text: `
	WITH me AS (SELECT id FROM strata.nodes WHERE id = $1 FOR KEY SHARE),
	h AS (
		UPDATE strata.heads SET writes = i.writes, version = coalesce(i.version, heads.version),
			last = greatest(heads.last, i.last), in_progress = coalesce(i.in_progress, heads.in_progress),
			ended_at = CASE WHEN i.last > 0 OR i.record IS NOT NULL THEN NULL ELSE heads.ended_at END
		FROM unnest($2::bigint[], $3::bigint[], $4::uuid[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[],
			$9::text[]) AS i (head, epoch, claim, writes, version, last, in_progress, record)
		WHERE heads.id = i.head AND ${FENCE}
		RETURNING heads.id, heads.stream, heads.base, i.record
	),
	s AS (
		INSERT INTO strata.sessions (head, record) SELECT id, record FROM h WHERE record IS NOT NULL
		ON CONFLICT (head) DO UPDATE SET record = excluded.record
	),
	c AS (
		INSERT INTO strata.commands AS commands (principal, id, type, session, fingerprint, key, key_scope, admitted_at,
			outcome, finished_at, summary, digest, node)
		SELECT principal, u.id, type, session, fingerprint, key, key_scope, admitted_at, outcome, finished_at, summary,
			digest, $1
		FROM unnest($10::text[], $11::bytea[], $12::text[], $13::bytea[], $14::text[], $15::bytea[], $16::bytea[],
			$17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::text[], $22::text[])
			AS u (principal, id, type, session, fingerprint, key, key_scope, admitted_at, head, outcome, finished_at,
				summary, digest)
		WHERE ${isTakenOut("fence") ? "true" : "EXISTS (SELECT 1 FROM me) AND (u.head IS NULL OR u.head IN (SELECT id FROM h))"}
		ON CONFLICT (principal, id) DO UPDATE SET outcome = excluded.outcome, finished_at = excluded.finished_at,
			summary = excluded.summary, digest = excluded.digest, session = coalesce(excluded.session, commands.session)
		WHERE commands.outcome IS NULL AND excluded.outcome IS NOT NULL
		RETURNING 1
	),
	e AS (
		INSERT INTO strata.events (stream, seq, at, body)
		SELECT h.stream, u.seq, u.at, u.body FROM unnest($23::bigint[], $24::bigint[], $25::bigint[], $26::text[])
			AS u (head, seq, at, body) JOIN h ON h.id = u.head WHERE u.seq > h.base
		ON CONFLICT DO NOTHING
	),
	n AS (
		INSERT INTO strata.entries (stream, conversation, n, body)
		SELECT h.stream, u.conversation, u.n, u.body FROM unnest($27::bigint[], $28::text[], $29::integer[], $30::text[])
			AS u (head, conversation, n, body) JOIN h ON h.id = u.head
		ON CONFLICT (stream, conversation, n) DO UPDATE SET body = excluded.body
	),
	r AS (
		DELETE FROM strata.entries USING unnest($31::bigint[], $32::text[], $33::integer[])
			AS u (head, conversation, count) JOIN h ON h.id = u.head
		WHERE entries.stream = h.stream AND entries.conversation = u.conversation AND entries.n >= u.count
	)
	SELECT (SELECT count(*) FROM me) AS alive, (SELECT array_agg(id) FROM h) AS held,
		(SELECT count(*) FROM c) AS commands`,
};

/** Ends the stream of a deleted session. Its name stays held, and later events go on above its numbers. */
export const END_STREAM = `
	WITH old AS (SELECT id, stream FROM strata.heads WHERE id = $1 AND (last < $2 OR last = 0) AND claim = $3 FOR UPDATE),
	gone AS (INSERT INTO strata.gone_streams SELECT stream FROM old ON CONFLICT DO NOTHING)
	UPDATE strata.heads SET stream = nextval('strata.streams'), base = $2, last = $2, version = 0, in_progress = false,
		ended_at = $4 FROM old WHERE heads.id = old.id`;
