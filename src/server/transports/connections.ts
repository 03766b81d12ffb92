import { getOrAdd } from "../../core/get-or-add.ts";
import { inTime } from "../../core/in-time.ts";
import type { Engine } from "../engine/engine.ts";
import { type Client, Message } from "../engine/message.ts";
import { failureResponse } from "../engine/outcome.ts";
import { createRateBucket, type RateBucket, type ServerLimits } from "../limits.ts";
import { type FrameWriter, Outbox, OutboxPool } from "./outbox.ts";

/** The other side of a connection, implemented by its transport. */
export interface Remote extends FrameWriter {
	/** The client cannot connect again. */
	readonly isOnly?: boolean;
	pause(isPaused: boolean): void;
	/** Sends the reason if the transport can. The transport then calls `Connection.end`. */
	close(cause: "overload" | "shutdown", why: string): void;
	/** For a client that sends too much: drops unprocessed input and closes immediately. */
	terminate(why: string): void;
}

export type ConnectionCounters = ReturnType<Connections["counters"]>;

interface ConnectionsOptions {
	/** The engine, or what passes commands on to it. */
	readonly engine: Pick<Engine, "connect" | "whenAnswered" | "disconnect"> & {
		receive(client: Client, frame: string | Uint8Array): void;
	};
	readonly limits: ServerLimits;
	/** Called after a connection has ended and the engine has disconnected it. */
	onEnd?(client: Client): void;
	readonly now?: () => number;
}

interface Account {
	readonly outboxes: Set<Outbox>;
	readonly rate: RateBucket;
	usedAtMs: number;
}

const CHECK_MS = 1_000;
const MINUTE_MS = 60_000;

/** All clients of the server, whatever their transport, and the limits they share. */
export class Connections {
	readonly #options: ConnectionsOptions;
	readonly #clock: () => number;
	readonly #pool = new OutboxPool();
	readonly #inboxes: InboxPool;
	readonly #all = new Set<Connection>();
	readonly #accounts = new Map<string, Account>();
	readonly #checks: NodeJS.Timeout;
	/** `overloaded`: number of clients disconnected for unread output or too many unfinished frames. */
	readonly #counters = { opened: 0, refused: 0, overloaded: 0 };
	#isClosing = false;

	constructor(options: ConnectionsOptions) {
		this.#options = options;
		this.#clock = options.now ?? (() => performance.now());
		this.#inboxes = new InboxPool(options.limits.maxUnfinishedBytesInAll);
		this.#checks = setInterval(() => this.#check(), CHECK_MS).unref();
	}

	/** Returns why a new connection is refused. If allowed, counts it against the principal's rate. */
	refusal(principal: string): string | undefined {
		const why = this.#refusalOf(this.#accountOf(principal));
		if (why !== undefined) this.#counters.refused++;
		return why;
	}

	open(principal: string, remote: Remote): Connection {
		const account = this.#accountOf(principal);
		const connection = new Connection({
			...this.#options,
			id: String(++this.#counters.opened),
			principal,
			remote,
			pool: this.#pool,
			inboxes: this.#inboxes,
			hasShare: () => this.#hasShare(account),
			onOverload: () => void this.#counters.overloaded++,
			onEnd: () => {
				this.#all.delete(connection);
				account.outboxes.delete(connection.outbox);
				account.usedAtMs = this.#clock();
				this.#options.engine.disconnect(connection);
				this.#options.onEnd?.(connection);
			},
		});
		account.outboxes.add(connection.outbox);
		this.#all.add(connection);
		this.#options.engine.connect(connection);
		return connection;
	}

	/** Drains for up to `ms`, closes all connections, then waits up to `ms` for them to end. */
	async close(ms: number): Promise<void> {
		this.#isClosing = true;
		await inTime(Promise.all([...this.#all].map(({ outbox }) => outbox.whenEmpty())), ms);
		clearInterval(this.#checks);
		const rest = [...this.#all];
		for (const { remote } of rest) remote.close("shutdown", "the server is shutting down");
		await inTime(Promise.all(rest.map(({ ended }) => ended.promise)), ms);
	}

	/** Closes connections, which can be opened again. One that cannot (stdio) stays. */
	drop(clients: readonly Client[], why: string): void {
		for (const client of clients) {
			if (!(client instanceof Connection) || client.remote.isOnly) continue;
			client.remote.close("shutdown", why);
		}
	}

	counters() {
		return { ...this.#counters, open: this.#all.size, queuedBytes: this.#pool.queued };
	}

	#check(): void {
		for (const { outbox } of [...this.#all]) outbox.checkStall();
		// After a minute the bucket is full again, so an idle account can be dropped.
		for (const [principal, { outboxes, usedAtMs }] of this.#accounts) {
			const isIdle = outboxes.size === 0 && this.#clock() - usedAtMs > MINUTE_MS;
			if (isIdle) this.#accounts.delete(principal);
		}
	}

	#refusalOf({ outboxes, rate }: Account): string | undefined {
		const { maxConnections, maxConnectionsPerPrincipal } = this.#options.limits;
		if (this.#isClosing) return "the server is shutting down";
		if (this.#all.size >= maxConnections) return "the server has too many connections";
		if (outboxes.size >= maxConnectionsPerPrincipal) return "you have too many connections";
		return rate.take() ? undefined : "you connect too often; wait a moment";
	}

	#accountOf(principal: string): Account {
		const account = getOrAdd(this.#accounts, principal, () => ({
			outboxes: new Set<Outbox>(),
			rate: createRateBucket(this.#options.limits.connectionsPerMinute, this.#clock),
			usedAtMs: 0,
		}));
		account.usedAtMs = this.#clock();
		return account;
	}

	// A principal may hold as much output as is left of the limit: one alone gets half, two get a third
	// each, and part of the limit always stays free.
	#hasShare({ outboxes }: Account): boolean {
		const left = this.#options.limits.maxQueueBytesInAll - this.#pool.queued;
		if (this.#pool.queued <= left) return true;
		let held = 0;
		for (const { pending } of outboxes) held += pending;
		return held <= Math.max(0, left);
	}
}

interface ConnectionOptions extends Omit<ConnectionsOptions, "onEnd"> {
	readonly id: string;
	readonly principal: string;
	readonly remote: Remote;
	readonly pool: OutboxPool;
	readonly inboxes: InboxPool;
	/** False if the principal's connections hold more output than is left of the limit. */
	hasShare(): boolean;
	onOverload(): void;
	onEnd(): void;
}

export class Connection implements Required<Omit<Client, "relay" | "streamLost">> {
	readonly id: string;
	readonly principal: string;
	lifecycle: Client["lifecycle"] = "all";
	gone = false;
	readonly remote: Remote;
	readonly outbox: Outbox;
	readonly #options: ConnectionOptions;
	readonly ended = Promise.withResolvers<void>();

	constructor(options: ConnectionOptions) {
		const { id, principal, remote, limits, pool, now } = options;
		this.#options = options;
		this.id = id;
		this.principal = principal;
		this.remote = remote;
		this.outbox = new Outbox({
			writer: remote,
			limits,
			pool,
			...(now && { now }),
			disconnect: (why) => remote.close("overload", this.#overloaded(why)),
			onBackpressure: (isHigh) => remote.pause(isHigh),
		});
	}

	send(message: Message, canWait?: boolean): void {
		this.outbox.send(message, canWait);
	}

	get hasRoom(): boolean {
		return this.gone || (this.outbox.hasRoom && this.#options.hasShare());
	}

	whenRoom(): Promise<void> {
		return this.outbox.hasRoom ? this.#options.pool.whenWritten() : this.outbox.whenRoom();
	}

	whenDrained(): Promise<void> {
		return this.outbox.whenDrained();
	}

	/** `frame` is a string, or bytes that are expected to be UTF-8. */
	receive(frame: string | Uint8Array): void {
		if (!this.gone) this.#options.engine.receive(this, frame);
	}

	/** Reports how many bytes of an unfinished frame are held; 0 if there is none. */
	holdUnfinished(bytes: number): void {
		if (!this.gone) this.#options.inboxes.hold(this, bytes);
	}

	/** Disconnects a client that holds too many bytes of unfinished frames. */
	disconnect(why: string): void {
		this.remote.terminate(this.#overloaded(why));
	}

	refuseTooLarge(): void {
		const error = `the frame is larger than ${this.#options.limits.maxFrameBytes} bytes; send less at once`;
		this.send(new Message(failureResponse("unknown", { code: "too_large", error })));
	}

	/** Resolves when all received frames are answered and the answers are sent. */
	async whenAnswered(): Promise<void> {
		await this.#options.engine.whenAnswered(this);
		await this.outbox.whenEmpty();
	}

	end(): void {
		if (this.gone) return;
		this.gone = true;
		this.outbox.close();
		this.#options.inboxes.hold(this, 0);
		this.#options.onEnd();
		this.ended.resolve();
	}

	#overloaded(why: string): string {
		this.#options.onOverload();
		return `${why}; connect again and resume`;
	}
}

type InboxMember = Pick<Connection, "principal" | "disconnect">;

/** Size of one socket read. Smaller frames, which are nearly all, are not counted here. */
const SMALL_BYTES = 65_536;

/** Bounds unfinished input: above `maxBytes`, the principal with the most loses its largest connection. */
export class InboxPool {
	readonly #maxBytes: number;
	readonly #held = new Map<InboxMember, number>();
	#total = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	hold(member: InboxMember, bytes: number): void {
		this.#set(member, bytes > SMALL_BYTES ? bytes : 0);
		while (this.#total > this.#maxBytes) {
			const victim = this.#greediest();
			if (!victim) return;
			this.#set(victim, 0);
			victim.disconnect("the server has no room for more unfinished frames");
		}
	}

	#set(member: InboxMember, bytes: number): void {
		this.#total += bytes - (this.#held.get(member) ?? 0);
		if (bytes > 0) this.#held.set(member, bytes);
		else this.#held.delete(member);
	}

	#greediest(): InboxMember | undefined {
		const sums = new Map<string, number>();
		for (const [{ principal }, bytes] of this.#held) {
			sums.set(principal, (sums.get(principal) ?? 0) + bytes);
		}
		const sumOf = ({ principal }: InboxMember) => sums.get(principal) ?? 0;
		const [most] = [...this.#held].sort(
			([a, bytesOfA], [b, bytesOfB]) => sumOf(b) - sumOf(a) || bytesOfB - bytesOfA,
		);
		return most?.[0];
	}
}
