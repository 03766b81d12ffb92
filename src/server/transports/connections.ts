import { inTime } from "../../core/in-time.ts";
import type { Engine } from "../engine/engine.ts";
import { type Client, createMessage } from "../engine/message.ts";
import { createRateBucket, type RateBucket, type ServerLimits } from "../limits.ts";
import { type FrameWriter, Outbox, OutboxPool } from "./outbox.ts";

/** The other side of a connection, as its transport knows it. */
export interface Remote extends FrameWriter {
	/** Stops, or goes on, reading from it. */
	pause(isPaused: boolean): void;
	/** Ends the connection, with the reason if the transport can send it. The transport then calls `end`. */
	close(cause: "overload" | "shutdown", why: string): void;
	/** The same for a client that sends too much: what was read is dropped at once. */
	cut(why: string): void;
}

/** One connection of whatever transport. */
export interface Connection extends Required<Client> {
	/** A frame came: text, or bytes that should be UTF-8. */
	receive(frame: string | Uint8Array): void;
	/** Bytes of an unfinished frame; 0 when there is none. */
	holds(bytes: number): void;
	/** A frame came that was too large to keep. */
	refuseTooLarge(): void;
	/** Resolves when everything that was received is answered, and the answers are sent. */
	settled(): Promise<void>;
	/** The connection has ended. */
	end(): void;
	/** Unsent bytes. */
	readonly pending: number;
}

/** All connections of a server. */
export interface Connections {
	/** Why the principal may not have one more; `undefined` if it may. Takes one from its rate. */
	refusal(principal: string): string | undefined;
	open(principal: string, remote: Remote): Connection;
	/** Waits up to `ms` until everything is sent, closes them all, and waits up to `ms` again until they are. */
	close(ms: number): Promise<void>;
	counters(): ConnectionCounters;
}

export interface ConnectionCounters {
	open: number;
	opened: number;
	refused: number;
	/** Closed because they did not read, or began too much without ending it. */
	overloaded: number;
	queuedBytes: number;
}

export interface ConnectionsOptions {
	engine: Pick<Engine, "connect" | "receive" | "answered" | "disconnect">;
	limits: ServerLimits;
	now?: () => number;
}

/** The connections of one principal. */
interface Account {
	readonly outboxes: Set<Outbox>;
	readonly rate: RateBucket;
	usedAtMs: number;
}

const CHECK_MS = 1_000;
const MINUTE_MS = 60_000;

export function createConnections({ engine, limits, now }: ConnectionsOptions): Connections {
	const clock = now ?? (() => performance.now());
	const pool = new OutboxPool();
	const inboxes = createInboxPool(limits.maxUnfinishedBytesInAll);
	const all = new Map<Connection, { outbox: Outbox; remote: Remote; ended: Promise<void> }>();
	const accounts = new Map<string, Account>();
	/** Callers that wait until something is taken of the output of all connections. */
	const onTaken: (() => void)[] = [];
	let opened = 0;
	let refused = 0;
	let overloaded = 0;
	let isClosing = false;
	const checks = setInterval(() => {
		for (const { outbox } of [...all.values()]) outbox.check();
		// An account without connections and with a full bucket need not be kept.
		for (const [principal, { outboxes, usedAtMs }] of accounts) {
			if (outboxes.size === 0 && clock() - usedAtMs > MINUTE_MS) accounts.delete(principal);
		}
	}, CHECK_MS);
	checks.unref();

	function refusalOf({ outboxes, rate }: Account): string | undefined {
		if (isClosing) return "the server is shutting down";
		if (all.size >= limits.maxConnections) return "the server has all the connections it takes";
		if (outboxes.size >= limits.maxConnectionsPerPrincipal) return "you have too many connections";
		return rate.take() ? undefined : "you connect too often; wait a moment";
	}

	function accountOf(principal: string): Account {
		const account = accounts.get(principal) ?? {
			outboxes: new Set(),
			rate: createRateBucket(limits.connectionsPerMinute, clock),
			usedAtMs: 0,
		};
		account.usedAtMs = clock();
		accounts.set(principal, account);
		return account;
	}

	/**
	 * Whether a principal holds less than is left for all: one alone may hold half of it, two a third each, and there is
	 * always something left.
	 */
	function hasShare({ outboxes }: Account): boolean {
		const left = limits.maxQueueBytesInAll - pool.queued;
		if (pool.queued <= left) return true;
		let held = 0;
		for (const { pending } of outboxes) held += pending;
		return held <= Math.max(0, left);
	}

	function taken(): void {
		if (onTaken.length === 0) return;
		for (const resolve of onTaken.splice(0)) resolve();
	}

	function open(principal: string, remote: Remote): Connection {
		opened++;
		const account = accountOf(principal);
		const ended = Promise.withResolvers<void>();
		const giveUp = (end: (why: string) => void) => (why: string) => {
			overloaded++;
			end(`${why}; connect again and resume`);
		};
		const outbox = new Outbox({
			writer: remote,
			limits,
			pool,
			...(now && { now }),
			giveUp: giveUp((why) => remote.close("overload", why)),
			onPressure: (isHigh) => remote.pause(isHigh),
			onTaken: taken,
		});
		account.outboxes.add(outbox);
		const inbox: InboxMember = { principal, giveUp: giveUp((why) => remote.cut(why)) };
		let isGone = false;
		const connection: Connection = {
			id: String(opened),
			principal,
			lifecycle: "all",
			send: (message, canWait) => outbox.send(message, canWait),
			drained: () => outbox.drained(),
			get hasRoom() {
				return isGone || (outbox.hasRoom && hasShare(account));
			},
			whenRoom() {
				if (!outbox.hasRoom) return outbox.whenRoom();
				return new Promise((resolve) => onTaken.push(resolve));
			},
			get gone() {
				return isGone;
			},
			receive(frame) {
				if (!isGone) engine.receive(connection, frame);
			},
			holds(bytes) {
				if (!isGone) inboxes.hold(inbox, bytes);
			},
			refuseTooLarge() {
				const error = `a frame may have ${limits.maxFrameBytes} bytes; send less at once`;
				const failure = { success: false, code: "too_large", error } as const;
				outbox.send(createMessage({ type: "response", command: "unknown", ...failure }));
			},
			async settled() {
				await engine.answered(connection);
				await outbox.empty();
			},
			end() {
				if (isGone) return;
				isGone = true;
				all.delete(connection);
				account.outboxes.delete(outbox);
				account.usedAtMs = clock();
				outbox.close();
				inboxes.hold(inbox, 0);
				engine.disconnect(connection);
				ended.resolve();
			},
			get pending() {
				return outbox.pending;
			},
		};
		all.set(connection, { outbox, remote, ended: ended.promise });
		engine.connect(connection);
		return connection;
	}

	return {
		refusal(principal) {
			const why = refusalOf(accountOf(principal));
			if (why !== undefined) refused++;
			return why;
		},
		open,
		async close(ms) {
			isClosing = true;
			await inTime(Promise.all([...all.values()].map(({ outbox }) => outbox.empty())), ms);
			clearInterval(checks);
			const rest = [...all.values()];
			for (const { remote } of rest) remote.close("shutdown", "the server stops");
			await inTime(Promise.all(rest.map(({ ended }) => ended)), ms);
		},
		counters: () => ({ open: all.size, opened, refused, overloaded, queuedBytes: pool.queued }),
	};
}

/** The unfinished frames of all connections. */
export interface InboxPool {
	/** The member holds so many bytes now. If that is too much in all, some give up. */
	hold(member: InboxMember, bytes: number): void;
}

export interface InboxMember {
	readonly principal: string;
	/** Ends the connection and drops what it holds. */
	giveUp(why: string): void;
}

/** What fits into one read of a socket is not counted: nearly all frames do, and cost nothing here. */
const SMALL_BYTES = 65_536;

/**
 * Holds at most `maxBytes`. Beyond that the principal that holds most loses its largest connection: a client that begins
 * many frames and ends none loses its own, not the one large frame of another principal.
 */
export function createInboxPool(maxBytes: number): InboxPool {
	const held = new Map<InboxMember, number>();
	let total = 0;

	function set(member: InboxMember, bytes: number): void {
		total += bytes - (held.get(member) ?? 0);
		if (bytes > 0) held.set(member, bytes);
		else held.delete(member);
	}

	/** Rare, so it need not be quick. */
	function greediest(): InboxMember | undefined {
		const sums = new Map<string, number>();
		for (const [{ principal }, bytes] of held) {
			sums.set(principal, (sums.get(principal) ?? 0) + bytes);
		}
		const sumOf = ({ principal }: InboxMember) => sums.get(principal) ?? 0;
		const [most] = [...held].sort(
			([a, bytesOfA], [b, bytesOfB]) => sumOf(b) - sumOf(a) || bytesOfB - bytesOfA,
		);
		return most?.[0];
	}

	return {
		hold(member, bytes) {
			set(member, bytes > SMALL_BYTES ? bytes : 0);
			while (total > maxBytes) {
				const victim = greediest();
				if (!victim) return;
				set(victim, 0);
				victim.giveUp("the server has no room for more unfinished frames");
			}
		},
	};
}
