import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { describeError } from "../../core/errno.ts";
import { openForReading } from "../../core/sqlite.ts";
import { FileKeeper, type Reply } from "./file-keeper.ts";
import { type Entry, GroupCommit } from "./group-commit.ts";
import { withUnwritten } from "./history.ts";
import {
	type AdmittedCommand,
	type FinishedCommand,
	type HistoryEntry,
	type HistoryQuery,
	type Journal,
	type JournalStats,
	JournalUnavailable,
	KEY_LIFE_MS,
	type KeyScope,
	type Ownership,
	type Recovered,
	type SessionRecord,
	type StoredCommand,
	type StreamEvent,
	type StreamName,
} from "./journal.ts";
import { defaultJournalLimits, type JournalLimits } from "./limits.ts";
import type { JournalRecord, SessionColumns } from "./messages.ts";
import { interrupted, keptOutcome } from "./outcome.ts";
import { Reader } from "./reader.ts";
import { DAMAGED, refusalOf } from "./refusal.ts";
import { SeenIds } from "./seen-ids.ts";
import { Unwritten } from "./unwritten.ts";
import { WriterThread } from "./writer-thread.ts";

export interface JournalOptions {
	/** The folder for `journal.db`; made if it is missing. */
	dataDir: string;
	limits?: Partial<JournalLimits>;
	now?: () => number;
	/** Takes one line for people whenever the journal begins to refuse changes. */
	warn?: (line: string) => void;
	/** The thread that writes; a new one unless a test brings its own. */
	thread?: WriterThread;
}

/**
 * Opens the journal of a data folder. With a file that cannot be used it resolves to a journal whose `health` says why and
 * that keeps nothing; it rejects where the file can be written but not read: known ids would be taken for new ones. Only
 * one process may have a folder open; the caller holds the lock.
 */
export async function openJournal(options: JournalOptions): Promise<SqliteJournal> {
	const journal = new SqliteJournal(options);
	try {
		await journal.open();
		return journal;
	} catch (error) {
		await journal.close();
		throw error;
	}
}

/** The journal in a SQLite database: written by a thread in group commits, read here. */
export class SqliteJournal implements Journal {
	readonly #path: string;
	readonly #limits: JournalLimits;
	readonly #now: () => number;
	readonly #unwritten = new Unwritten();
	readonly #seen = new SeenIds();
	readonly #commit: GroupCommit;
	readonly #forgotten = new Map<string, number>();
	#recovered: Recovered = { sessions: [], interrupted: [], cutOff: [], crashed: false };
	#reader: Reader | undefined;
	#openedAtMs = 0;
	#sweepTimer: NodeJS.Timeout | undefined;
	#firstSweepTimer: NodeJS.Timeout | undefined;

	constructor(options: JournalOptions) {
		const { dataDir, limits, now = Date.now, thread = new WriterThread(), warn } = options;
		this.#path = join(dataDir, "journal.db");
		this.#limits = { ...defaultJournalLimits, ...limits };
		this.#now = now;
		const file = new FileKeeper({
			thread,
			path: this.#path,
			now,
			maxFileBytes: this.#limits.maxFileBytes,
			onOpened: (opened) => this.#onOpened(opened),
		});
		this.#commit = new GroupCommit({
			file,
			now,
			limits: this.#limits,
			onForgotten: (marks) => {
				for (const { principal, before } of marks) this.#noteForgotten(principal, before);
			},
			onRefusal: ({ why }) => warn?.(`changes are refused: ${why}`),
		});
	}

	async open(): Promise<void> {
		this.#openedAtMs = this.#now();
		await this.#commit.open();
		this.#firstSweepTimer = setTimeout(() => this.sweep(), FIRST_SWEEP_MS).unref();
		this.#sweepTimer = setInterval(() => this.sweep(), this.#limits.sweepMs).unref();
	}

	get recovered(): Recovered {
		return this.#recovered;
	}

	health(): { ok: true } | { ok: false; why: string } {
		const refusal = this.#commit.refusal;
		return refusal ? { ok: false, why: refusal.why } : { ok: true };
	}

	admit(command: AdmittedCommand): Promise<void> {
		return new Promise((resolve, reject) => {
			const identity = identityOf(command);
			this.#seen.add(identity.principal, identity.id);
			this.#unwritten.admit(identity);
			this.#add({ kind: "admit", command: identity }, RECORD_BYTES, {
				weight: "intent",
				release() {},
				settle: (error) => {
					if (!error) return resolve();
					this.#unwritten.dismiss(identity);
					reject(error);
				},
			});
		});
	}

	finish(outcome: FinishedCommand): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#finish(outcome, true, (error) => (error ? reject(error) : resolve()));
		});
	}

	note(outcome: FinishedCommand): void {
		this.#finish(outcome, false, () => {});
	}

	saveSession(session: SessionRecord): Promise<void> {
		return new Promise((resolve, reject) => {
			const columns = columnsOf(session);
			this.#add({ kind: "session", session: columns }, RECORD_BYTES + columns.settings.length, {
				weight: "fact",
				release() {},
				settle: (error) => (error ? reject(error) : resolve()),
			});
		});
	}

	own(owner: Ownership): Promise<void> {
		return this.#changeOwner(owner, true);
	}

	disown(owner: Ownership): Promise<void> {
		return this.#changeOwner(owner, false);
	}

	owners(conversations: readonly string[]): ReadonlyMap<string, string> {
		const onDisk = this.#read((reader) => reader.owners(conversations));
		// What is not known to be nobody's may be somebody's.
		if (!onDisk) throw new JournalUnavailable("journal_unavailable", UNREADABLE);
		const owners = new Map<string, string>();
		for (const conversation of conversations) {
			const owner = this.#unwritten.owner(conversation, onDisk.get(conversation));
			if (owner !== undefined) owners.set(conversation, owner);
		}
		return owners;
	}

	append(event: StreamEvent): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#unwritten.append(event);
			this.#add({ kind: "event", event }, RECORD_BYTES + event.body.length, {
				weight: "event",
				release: () => this.#unwritten.forgetEvent(event),
				settle: (error) => (error ? reject(error) : resolve()),
			});
		});
	}

	byId(principal: string, id: string): StoredCommand | undefined {
		const unwritten = this.#unwritten.command(principal, id);
		if (unwritten) return unwritten;
		if (!this.#seen.mayHave(principal, id)) return undefined;
		return this.#finished(this.#read((reader) => reader.byId(principal, id)));
	}

	forgottenBefore(principal: string): number {
		return this.#forgotten.get(principal) ?? 0;
	}

	byKey(scope: KeyScope, key: string): StoredCommand | undefined {
		const since = this.#now() - KEY_LIFE_MS;
		const unwritten = this.#unwritten.byKey(scope, key);
		const found = unwritten ?? this.#keyOnDisk(scope, key, since);
		// The disk may have the admission of a command of which the memory knows the rest.
		const known = found && this.byId(found.principal, found.id);
		return known?.finishedAtMs !== undefined && known.finishedAtMs > since ? known : undefined;
	}

	events(stream: StreamName, after: number, limit: number): StreamEvent[] {
		const events = this.#onDisk(stream, (reader) => reader.events(stream, after, limit)) ?? [];
		const unwritten = this.#unwritten.events(stream);
		if (unwritten.length === 0 || events.length >= limit) return events;
		const last = events.at(-1)?.seq ?? after;
		// A page may end early because it is large: the next event need not be an unwritten one.
		if (last < this.#lastOnDisk(stream)) return events;
		for (const event of unwritten) {
			if (event.seq > last && events.length < limit) events.push(event);
		}
		return events;
	}

	extent(stream: StreamName): { first: number; last: number } {
		const onDisk = this.#onDisk(stream, (reader) => reader.extent(stream));
		const { first, last } = onDisk ?? emptyExtent(this.#unwritten.ending(stream) ?? 0);
		const unwritten = this.#unwritten.events(stream);
		const oldest = unwritten[0]?.seq;
		const newest = unwritten.at(-1)?.seq;
		if (oldest === undefined || newest === undefined) return { first, last };
		const isKept = first > 0 && first <= last;
		return { first: isKept ? first : oldest, last: Math.max(last, newest) };
	}

	history(query: HistoryQuery): HistoryEntry[] {
		const stored = this.#read((reader) => reader.history(query)) ?? [];
		return withUnwritten(stored, this.#unwritten.commandsOf(query.principal), query);
	}

	stats(): JournalStats {
		const { fileBytes, commands, events, sessions } = this.#commit.size;
		return { bytes: fileBytes, commands, events, sessions, ...this.#commit.counters };
	}

	/**
	 * Forgets what is too old or too much and writes the log into the database's file, in the background; it also happens by
	 * itself.
	 */
	sweep(): void {
		this.#commit.sweep();
	}

	/** Resolves when nothing waits to be written or forgotten, except what the disk refuses. */
	settled(): Promise<void> {
		return this.#commit.settled();
	}

	async close(): Promise<void> {
		clearTimeout(this.#firstSweepTimer);
		clearInterval(this.#sweepTimer);
		this.#seen.close();
		await this.#commit.settled();
		// Before the thread's: the last to close folds the log into the database, which a reader cannot.
		this.#reader?.close();
		this.#reader = undefined;
		await this.#commit.close();
	}

	#finish(outcome: FinishedCommand, changing: boolean, settle: (error?: Error) => void): void {
		const { response, json } = keptOutcome(outcome, changing, this.#limits.outcomeBytes);
		const command = identityOf(outcome);
		this.#seen.add(command.principal, command.id);
		const { finishedAtMs, version, session, removed, digest } = outcome;
		const stored: StoredCommand = {
			...command,
			response,
			finishedAtMs,
			...(digest === undefined ? {} : { digest }),
		};
		if (!changing || !this.#isFinished(command)) this.#unwritten.finish(stored);
		const stream = removed === undefined ? undefined : streamOf(outcome.principal, removed);
		const last = stream ? this.#endOf(stream) : 0;
		if (stream) this.#unwritten.endStream(stream, last);
		const record: JournalRecord = {
			kind: "outcome",
			command,
			changing,
			finishedAtMs,
			outcome: json,
			digest,
			success: response.success,
			error: response.error,
			code: response.code,
			sessionVersion: response.sessionVersion,
			version,
			session: session && columnsOf(session),
			removed: stream && { sessionId: stream.sessionId, last },
		};
		this.#add(record, RECORD_BYTES + json.length + (record.session?.settings.length ?? 0), {
			weight: changing ? "fact" : "note",
			release: () => {
				this.#unwritten.forget(stored);
				if (!stream) return;
				this.#unwritten.streamEnded(stream);
				this.#commit.sweep();
			},
			settle(error) {
				if (error) stored.owed = true;
				settle(error);
			},
		});
	}

	#changeOwner({ principal, conversation }: Ownership, owns: boolean): Promise<void> {
		return new Promise((resolve, reject) => {
			const change = { principal, conversation, owns };
			this.#unwritten.changeOwner(change);
			this.#add({ kind: "owner", ...change }, RECORD_BYTES, {
				weight: "fact",
				release: () => this.#unwritten.forgetOwner(change),
				settle: (error) => (error ? reject(error) : resolve()),
			});
		});
	}

	/** Whether the disk has an outcome, which stays: this one comes late. */
	#isFinished({ principal, id }: AdmittedCommand): boolean {
		if (this.#unwritten.command(principal, id)) return false;
		return this.byId(principal, id)?.response !== undefined;
	}

	#add(record: JournalRecord, bytes: number, entry: Omit<Entry, "record" | "bytes">): void {
		this.#commit.add({ record, bytes, ...entry });
	}

	async #onOpened({ recovered, forgotten }: Reply<"opened">): Promise<void> {
		this.#recovered = recovered;
		for (const { principal, before } of forgotten) this.#noteForgotten(principal, before);
		const opened = await openForReading(this.#path);
		// Without its reader no id in it would be known.
		if (opened.kind !== "open") throw this.#unreadable(opened.message);
		const reader = this.#readerOf(opened.database);
		this.#reader = reader;
		// This reads every row of the commands, and so finds out where one cannot be read.
		this.#seen
			.takeIn((after, limit) => reader.ids(after, limit))
			.catch((error: unknown) => this.#commit.refuse(refusalOf(error) ?? DAMAGED));
	}

	#readerOf(database: DatabaseSync): Reader {
		try {
			return new Reader(database);
		} catch (error) {
			database.close();
			throw this.#unreadable(describeError(error));
		}
	}

	#unreadable(why: string): Error {
		return new Error(`cannot read the journal ${this.#path}: ${why}`);
	}

	#noteForgotten(principal: string, before: number): void {
		this.#forgotten.set(principal, Math.max(this.forgottenBefore(principal), before));
	}

	/** A command without an outcome that is not under way here was interrupted, also where that could not be stored. */
	#finished(command: StoredCommand | undefined): StoredCommand | undefined {
		if (!command || command.response) return command;
		return interrupted(command, this.#openedAtMs);
	}

	#keyOnDisk(scope: KeyScope, key: string, since: number): StoredCommand | undefined {
		const { principal, sessionId } = scope;
		const ask = (reader: Reader) => reader.byKey(scope, key, since);
		return sessionId === undefined
			? this.#read(ask)
			: this.#onDisk(streamOf(principal, sessionId), ask);
	}

	#onDisk<T>(stream: StreamName, ask: (reader: Reader) => T): T | undefined {
		return this.#unwritten.ending(stream) === undefined ? this.#read(ask) : undefined;
	}

	/** One number is nobody's, so that who has the last event finds a gap before those of the next session of this id. */
	#endOf(stream: StreamName): number {
		const { last } = this.extent(stream);
		return last === 0 ? 0 : last + 1;
	}

	#lastOnDisk(stream: StreamName): number {
		return this.#onDisk(stream, (reader) => reader.extent(stream))?.last ?? 0;
	}

	/**
	 * Asks the file. One that cannot be read any more could have any id in it, so from then on nothing that changes
	 * something may run.
	 */
	#read<T>(ask: (reader: Reader) => T): T | undefined {
		if (!this.#reader) return undefined;
		try {
			return ask(this.#reader);
		} catch (error) {
			this.#commit.refuse(refusalOf(error) ?? DAMAGED);
			return undefined;
		}
	}
}

/** The log of the first moments, which may have all there is, is folded into the file after this time. */
const FIRST_SWEEP_MS = 1_000;

/** About what a record takes besides its texts. */
const RECORD_BYTES = 512;

const UNREADABLE = "the server cannot read its journal, which knows whose session files are";

/** Only what the contract names: callers may pass more. */
function identityOf(command: AdmittedCommand): AdmittedCommand {
	const { principal, id, type, sessionId, fingerprint, atMs } = command;
	const { idempotencyKey, keySessionId } = command;
	return {
		principal,
		id,
		type,
		fingerprint,
		atMs,
		...(sessionId === undefined ? {} : { sessionId }),
		...(idempotencyKey === undefined ? {} : { idempotencyKey }),
		...(keySessionId === undefined ? {} : { keySessionId }),
	};
}

function columnsOf(session: SessionRecord): SessionColumns {
	const { principal, id, cwd, file, createdAtMs, settings } = session;
	return { principal, id, cwd, file, createdAtMs, settings: JSON.stringify(settings) };
}

/** Of a stream that has no events any more. */
function emptyExtent(last: number): { first: number; last: number } {
	return { first: last === 0 ? 0 : last + 1, last };
}

function streamOf(principal: string, sessionId: string): StreamName {
	return { principal, sessionId };
}
