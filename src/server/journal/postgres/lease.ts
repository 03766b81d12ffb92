import type { ClientBase } from "pg";
import { isTakenOut } from "../../safeguards.ts";
import { buryExpired } from "./claims.ts";
import type { Connection } from "./connection.ts";

export interface LeaseLimits {
	/** How long the others wait for a server that does not answer. */
	readonly leaseMs: number;
	readonly renewMs: number;
}

export const DEFAULT_LEASE: LeaseLimits = { leaseMs: 15_000, renewMs: 3_000 };

/** Clocks may run at rates that differ by this share. */
const MARGIN = 0.25;
/** After a failure, renewal is tried this often. */
const RETRY_MS = 250;
/** `check` asks the database if its last answer is older than this. */
const FRESH_MS = 1_000;

interface LeaseOptions extends LeaseLimits {
	readonly connection: Connection;
	nodeId(): string;
	/** The others have given this process up under this id. */
	onBuried(nodeId: string): Promise<void>;
	/** Called at the beginning and after each renewal with the time left by this process's own clock. */
	onRenewed?(leftMs: number): void;
	/** JSON that the other servers read with the lease. */
	about?(): string;
	/** Called with all servers after each renewal. */
	onNodes?(nodes: readonly NodeRow[]): void;
	now(): number;
}

/** A server that was not given up. */
export interface NodeRow {
	readonly id: string;
	readonly home: string;
	readonly address: string;
	/** JSON that the server wrote. */
	readonly about: string;
}

/**
 * The right to be the owner of sessions, renewed by a connection of its own. It is gentle: a lease that ran out
 * while the database was unreachable is renewed as well, as long as no other server has buried this one. So an outage
 * that all servers see moves no session.
 */
export class Lease {
	readonly #options: LeaseOptions;
	#timer: NodeJS.Timeout | undefined;
	#renewing: Promise<void> | undefined;
	#isClosed = false;
	/** By this process's own clocks, counted from before the renewal was sent. */
	#confirmedAt = Number.NEGATIVE_INFINITY;
	#confirmedWallMs = Number.NEGATIVE_INFINITY;
	/** Since when the database has answered without a break. */
	#reachableSince = performance.now();
	/** What the database's clock said, and when by this process's monotonic one. */
	#clock = { databaseMs: Date.now(), atMs: performance.now() };
	renewals = 0;

	constructor(options: LeaseOptions) {
		this.#options = options;
	}

	/** `atMs`: when the lease was asked for. */
	begin(atMs: number): void {
		this.#confirm(atMs);
		this.#reachableSince = atMs;
		this.#options.onRenewed?.(this.leftMs);
		this.#schedule(this.#options.renewMs);
	}

	/** By the database's clock, so that times of all servers can be compared. */
	get databaseNow(): number {
		const { databaseMs, atMs } = this.#clock;
		return Math.round(databaseMs + performance.now() - atMs);
	}

	async readClock(client: ClientBase): Promise<void> {
		const { rows } = await client.query<{ now: number }>(CLOCK);
		if (rows[0]) this.#clock = { databaseMs: rows[0].now, atMs: performance.now() };
	}

	/** The monotonic clock stands still while the machine is suspended; the other one may be set. The later counts. */
	get leftMs(): number {
		const monotonicMs = performance.now() - this.#confirmedAt;
		const passedMs = Math.max(monotonicMs, Date.now() - this.#confirmedWallMs);
		return this.#options.leaseMs * (1 - MARGIN) - passedMs;
	}

	/** After a jump of the clock, the database is asked at once. */
	get isValid(): boolean {
		if (this.leftMs > 0) return true;
		const isDue = performance.now() - this.#confirmedAt > this.#options.renewMs;
		if (!isDue && !this.#isClosed) void this.renew();
		return false;
	}

	/** Whether this process may still act for its sessions. Asks the database unless it answered just now. */
	async check(): Promise<boolean> {
		const isFresh = performance.now() - this.#confirmedAt <= FRESH_MS && this.leftMs > 0;
		if (!isFresh) await this.renew();
		return this.isValid;
	}

	/**
	 * Whether others may be buried: who could not reach the database waits one lease first, so that all come back
	 * together after an outage.
	 */
	get mayBury(): boolean {
		return this.leftMs > 0 && performance.now() - this.#reachableSince >= this.#options.leaseMs;
	}

	/** Never rejects. */
	renew(): Promise<void> {
		this.#renewing ??= this.#renew().finally(() => {
			this.#renewing = undefined;
		});
		return this.#renewing;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		await this.#renewing;
	}

	async #renew(): Promise<void> {
		const { connection, renewMs, onRenewed, onNodes } = this.#options;
		const before = performance.now();
		const wasOver = this.leftMs <= 0;
		try {
			const { nodeId, isAlive, nodes } = await connection.run((client) => this.#ask(client));
			if (isAlive || isTakenOut("fence")) this.#confirm(before);
			else if (!this.#isClosed) await this.#options.onBuried(nodeId);
			if (wasOver) this.#reachableSince = performance.now();
			this.renewals++;
			onRenewed?.(this.leftMs);
			const { mayBury } = this;
			onNodes?.(nodes.filter(({ expired }) => !(expired && mayBury)));
			if (mayBury && nodes.some(({ expired }) => expired)) await this.#bury();
			this.#schedule(renewMs);
		} catch {
			this.#schedule(Math.min(renewMs, RETRY_MS));
		}
	}

	/** `atMs`: when the lease was asked for, by the monotonic clock. */
	#confirm(atMs: number): void {
		this.#confirmedAt = atMs;
		this.#confirmedWallMs = Date.now() - (performance.now() - atMs);
	}

	async #ask(client: ClientBase) {
		const { leaseMs, about } = this.#options;
		const nodeId = this.#options.nodeId();
		const values = [nodeId, leaseMs, about?.() ?? "{}"];
		const { rowCount } = await client.query({ ...RENEW, values });
		await this.readClock(client);
		const { rows } = await client.query<NodeRow & { expired: boolean }>(NODES);
		return { nodeId, isAlive: rowCount === 1, nodes: rows };
	}

	/** Apart from the renewal, which counts although a burial may have to wait for another transaction. */
	async #bury(): Promise<void> {
		const { connection, now } = this.#options;
		await connection.run((client) => buryExpired(client, now())).catch(() => {}); // the next renewal tries again
	}

	#schedule(ms: number): void {
		clearTimeout(this.#timer);
		if (this.#isClosed) return;
		this.#timer = setTimeout(() => void this.renew(), ms).unref();
	}
}

const RENEW = {
	name: "strata_renew",
	text: `UPDATE strata.nodes SET expires_at = clock_timestamp() + $2 * interval '1 millisecond', about = $3
		WHERE id = $1`,
};

const CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";

const NODES =
	"SELECT id, home, address, about, expires_at < clock_timestamp() AS expired FROM strata.nodes";
