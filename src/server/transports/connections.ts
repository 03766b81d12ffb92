import { inTime } from "../../core/in-time.ts";
import type { Engine } from "../engine/engine.ts";
import { type Client, createMessage } from "../engine/message.ts";
import { failureResponse } from "../engine/outcome.ts";
import { createRateBucket, type RateBucket, type ServerLimits } from "../limits.ts";
import { type FrameWriter, Outbox, OutboxPool } from "./outbox.ts";

/** The other side of a connection, implemented by its transport. */
export interface Remote extends FrameWriter {
	pause(isPaused: boolean): void;
	/** Sends the reason if the transport can. The transport then calls `end`. */
	close(cause: "overload" | "shutdown", why: string): void;
	/** For a client that sends too much: unprocessed input is dropped at once. */
	cut(why: string): void;
}

export interface Connection extends Required<Client> {
	/** Text, or bytes that should be UTF-8. */
	receive(frame: string | Uint8Array): void;
	/** Reports the bytes of an unfinished frame; 0 if none. */
	holds(bytes: number): void;
	refuseTooLarge(): void;
	/** Resolves when all received frames are answered and the answers are sent. */
	settled(): Promise<void>;
	end(): void;
	readonly pending: number;
}

export type Connections = ReturnType<typeof createConnections>;
export type ConnectionCounters = ReturnType<Connections["counters"]>;

export interface ConnectionsOptions {
	engine: Pick<Engine, "connect" | "receive" | "answered" | "disconnect">;
	limits: ServerLimits;
	now?: () => number;
}

interface Account {
	readonly outboxes: Set<Outbox>;
	readonly rate: RateBucket;
	usedAtMs: number;
}

const CHECK_MS = 1_000;
const MINUTE_MS = 60_000;

export function createConnections({ engine, limits, now }: ConnectionsOptions) {
	const clock = now ?? (() => performance.now());
	const pool = new OutboxPool();
	const inboxes = createInboxPool(limits.maxUnfinishedBytesInAll);
	const all = new Map<Connection, { outbox: Outbox; remote: Remote; ended: Promise<void> }>();
	const accounts = new Map<string, Account>();
	const onTaken: (() => void)[] = [];
	let opened = 0;
	let refused = 0;
	/** Closed for not reading, or for too many unfinished frames. */
	let overloaded = 0;
	let isClosing = false;
	const checks = setInterval(() => {
		for (const { outbox } of [...all.values()]) outbox.check();
		// After a minute the bucket is full again, so an idle account can be dropped.
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

	// A principal may hold as much as is left: one alone gets half, two a third each, and there is
	// always something left.
	function hasShare({ outboxes }: Account): boolean {
		const left = limits.maxQueueBytesInAll - pool.queued;
		if (pool.queued <= left) return true;
		let held = 0;
		for (const { pending } of outboxes) held += pending;
		return held <= Math.max(0, left);
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
			onTaken() {
				for (const resolve of onTaken.splice(0)) resolve();
			},
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
				outbox.send(createMessage(failureResponse("unknown", { code: "too_large", error })));
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
		/** Returns why another connection is refused, if it is. Takes one from the principal's rate. */
		refusal(principal: string): string | undefined {
			const why = refusalOf(accountOf(principal));
			if (why !== undefined) refused++;
			return why;
		},
		open,
		/** Drains for up to `ms`, closes all, then waits up to `ms` for them to end. */
		async close(ms: number): Promise<void> {
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

interface InboxMember {
	readonly principal: string;
	giveUp(why: string): void;
}

/** One socket read. Smaller frames, nearly all, are not counted and cost nothing here. */
const SMALL_BYTES = 65_536;

/** At the bound, the principal that holds most loses its largest connection: others are spared. */
export function createInboxPool(maxBytes: number) {
	const held = new Map<InboxMember, number>();
	let total = 0;

	function set(member: InboxMember, bytes: number): void {
		total += bytes - (held.get(member) ?? 0);
		if (bytes > 0) held.set(member, bytes);
		else held.delete(member);
	}

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
		hold(member: InboxMember, bytes: number): void {
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
