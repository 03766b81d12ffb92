import { setTimeout as sleep } from "node:timers/promises";
import type { ClientBase } from "pg";
import { isTakenOut } from "../../safeguards.ts";
import { AlreadyKnown, SessionLost, type StoredCommand } from "../journal.ts";
import type { JournalRecord, JournalSize, Reply, WriterJob } from "../messages.ts";
import type { Refusal } from "../refusal.ts";
import { toBytes } from "./columns.ts";
import { COMMAND_COLUMNS, type CommandRow, storedCommand } from "./command-rows.ts";
import type { Connection } from "./connection.ts";
import { databaseRefusal, isAboutARecord } from "./database-refusal.ts";
import { sweepStep } from "./database-retention.ts";
import type { Held } from "./held.ts";
import { END_STREAM, type FencedRecord, Segment, WRITE } from "./segment.ts";

interface WriterOptions {
	readonly connection: Connection;
	/** The id of this process among the servers; it changes if it was given up for dead. */
	nodeId(): string;
	/** The right to write a record, or `undefined` if it concerns no held session. */
	rightOf(record: JournalRecord): Held | undefined;
	/** Takes the name of a session that a record brings into being. */
	reserve(record: JournalRecord): Promise<Held | undefined>;
	/** Sessions that another process has now. */
	onLost(lost: readonly Held[]): void;
	/** This process was given up for dead under this id. */
	onBuried(nodeId: string): Promise<void>;
	/** How long an outage may last before records are refused. */
	readonly patienceMs: number;
	opened(): Promise<void>;
}

/** Writes batches in order. What may or may not have been committed is sent again. */
export class DatabaseWriter {
	readonly #options: WriterOptions;
	#size: JournalSize = { fileBytes: 0, usedBytes: 0, commands: 0, events: 0, sessions: 0 };

	constructor(options: WriterOptions) {
		this.#options = options;
	}

	async open(): Promise<Refusal | undefined> {
		await this.#options.opened();
		return undefined;
	}

	async write({
		records,
	}: WriterJob & { kind: "write" }): Promise<Reply<"written" | "bad-record" | "refused">> {
		const begin = performance.now();
		const batch = new BatchInHand(records);
		let stuckSince: number | undefined;
		while (batch.at < records.length || records.length === 0) {
			try {
				if (records.length === 0) {
					await this.#options.connection.query({ text: "SELECT 1" });
					break;
				}
				await this.#writeNext(batch);
				stuckSince = undefined;
			} catch (error) {
				if (isAboutARecord(error)) {
					if (batch.size === 1) return { kind: "bad-record", index: batch.at, why: textOf(error) };
					batch.split();
					continue;
				}
				const refusal = databaseRefusal(error);
				stuckSince ??= performance.now();
				const isOver = performance.now() - stuckSince > this.#options.patienceMs;
				if (refusal.permanent || isOver || records.length === 0)
					return { kind: "refused", refusal };
				await sleep(RETRY_MS);
			}
		}
		return {
			kind: "written",
			size: this.#size,
			ms: performance.now() - begin,
			...(batch.refused.size > 0 && { refused: batch.refused }),
		};
	}

	async sweep(job: WriterJob & { kind: "sweep" }): Promise<Reply<"swept" | "refused">> {
		try {
			const swept = await this.#options.connection.run((client) => sweepStep(client, job));
			this.#size = swept.size ?? this.#size;
			return { kind: "swept", size: this.#size, evicted: swept.evicted, more: swept.more };
		} catch (error) {
			return { kind: "refused", refusal: databaseRefusal(error) };
		}
	}

	async close(): Promise<void> {}

	/** Writes the next statement's worth of records. Throws if it may have to be sent again. */
	async #writeNext(batch: BatchInHand): Promise<void> {
		const { connection } = this.#options;
		// After a burial, the fence would let a statement pass that was made before: its claim may still be there.
		if (batch.isOfLost) batch.choose();
		if (!batch.segment) await this.#begin(batch);
		const { segment, special, count } = batch;
		if (special) {
			const isWritten = await connection.run((client) => this.#writeSpecial(client, special));
			if (!isWritten) batch.refused.set(batch.at + count - 1, new SessionLost());
		} else if (segment && segment.indexes.length > 0) {
			await this.#writeSegment(segment, batch);
		}
		batch.next(count);
	}

	/** Collects records for one statement. The choice stays the same if the statement is sent again. */
	async #begin(batch: BatchInHand): Promise<void> {
		const segment = new Segment();
		let count = 0;
		let special: FencedRecord | undefined;
		for (; count < batch.size && batch.at + count < batch.records.length; count++) {
			const index = batch.at + count;
			const record = batch.records[index] as JournalRecord;
			let right = this.#options.rightOf(record);
			const isNew = right === undefined && needsHead(record);
			if (isNew) right = await this.#options.reserve(record);
			if (right?.isLost || (isNew && !right)) {
				batch.refused.set(index, new SessionLost());
				continue;
			}
			const fenced = { record, held: right };
			if (segment.add(fenced, index)) continue;
			if (segment.indexes.length > 0) break;
			special = fenced;
			count++;
			break;
		}
		segment.number();
		batch.begin(segment, special, count);
	}

	async #writeSegment(segment: Segment, batch: BatchInHand): Promise<void> {
		const { connection, nodeId, onBuried, onLost } = this.#options;
		const node = nodeId();
		const values = segment.values();
		const characters = values.reduce((sum, { length }) => sum + length, 0);
		const { rows } = await connection.query(
			{ ...WRITE, values: [node, ...values] },
			characters / CHARACTERS_PER_MS,
		);
		const [{ alive, held, commands }] = rows as [
			{ alive: string; held: string[] | null; commands: string },
		];
		if (Number(alive) === 0 && !isTakenOut("fence")) {
			await onBuried(node);
			for (const index of segment.indexes) batch.refused.set(index, new SessionLost());
			return;
		}
		const kept = new Set(held ?? []);
		const lost = segment.heads.filter(({ head }) => !kept.has(head));
		if (lost.length > 0) {
			const isOf = new Set(lost);
			for (const index of segment.indexes) {
				const right = this.#options.rightOf(batch.records[index] as JournalRecord);
				if (right && isOf.has(right)) batch.refused.set(index, new SessionLost());
			}
			onLost(lost);
		}
		if (Number(commands) === segment.commandCount) return;
		for (const [index, known] of await this.#knownElsewhere(segment, node)) {
			if (!batch.refused.has(index)) batch.refused.set(index, new AlreadyKnown(known));
		}
	}

	/** Admissions of ids that another process used first. A statement that was sent again finds its own. */
	async #knownElsewhere(segment: Segment, node: string): Promise<Map<number, StoredCommand>> {
		const admissions = segment.admissions();
		const known = new Map<number, StoredCommand>();
		if (admissions.length === 0) return known;
		const { rows } = await this.#options.connection.query({
			text: `SELECT ${COMMAND_COLUMNS} FROM unnest($1::text[], $2::bytea[]) AS u (principal, id)
				JOIN strata.commands ON commands.principal = u.principal AND commands.id = u.id
				WHERE commands.node <> $3`,
			values: [admissions.map((one) => one.principal), admissions.map(({ id }) => id), node],
		});
		for (const row of rows as CommandRow[]) {
			const same = admissions.find(
				({ principal, id }) => principal === row.principal && id.equals(row.id),
			);
			if (same) known.set(same.index, storedCommand(row));
		}
		return known;
	}

	/** Returns false if another process has the session. */
	async #writeSpecial(client: ClientBase, { record, held }: FencedRecord): Promise<boolean> {
		if (record.kind === "owner") {
			await client.query(record.owns ? OWN : DISOWN, [record.conversation, record.principal]);
			return true;
		}
		if (record.kind !== "outcome" || !record.removed) return true;
		const { principal, finishedAtMs } = record.command;
		const { sessionId, last } = record.removed;
		const session = toBytes(sessionId);
		await client.query("BEGIN");
		// The outcome first: its fence locks the head.
		const segment = new Segment();
		segment.add({ record: { ...record, removed: undefined, version: undefined }, held }, 0);
		segment.number();
		const node = this.#options.nodeId();
		const { rows } = await client.query({ ...WRITE, values: [node, ...segment.values()] });
		const isHeld = held === undefined || (rows[0]?.held ?? []).includes(held.head);
		if (held && isHeld) {
			await client.query("DELETE FROM strata.sessions WHERE head = $1", [held.head]);
			await client.query(END_STREAM, [held.head, last, held.claim, finishedAtMs]);
			await client.query(FREE_KEYS, [principal, session]);
		}
		await client.query("COMMIT");
		if (!isHeld && held) this.#options.onLost([held]);
		return isHeld;
	}
}

const RETRY_MS = 100;

/** At least: a whole conversation may be much larger than the records of a tick. */
const CHARACTERS_PER_MS = 1_000;

const OWN =
	"INSERT INTO strata.owners (conversation, principal) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const DISOWN = "DELETE FROM strata.owners WHERE conversation = $1 AND principal = $2";
/** Commands in flight keep their keys: they may be meant for the next session with that name. */
const FREE_KEYS = `UPDATE strata.commands SET key = NULL WHERE principal = $1 AND session = $2 AND key IS NOT NULL
	AND key_scope = decode('73', 'hex') || $2 AND finished_at IS NOT NULL`;

/** A batch on its way into the database, statement by statement. */
class BatchInHand {
	readonly records: readonly JournalRecord[];
	readonly refused = new Map<number, Error>();
	/** The first record that is not written. */
	at = 0;
	/** The most records in a statement: all, or one to find a record that the database refuses. */
	size = Number.POSITIVE_INFINITY;
	segment: Segment | undefined;
	special: FencedRecord | undefined;
	count = 0;

	constructor(records: readonly JournalRecord[]) {
		this.records = records;
	}

	begin(segment: Segment, special: FencedRecord | undefined, count: number): void {
		this.segment = segment;
		this.special = special;
		this.count = count;
	}

	next(count: number): void {
		this.at += count;
		this.choose();
	}

	split(): void {
		this.size = 1;
		this.choose();
	}

	/** Chooses the records of the next statement again. */
	choose(): void {
		this.segment = undefined;
		this.special = undefined;
	}

	/** Whether the statement has records of a session that was lost since they were chosen. */
	get isOfLost(): boolean {
		return (
			this.special?.held?.isLost === true ||
			this.segment?.heads.some(({ isLost }) => isLost) === true
		);
	}
}

/** Whether the record needs a row in `heads`, which it creates if no process has claimed the name. */
function needsHead(record: JournalRecord): boolean {
	if (record.kind === "event" || record.kind === "session" || record.kind === "entries")
		return true;
	return record.kind === "outcome" && record.session !== undefined;
}

function textOf(error: unknown): string {
	return error instanceof Error ? error.message : "the database refuses it";
}
