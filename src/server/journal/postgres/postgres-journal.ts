import type { ClientBase } from "pg";
import { type Durability, GroupCommit } from "../group-commit.ts";
import {
	type AdmittedCommand,
	type Claim,
	type ClaimOptions,
	type CommandHistoryQuery,
	type CommandName,
	type ConversationPart,
	type ConversationStore,
	DEFAULT_JOURNAL_LIMITS,
	type FinishedCommand,
	type Journal,
	type JournalLimits,
	type JournalStats,
	type Ownership,
	type Recovered,
	SessionLost,
	type SessionRecord,
	type StreamEvent,
	type StreamName,
	type UnheldSessions,
} from "../journal.ts";
import type { EvictionMark } from "../messages.ts";
import { columnsOf, outcomeRecord, Uncommitted } from "../uncommitted.ts";
import { Claiming, isExpired } from "./claiming.ts";
import {
	adopt,
	clusterSecret,
	countElsewhere,
	type LocatedSession,
	leave,
	lookAt,
	register,
	sessionsOf,
} from "./claims.ts";
import { Connection } from "./connection.ts";
import { addPartitions, marks } from "./database-retention.ts";
import type { DatabaseAddress } from "./database-url.ts";
import type { Held } from "./held.ts";
import { DEFAULT_LEASE, Lease, type LeaseLimits, type NodeRow } from "./lease.ts";
import { Membership } from "./membership.ts";
import { Questions } from "./questions.ts";
import { DatabaseReader } from "./reader.ts";
import { RecentEvents } from "./recent-events.ts";
import { explained, opensSession, RecentNames, type RightfulRecord, sessionOf } from "./records.ts";
import { migrate } from "./schema.ts";
import { DatabaseWriter } from "./writer.ts";

export interface PostgresJournalOptions {
	readonly address: DatabaseAddress;
	/** The data folder of this server, by a name that no other server has. */
	readonly home: string;
	/** Where clients reach this server. */
	readonly clientAddress: string;
	readonly lease?: Partial<LeaseLimits>;
	readonly limits?: Partial<JournalLimits>;
	/** Default: the database's clock. */
	readonly now?: () => number;
	readonly warn?: (line: string) => void;
	/** Longest time for a question. */
	readonly questionMs?: number;
	/** Called after each renewal with the time left. */
	onRenewed?(leftMs: number): void;
	/** JSON that the other servers read with the lease of this one. */
	about?(): string;
	/** Called with all living servers after each renewal. */
	onNodes?(nodes: readonly NodeRow[]): void;
}

const QUESTION_MS = 2_000;
const MIN_TIMEOUT_MS = 500;
const RECORD_BYTES = 512;
const FIRST_SWEEP_MS = 1_000;

/**
 * The journal of several servers. Each session has one owner at a time; every statement that writes for it compares
 * the owner's claim. Clients are notified of a record after its commit.
 */
export class PostgresJournal implements Journal {
	readonly #limits: JournalLimits;
	/** The database's time, for whatever the servers compare. */
	readonly now: () => number;
	readonly #leaseLimits: LeaseLimits;
	readonly #writing: Connection;
	readonly #asking: Connection;
	readonly #leasing: Connection;
	readonly #reader: DatabaseReader;
	readonly #commit: GroupCommit;
	readonly #uncommitted = new Uncommitted();
	readonly #membership: Membership;
	/** Changes that ended lately: a late outcome does not hide the first one until it is written. */
	readonly #ended = new RecentNames();
	readonly #recent = new RecentEvents();
	readonly #claiming: Claiming;
	readonly #questions: Questions;
	readonly #evictedBefore = new Map<string, number>();
	readonly lease: Lease;
	recovered: Recovered = { sessions: [], interrupted: [], cutOff: [], crashed: false };
	#timers: NodeJS.Timeout[] = [];

	constructor(options: PostgresJournalOptions) {
		const { address, warn, questionMs = QUESTION_MS } = options;
		const { now = () => this.lease.databaseNow } = options;
		this.#limits = { ...DEFAULT_JOURNAL_LIMITS, ...options.limits };
		this.now = now;
		this.#leaseLimits = { ...DEFAULT_LEASE, ...options.lease };
		const { leaseMs } = this.#leaseLimits;
		this.#membership = new Membership({
			home: options.home,
			address: options.clientAddress,
			register: async (node) => {
				const before = performance.now();
				await this.#asking.run((client) => register(client, node, leaseMs));
				this.lease.begin(before);
			},
			onLost: (lost) => {
				for (const held of lost) this.#recent.forget(held);
			},
		});
		const membership = this.#membership;
		const nodeId = () => membership.node.id;
		// Separate, so that a slow batch delays neither questions nor the lease.
		this.#writing = new Connection({ address, name: "journal", timeoutMs: share(leaseMs, 2) });
		this.#asking = new Connection({ address, name: "questions", timeoutMs: questionMs });
		this.#leasing = new Connection({ address, name: "lease", timeoutMs: share(leaseMs, 3) });
		this.#reader = new DatabaseReader(this.#asking, now);
		this.lease = new Lease({
			...this.#leaseLimits,
			connection: this.#leasing,
			nodeId,
			onBuried: (nodeId) => membership.comeBack(nodeId),
			onRenewed: (leftMs) => options.onRenewed?.(leftMs),
			about: () => options.about?.() ?? "{}",
			onNodes: (nodes) => options.onNodes?.(nodes),
			now,
		});
		this.#questions = new Questions({
			uncommitted: this.#uncommitted,
			reader: this.#reader,
			recent: this.#recent,
			nodeId,
			now,
		});
		this.#claiming = new Claiming({
			connection: this.#asking,
			held: membership.held,
			lease: this.lease,
			node: () => membership.node,
			now,
		});
		this.#commit = new GroupCommit({
			file: new DatabaseWriter({
				connection: this.#writing,
				nodeId,
				rightOf: (record) => this.#rightOf(record),
				reserve: async (record) => {
					const name = sessionOf(record);
					return name && this.#writing.run((client) => this.#claiming.reserve(client, name));
				},
				onLost: (lost) => membership.lose(lost),
				onBuried: (nodeId) => membership.comeBack(nodeId),
				patienceMs: leaseMs,
				opened: () => this.#writing.run((client) => this.#opened(client), START_MS),
			}),
			now,
			limits: this.#limits,
			onEvicted: (evicted) => this.#noteEvicted(evicted),
			onRefusal: ({ why }) => warn?.(`changes are refused: ${why}`),
		});
	}

	async open(): Promise<void> {
		await this.#commit.open();
		const sweep = () => this.sweep();
		this.#timers = [
			setTimeout(sweep, FIRST_SWEEP_MS).unref(),
			setInterval(sweep, this.#limits.sweepMs).unref(),
		];
	}

	async #opened(client: ClientBase): Promise<void> {
		await migrate(client);
		await addPartitions(client);
		await this.lease.readClock(client);
		const before = performance.now();
		const { node, held } = this.#membership;
		await register(client, node, this.#leaseLimits.leaseMs);
		const adopted = await adopt(client, node, this.now());
		for (const one of adopted.held) held.add(one);
		this.recovered = adopted.recovered;
		this.#noteEvicted(await marks(client));
		this.lease.begin(before);
	}

	health(): { ok: true } | { ok: false; why: string } {
		const { refusal } = this.#commit;
		if (refusal) return { ok: false, why: refusal.why };
		if (this.lease.isValid) return { ok: true };
		return { ok: false, why: "the database has not confirmed this server's lease" };
	}

	admit(command: AdmittedCommand): Promise<void> {
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

	owners = (conversations: readonly string[]) => this.#questions.owners(conversations);
	hasOtherOwner = (principal: string) => this.#questions.hasOtherOwner(principal);
	find = (names: readonly CommandName[]) => this.#questions.find(names);
	events(stream: StreamName, after: number, limit: number) {
		// Another server may have added events since.
		if (!this.#membership.held.get(stream)) this.#recent.forget(stream);
		return this.#questions.events(stream, after, limit);
	}

	extent = (stream: StreamName) => this.#questions.extent(stream);
	commandHistory = (query: CommandHistoryQuery) => this.#questions.commandHistory(query);

	append(event: StreamEvent): Promise<void> {
		this.#uncommitted.append(event);
		const held = this.#membership.held.get(event);
		if (held) held.last = Math.max(held.last, event.seq);
		return this.#write({ kind: "event", event }, "event", event.body.length, {
			release: () => this.#uncommitted.dropEvent(event),
			settle: (error) => {
				if (!error) this.#recent.add(event);
			},
		});
	}

	evictedBefore(principal: string): number {
		return this.#evictedBefore.get(principal) ?? 0;
	}

	lastSeq(stream: StreamName): number {
		const newest = this.#uncommitted.events(stream).at(-1)?.seq ?? 0;
		const removed = this.#uncommitted.removalEnd(stream) ?? 0;
		return Math.max(this.#membership.held.get(stream)?.last ?? 0, newest, removed);
	}

	claim(name: StreamName, options: ClaimOptions = {}): Promise<Claim> {
		return explained(this.#claiming.claim(name, options));
	}

	/** Where a session is, or `undefined` if there is none. */
	async locate(name: StreamName): Promise<LocatedSession | undefined> {
		const [found] = await explained(this.#asking.run((client) => lookAt(client, [name])));
		if (!found || found.record === null) return undefined;
		// Its lease is over: who asks may take the session.
		const isGone = found.address === null || (isExpired(found) && this.lease.mayBury);
		const owner = isGone ? undefined : (found.owner ?? undefined);
		const leftMs = owner === undefined ? null : found.left_ms;
		const record = JSON.parse(found.record) as SessionRecord;
		return { record, owner, ...(leftMs !== null && { leftMs }) };
	}

	/** The principal's sessions on all servers. */
	async sessionsOf(principal: string): Promise<LocatedSession[]> {
		return explained(this.#asking.run((client) => sessionsOf(client, principal)));
	}

	/** How many sessions of the principal the other servers have. */
	async countElsewhere(principal: string): Promise<number> {
		return explained(this.#asking.run((client) => countElsewhere(client, principal, this.nodeId)));
	}

	/** The secret of the servers' links: that of the first server. */
	clusterSecret(proposed: string): Promise<string> {
		return explained(this.#asking.run((client) => clusterSecret(client, proposed)));
	}

	/** This server's id among the others. It changes if they gave it up. */
	get nodeId(): string {
		return this.#membership.node.id;
	}

	async release(names: readonly StreamName[]): Promise<void> {
		await explained(this.#claiming.release(names, () => this.#commit.written()));
		for (const name of names) this.#recent.forget(name);
	}

	readonly unheld: UnheldSessions = {
		of: (principal) => explained(this.#reader.unheldOf(principal)),
		foldersBelow: (folder) => explained(this.#reader.unheldFoldersBelow(folder)),
	};

	onLost(listener: (names: readonly StreamName[]) => void): void {
		this.#membership.onLost(listener);
	}

	readonly conversations: ConversationStore = {
		keep: (part: ConversationPart) => {
			const bytes = part.bodies.reduce((sum, body) => sum + body.length, 0);
			return this.#write({ kind: "entries", ...part }, "fact", bytes);
		},
		entries: (name, conversation) => explained(this.#reader.entries(name, conversation)),
	};

	stats(): JournalStats {
		return this.#commit.stats();
	}

	counters() {
		return { ...this.#membership.counters, claims: this.#claiming.taken };
	}

	/** Evicts old records in the background; a timer calls it too. */
	sweep(): void {
		this.#commit.sweep();
		this.#claiming.giveUpUnknown().catch(() => {}); // the next sweep tries again
	}

	async close(): Promise<void> {
		if (this.#membership.isOver) return;
		this.#membership.isOver = true;
		await this.#commit.flush();
		await this.lease.close();
		await this.#commit.close();
		// If the database is unreachable, the lease expires.
		await this.#leasing
			.run((client) => leave(client, this.#membership.node, this.now()), QUESTION_MS)
			.catch(() => {});
		await this.end();
	}

	/** Does not notify the other servers, as when the process dies. */
	async end(): Promise<void> {
		this.#membership.isOver = true;
		for (const timer of this.#timers) clearTimeout(timer);
		await this.lease.close();
		await Promise.all([this.#writing, this.#asking, this.#leasing].map((one) => one.close()));
	}

	#finish(outcome: FinishedCommand, changing: boolean): Promise<void> {
		const { stored, record, bytes, ended } = outcomeRecord(
			outcome,
			changing,
			this.#limits.outcomeBytes,
			(stream) => this.lastSeq(stream),
		);
		if (!changing || !this.#ended.has(nameKey(stored))) this.#uncommitted.finish(stored);
		if (changing) this.#ended.add(nameKey(stored));
		if (ended) {
			this.#uncommitted.beginRemoval(ended.stream, ended.last);
			this.#recent.forget(ended.stream);
			const held = this.#membership.held.get(ended.stream);
			if (held) held.last = Math.max(held.last, ended.last);
		}
		return this.#write(record, changing ? "fact" : "note", bytes, {
			release: () => {
				this.#uncommitted.drop(stored);
				if (ended) this.#uncommitted.finishRemoval(ended.stream);
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

	#write(
		record: RightfulRecord,
		durability: Durability,
		bytes: number,
		{ release = () => {}, settle }: { release?(): void; settle?(error?: Error): void } = {},
	): Promise<void> {
		const name = sessionOf(record);
		if (name) {
			const right = this.#membership.rightOf(name, opensSession(record));
			if (right !== "lost") record.right = right;
			else {
				release();
				const lost = new SessionLost();
				settle?.(lost);
				return Promise.reject(lost);
			}
		}
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

	#rightOf(record: RightfulRecord): Held | undefined {
		if (record.right) return record.right;
		const name = sessionOf(record);
		return name && this.#membership.held.get(name);
	}

	#noteEvicted(evicted: readonly EvictionMark[]): void {
		for (const { principal, before } of evicted) {
			this.#evictedBefore.set(principal, Math.max(this.evictedBefore(principal), before));
		}
	}
}

/** Migrations may take long, and wait for another server's. */
const START_MS = 60_000;

/** A hung connection must be noticed while the lease still holds. */
function share(leaseMs: number, parts: number): number {
	return Math.max(MIN_TIMEOUT_MS, leaseMs / parts);
}

function nameKey({ principal, id }: AdmittedCommand): string {
	return `${principal} ${id}`;
}
