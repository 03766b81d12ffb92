import { inTime } from "../../core/in-time.ts";
import type { Engine } from "../engine/engine.ts";
import type { Client } from "../engine/message.ts";
import { createMessage, type Message } from "../engine/message.ts";
import type { ServerLimits } from "../limits.ts";
import { createRateBucket, type RateBucket } from "../limits.ts";
import { createInboxPool, type InboxMember } from "./inbox-pool.ts";
import { createOutbox, type Outbox, type Wire } from "./outbox.ts";
import { createOutboxPool } from "./outbox-pool.ts";

/** Where connections bring what they hear. */
export type Hub = Pick<Engine, "connect" | "receive" | "answered" | "disconnect">;

/** The other side of a connection, as its transport knows it. */
export interface Peer extends Wire {
	/** Stops, or goes on, reading from it. */
	pause(isPaused: boolean): void;
	/** Ends the connection, telling why if the transport can. The transport calls `gone` when it has ended. */
	close(cause: "overload" | "shutdown", why: string): void;
	/** The same for one that sends too much: nothing more is read, and what was read is dropped at once. */
	cut(why: string): void;
}

/** A client that can also say when it has room for more. */
export interface ConnectedClient extends Client {
	/** Resolves when little waits to be sent, or when the client is gone. A long replay waits for it. */
	drained(): Promise<void>;
}

/** One connection of whatever transport. */
export interface Connection {
	readonly client: ConnectedClient;
	/** A frame came: text, or bytes that should be UTF-8. */
	receive(frame: string | Uint8Array): void;
	/** So many bytes have come of a frame that is not whole yet; 0 when there is none. */
	holds(bytes: number): void;
	/** A frame came that was too large to keep. */
	refuseTooLarge(): void;
	/** Resolves when everything that was received is answered, and the answers have left. */
	settled(): Promise<void>;
	/** The connection has ended. */
	gone(): void;
	/** Bytes that wait for the other side. */
	readonly pending: number;
}

/** All connections of a server: how many there may be, and what they share. */
export interface Connections {
	/** Whether the principal may have one more; takes one from its rate. */
	admit(principal: string): { ok: true } | { ok: false; why: string };
	open(principal: string, peer: Peer): Connection;
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
	hub: Hub;
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

export function createConnections({ hub, limits, now }: ConnectionsOptions): Connections {
	const clock = now ?? (() => performance.now());
	const pool = createOutboxPool();
	const inboxes = createInboxPool(limits.maxUnfinishedBytesInAll);
	const all = new Map<Connection, { outbox: Outbox; peer: Peer; left: Promise<void> }>();
	const byPrincipal = new Map<string, Account>();
	/** Those who wait until something is taken of what all connections hold. */
	let waitingForAll: (() => void)[] = [];
	let opened = 0;
	let refused = 0;
	let overloaded = 0;
	let isClosing = false;
	const checks = setInterval(() => {
		for (const { outbox } of [...all.values()]) outbox.check();
		forgetQuiet();
	}, CHECK_MS);
	checks.unref();

	function admit(principal: string): { ok: true } | { ok: false; why: string } {
		const why = refusal(accountOf(principal));
		if (why === undefined) return { ok: true };
		refused++;
		return { ok: false, why };
	}

	function refusal(account: Account): string | undefined {
		if (isClosing) return "the server is shutting down";
		if (all.size >= limits.maxConnections) return "the server has all the connections it takes";
		if (account.outboxes.size >= limits.maxConnectionsPerPrincipal)
			return "you have too many connections";
		return account.rate.take() ? undefined : "you connect too often; wait a moment";
	}

	function accountOf(principal: string): Account {
		const account = byPrincipal.get(principal) ?? {
			outboxes: new Set(),
			rate: createRateBucket(limits.connectionsPerMinute, clock),
			usedAtMs: 0,
		};
		account.usedAtMs = clock();
		byPrincipal.set(principal, account);
		return account;
	}

	/** Who has no connection and a full bucket need not be remembered. */
	function forgetQuiet(): void {
		for (const [principal, { outboxes, usedAtMs }] of byPrincipal) {
			if (outboxes.size === 0 && clock() - usedAtMs > MINUTE_MS) byPrincipal.delete(principal);
		}
	}

	/**
	 * Whether a principal holds less than is left for all. So one alone may hold half of it and two a third each, and however
	 * many there are, there is always something left.
	 */
	function hasShare({ outboxes }: Account): boolean {
		const left = limits.maxQueueBytesInAll - pool.queued;
		if (pool.queued <= left) return true;
		let held = 0;
		for (const { pending } of outboxes) held += pending;
		return held <= Math.max(0, left);
	}

	function taken(): void {
		if (waitingForAll.length === 0) return;
		const waiting = waitingForAll;
		waitingForAll = [];
		for (const resolve of waiting) resolve();
	}

	function open(principal: string, peer: Peer): Connection {
		opened++;
		const account = accountOf(principal);
		let isGone = false;
		const left = Promise.withResolvers<void>();
		const outbox = createOutbox({
			wire: peer,
			limits,
			pool,
			...(now && { now }),
			giveUp(why) {
				overloaded++;
				peer.close("overload", `${why}; connect again and resume`);
			},
			onPressure: (isHigh) => peer.pause(isHigh),
			onTaken: taken,
		});
		account.outboxes.add(outbox);
		const client: ConnectedClient = {
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
				return new Promise((resolve) => waitingForAll.push(resolve));
			},
			get gone() {
				return isGone;
			},
		};
		const inbox: InboxMember = {
			principal,
			giveUp(why) {
				overloaded++;
				peer.cut(`${why}; connect again and resume`);
			},
		};
		const connection: Connection = {
			client,
			receive(frame) {
				if (!isGone) hub.receive(client, frame);
			},
			holds(bytes) {
				if (!isGone) inboxes.hold(inbox, bytes);
			},
			refuseTooLarge: () => outbox.send(tooLarge(limits.maxFrameBytes)),
			async settled() {
				await hub.answered(client);
				await outbox.empty();
			},
			gone() {
				if (isGone) return;
				isGone = true;
				all.delete(connection);
				account.outboxes.delete(outbox);
				account.usedAtMs = clock();
				outbox.close();
				inboxes.hold(inbox, 0);
				hub.disconnect(client);
				left.resolve();
			},
			get pending() {
				return outbox.pending;
			},
		};
		all.set(connection, { outbox, peer, left: left.promise });
		hub.connect(client);
		return connection;
	}

	return {
		admit,
		open,
		async close(ms) {
			isClosing = true;
			const sent = Promise.all([...all.values()].map(({ outbox }) => outbox.empty()));
			await inTime(sent, ms);
			clearInterval(checks);
			const left = [...all.values()].map((one) => one.left);
			for (const { peer } of [...all.values()]) peer.close("shutdown", "the server stops");
			await inTime(Promise.all(left), ms);
		},
		counters: () => ({ open: all.size, opened, refused, overloaded, queuedBytes: pool.queued }),
	};
}

function tooLarge(maxFrameBytes: number): Message {
	return createMessage({
		type: "response",
		command: "unknown",
		success: false,
		code: "too_large",
		error: `a frame may have ${maxFrameBytes} bytes; send less at once`,
	});
}
