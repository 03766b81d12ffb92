import { join } from "node:path";
import { describeError } from "../../core/errno.ts";
import { openForReading } from "../../core/sqlite.ts";
import { type Durability, GroupCommit } from "./group-commit.ts";
import {
	type AdmittedCommand,
	type Claim,
	type ClaimOptions,
	type CommandHistoryEntry,
	type CommandHistoryQuery,
	type CommandName,
	DEFAULT_JOURNAL_LIMITS,
	type FinishedCommand,
	interrupted,
	type Journal,
	type JournalLimits,
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
import { createWriterThread, JournalFileProxy, type WriterThread } from "./journal-file-proxy.ts";
import { JournalReader } from "./journal-reader.ts";
import type { EvictionMark, JournalRecord, Reply } from "./messages.ts";
import { DAMAGED, refusalOf } from "./refusal.ts";
import { columnsOf, outcomeRecord, SeenIds, Uncommitted } from "./uncommitted.ts";

export interface JournalOptions {
	/** The folder of `journal.db`; created if missing. */
	readonly dataDir: string;
	readonly limits?: Partial<JournalLimits>;
	readonly now?: () => number;
	readonly warn?: (line: string) => void;
	/** For tests. */
	readonly thread?: WriterThread;
}

/** If the file is unusable, changes are refused. Rejects if only reading fails: known ids would run again. */
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

/** A worker thread writes in group commits; this thread reads. */
export class SqliteJournal implements Journal {
	readonly #path: string;
	readonly #limits: JournalLimits;
	readonly #now: () => number;
	readonly #uncommitted = new Uncommitted();
	readonly #seen = new SeenIds();
	readonly #commit: GroupCommit;
	readonly #evictedBefore = new Map<string, number>();
	recovered: Recovered = { sessions: [], interrupted: [], cutOff: [], crashed: false };
	#reader: JournalReader | undefined;
	#openedAtMs = 0;
	#sweepTimer: NodeJS.Timeout | undefined;
	#firstSweepTimer: NodeJS.Timeout | undefined;

	constructor(options: JournalOptions) {
		const { dataDir, limits, now = Date.now, thread = createWriterThread(), warn } = options;
		this.#path = join(dataDir, "journal.db");
		this.#limits = { ...DEFAULT_JOURNAL_LIMITS, ...limits };
		this.#now = now;
		const file = new JournalFileProxy({
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
			onEvicted: (marks) => this.#noteEvicted(marks),
			onRefusal: ({ why }) => warn?.(`changes are refused: ${why}`),
		});
	}

	async open(): Promise<void> {
		this.#openedAtMs = this.#now();
		await this.#commit.open();
		this.#firstSweepTimer = setTimeout(() => this.sweep(), FIRST_SWEEP_MS).unref();
		this.#sweepTimer = setInterval(() => this.sweep(), this.#limits.sweepMs).unref();
	}

	health(): { ok: true } | { ok: false; why: string } {
		const refusal = this.#commit.refusal;
		return refusal ? { ok: false, why: refusal.why } : { ok: true };
	}

	admit(command: AdmittedCommand): Promise<void> {
		this.#seen.add(command.principal, command.id);
		this.#uncommitted.admit(command);
		return this.#write({ kind: "admit", command }, "intent", 0, {
			settle: (error) => {
				if (error) this.#uncommitted.dismiss(command);
			},
		});
	}

	finish(outcome: FinishedCommand): Promise<void> {
		return this.#finish(outcome, true);
	}

	note(outcome: FinishedCommand): void {
		this.#finish(outcome, false).catch(() => {});
	}

	saveSession(record: SessionRecord): Promise<void> {
		const session = columnsOf(record);
		return this.#write({ kind: "session", session }, "fact", session.settings.length);
	}

	own = (owner: Ownership): Promise<void> => this.#changeOwner(owner, true);
	disown = (owner: Ownership): Promise<void> => this.#changeOwner(owner, false);

	owners(conversations: readonly string[]): ReadonlyMap<string, string> {
		const onDisk = this.#readOwners((reader) => reader.owners(conversations));
		const owners = new Map<string, string>();
		for (const conversation of conversations) {
			const owner = this.#uncommitted.owner(conversation, onDisk.get(conversation));
			if (owner !== undefined) owners.set(conversation, owner);
		}
		return owners;
	}

	hasOtherOwner(principal: string): boolean {
		const isOnDisk = this.#readOwners((reader) => reader.hasOtherOwner(principal));
		return isOnDisk || this.#uncommitted.hasOtherOwner(principal);
	}

	/** An unreadable journal may hold an owner, so an empty answer would be wrong. */
	#readOwners<Answer>(read: (reader: JournalReader) => Answer): Answer {
		const answer = this.#read(read);
		if (answer === undefined) throw new JournalUnavailable("journal_unavailable", UNREADABLE);
		return answer;
	}

	append(event: StreamEvent): Promise<void> {
		this.#uncommitted.append(event);
		return this.#write({ kind: "event", event }, "event", event.body.length, {
			release: () => this.#uncommitted.dropEvent(event),
		});
	}

	find(names: readonly CommandName[]): (StoredCommand | undefined)[] {
		return names.map((name) =>
			"id" in name ? this.byId(name.principal, name.id) : this.byKey(name, name.key),
		);
	}

	byId(principal: string, id: string): StoredCommand | undefined {
		const uncommitted = this.#uncommitted.command(principal, id);
		if (uncommitted) return uncommitted;
		if (!this.#seen.mayHave(principal, id)) return undefined;
		const found = this.#read((reader) => reader.byId(principal, id));
		// A command without outcome that is not in flight was interrupted, even if that could not be stored.
		return found && !found.response ? interrupted(found, this.#openedAtMs) : found;
	}

	evictedBefore(principal: string): number {
		return this.#evictedBefore.get(principal) ?? 0;
	}

	byKey(scope: KeyScope, key: string): StoredCommand | undefined {
		const since = this.#now() - KEY_LIFE_MS;
		const uncommitted = this.#uncommitted.byKey(scope, key);
		const found = uncommitted ?? this.#keyOnDisk(scope, key, since);
		// The disk may have only the admission of a command whose outcome is in memory.
		const known = found && this.byId(found.principal, found.id);
		return known?.finishedAtMs !== undefined && known.finishedAtMs > since ? known : undefined;
	}

	events(stream: StreamName, after: number, limit: number): StreamEvent[] {
		const events = this.#onDisk(stream, (reader) => reader.events(stream, after, limit)) ?? [];
		const uncommitted = this.#uncommitted.events(stream);
		if (uncommitted.length === 0 || events.length >= limit) return events;
		const last = events.at(-1)?.seq ?? after;
		// A page of large events may end early, so the next event may be on disk.
		const lastOnDisk = this.#onDisk(stream, (reader) => reader.extent(stream))?.last ?? 0;
		if (last < lastOnDisk) return events;
		for (const event of uncommitted) {
			if (event.seq > last && events.length < limit) events.push(event);
		}
		return events;
	}

	extent(stream: StreamName): { first: number; last: number } {
		const onDisk = this.#onDisk(stream, (reader) => reader.extent(stream));
		const removalEnd = this.#uncommitted.removalEnd(stream) ?? 0;
		const { first, last } = onDisk ?? { first: removalEnd && removalEnd + 1, last: removalEnd };
		const uncommitted = this.#uncommitted.events(stream);
		const oldest = uncommitted[0]?.seq;
		const newest = uncommitted.at(-1)?.seq;
		if (oldest === undefined || newest === undefined) return { first, last };
		const isKept = first > 0 && first <= last;
		return { first: isKept ? first : oldest, last: Math.max(last, newest) };
	}

	lastSeq(stream: StreamName): number {
		return this.extent(stream).last;
	}

	/** This process holds all sessions of its file, so there is nothing to take. */
	claim(_name: StreamName, { create }: ClaimOptions = {}): Claim {
		return create ? { kind: "held", version: 0 } : { kind: "none" };
	}

	async release(): Promise<void> {}

	onLost(): void {}

	commandHistory(query: CommandHistoryQuery): CommandHistoryEntry[] {
		const stored = this.#read((reader) => reader.commandHistory(query)) ?? [];
		return this.#uncommitted.mergeCommandHistory(stored, query);
	}

	stats(): JournalStats {
		return this.#commit.stats();
	}

	/** Evicts old records in the background; a timer calls it too. */
	sweep(): void {
		this.#commit.sweep();
	}

	flush(): Promise<void> {
		return this.#commit.flush();
	}

	async close(): Promise<void> {
		clearTimeout(this.#firstSweepTimer);
		clearInterval(this.#sweepTimer);
		this.#seen.close();
		await this.#commit.flush();
		// The reader closes first: the last connection to close must checkpoint the log, and a reader cannot.
		this.#reader?.close();
		this.#reader = undefined;
		await this.#commit.close();
	}

	#finish(outcome: FinishedCommand, changing: boolean): Promise<void> {
		const { stored, record, bytes, ended } = outcomeRecord(
			outcome,
			changing,
			this.#limits.outcomeBytes,
			(stream) => this.extent(stream).last,
		);
		this.#seen.add(stored.principal, stored.id);
		if (!changing || !this.#isFinished(stored)) this.#uncommitted.finish(stored);
		if (ended) this.#uncommitted.beginRemoval(ended.stream, ended.last);
		return this.#write(record, changing ? "fact" : "note", bytes, {
			release: () => {
				this.#uncommitted.drop(stored);
				if (!ended) return;
				this.#uncommitted.finishRemoval(ended.stream);
				this.#commit.sweep();
			},
			settle(refused) {
				if (refused) stored.unsaved = true;
			},
		});
	}

	#changeOwner({ principal, conversation }: Ownership, owns: boolean): Promise<void> {
		const change = { principal, conversation, owns };
		this.#uncommitted.changeOwner(change);
		return this.#write({ kind: "owner", ...change }, "fact", 0, {
			release: () => this.#uncommitted.dropOwner(change),
		});
	}

	/** Whether the disk already has an outcome, which then stays. */
	#isFinished({ principal, id }: AdmittedCommand): boolean {
		const isPending = this.#uncommitted.command(principal, id) !== undefined;
		return !isPending && this.byId(principal, id)?.response !== undefined;
	}

	#write(
		record: JournalRecord,
		durability: Durability,
		bytes: number,
		{ release = () => {}, settle }: { release?(): void; settle?(error?: Error): void } = {},
	): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#commit.add({
				record,
				bytes: RECORD_BYTES + bytes,
				durability,
				release,
				settle(error) {
					settle?.(error);
					if (error) reject(error);
					else resolve();
				},
			});
		});
	}

	async #onOpened({ recovered, evicted }: Reply<"opened">): Promise<void> {
		this.recovered = recovered;
		this.#noteEvicted(evicted);
		const opened = await openForReading(this.#path);
		// Without a reader, no stored command would be found.
		if (opened.kind !== "open") throw this.#unreadable(opened.message);
		const { database } = opened;
		try {
			this.#reader = new JournalReader(database);
		} catch (error) {
			database.close();
			throw this.#unreadable(describeError(error));
		}
		const reader = this.#reader;
		// Loading reads every command row, so it finds damage.
		this.#seen
			.load((after, limit) => reader.ids(after, limit))
			.catch((error: unknown) => this.#commit.refuse(refusalOf(error) ?? DAMAGED));
	}

	#unreadable(why: string): Error {
		return new Error(`cannot read the journal ${this.#path}: ${why}`);
	}

	#noteEvicted(marks: readonly EvictionMark[]): void {
		for (const { principal, before } of marks) {
			this.#evictedBefore.set(principal, Math.max(this.evictedBefore(principal), before));
		}
	}

	#keyOnDisk(scope: KeyScope, key: string, since: number): StoredCommand | undefined {
		const { principal, sessionId } = scope;
		const query = (reader: JournalReader) => reader.byKey(scope, key, since);
		return sessionId === undefined
			? this.#read(query)
			: this.#onDisk({ principal, sessionId }, query);
	}

	#onDisk<T>(stream: StreamName, query: (reader: JournalReader) => T): T | undefined {
		return this.#uncommitted.removalEnd(stream) === undefined ? this.#read(query) : undefined;
	}

	/** After an error, changes are refused, because the unreadable file may contain any id. */
	#read<T>(query: (reader: JournalReader) => T): T | undefined {
		if (!this.#reader) return undefined;
		try {
			return query(this.#reader);
		} catch (error) {
			this.#commit.refuse(refusalOf(error) ?? DAMAGED);
			return undefined;
		}
	}
}

/** The first sweep is early, because the log may contain everything until the sweep's checkpoint. */
const FIRST_SWEEP_MS = 1_000;

const RECORD_BYTES = 512;

const UNREADABLE = "the server cannot read its journal, which records the owners of session files";
