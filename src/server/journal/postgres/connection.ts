import type { Client, ClientBase, QueryConfig, QueryResult } from "pg";
import { property } from "../../../core/property.ts";
import type { DatabaseAddress } from "./database-url.ts";

interface ConnectionOptions {
	readonly address: DatabaseAddress;
	/** Shown in `pg_stat_activity`. */
	readonly name: string;
	/** Longest time for a connection, and for a statement. */
	readonly timeoutMs: number;
	/** Called once a connection, before its first use. */
	prepare?(client: ClientBase): Promise<void>;
}

/** No answer in time. Whether a statement was carried out is unknown. */
export class DatabaseTimeout extends Error {
	constructor() {
		super("the database does not answer");
	}
}

export class NotPrimary extends Error {
	constructor() {
		super("the database is a standby or read-only; use the address of its primary");
	}
}

/**
 * One connection, opened when it is needed and again after a failure. One piece of work at a time: `pg` gives up
 * its own queue in its next version. A statement that takes too long costs the connection, since `pg` keeps it
 * busy until the database is done.
 */
export class Connection {
	readonly #options: ConnectionOptions;
	#client: Client | undefined;
	#tail: Promise<unknown> = Promise.resolve();
	#isClosed = false;
	/** When the database last did not answer in time. */
	#hungAt = Number.NEGATIVE_INFINITY;

	constructor(options: ConnectionOptions) {
		this.#options = options;
	}

	/** `extraMs`: added to the longest time of a statement, for one with much to carry. */
	query(config: QueryConfig, extraMs = 0): Promise<QueryResult> {
		return this.run((client) => client.query(config), this.#options.timeoutMs + extraMs);
	}

	/**
	 * `work` must leave no transaction open if it resolves. If it rejects, the connection is given up. While the
	 * database hangs, work that has waited for its time does not begin: it would only wait for as long again.
	 */
	run<T>(
		work: (client: ClientBase) => Promise<T>,
		timeoutMs = this.#options.timeoutMs,
	): Promise<T> {
		const asked = performance.now();
		const result = this.#tail.then(() => {
			const isLate = performance.now() - asked >= timeoutMs;
			if (isLate && this.#hungAt > asked) throw new DatabaseTimeout();
			return this.#run(work, timeoutMs);
		});
		this.#tail = result.catch(() => {});
		return result;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await this.#tail;
		const client = this.#client;
		this.#client = undefined;
		if (!client) return;
		await within(client.end(), CLOSE_MS).catch(() => destroy(client));
	}

	async #run<T>(work: (client: ClientBase) => Promise<T>, timeoutMs: number): Promise<T> {
		if (this.#isClosed) throw new Error("the connection to the database is closed");
		let client = this.#client;
		try {
			client ??= await this.#connect();
			return await within(work(client), timeoutMs);
		} catch (error) {
			if (error instanceof DatabaseTimeout) this.#hungAt = performance.now();
			if (client) this.#drop(client);
			throw error;
		}
	}

	async #connect(): Promise<Client> {
		const { address, name, timeoutMs, prepare } = this.#options;
		const { default: pg } = await import("pg");
		const client = new pg.Client({
			connectionString: address.url,
			...(address.password !== undefined && { password: address.password }),
			application_name: `strata ${name}`,
			connectionTimeoutMillis: timeoutMs,
			keepAlive: true,
		});
		client.on("error", () => this.#drop(client));
		client.on("end", () => this.#drop(client));
		try {
			await within(client.connect(), timeoutMs);
			await within(setUp(client, timeoutMs), timeoutMs);
			if (prepare) await within(prepare(client), timeoutMs);
		} catch (error) {
			destroy(client);
			throw error;
		}
		this.#client = client;
		return client;
	}

	#drop(client: Client): void {
		if (this.#client === client) this.#client = undefined;
		destroy(client);
	}
}

const CLOSE_MS = 1_000;

/**
 * Index scans only: the first plans are made while tables are small, and would be kept when they are large. What waits
 * for a lock must see what was committed meanwhile, whatever the database's default is.
 */
const SETTINGS = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
	SET default_transaction_isolation = 'read committed';
	SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** At least, for a process that is busy while it starts. */
const IDLE_MS = 5_000;

/**
 * The database gives up what this process has given up: a paused process or a dead machine must not hold locks that
 * other servers need, until TCP notices.
 */
async function setUp(client: ClientBase, timeoutMs: number): Promise<void> {
	const { rows } = await client.query(
		"SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS standby",
	);
	// A standby may show commits in another order than the primary, or not yet.
	if (rows[0]?.standby) throw new NotPrimary();
	const limitMs = Math.ceil(timeoutMs);
	await client.query(
		`${SETTINGS}; SET lock_timeout = ${limitMs};
			SET idle_in_transaction_session_timeout = ${Math.max(IDLE_MS, limitMs)}`,
	);
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new DatabaseTimeout()), ms);
	});
	try {
		return await Promise.race([work, late]);
	} finally {
		clearTimeout(timer);
		work.catch(() => {}); // it may fail later, when its connection is gone
	}
}

/** `end` would wait for an answer. */
function destroy(client: Client): void {
	const stream = property(property(client, "connection"), "stream");
	const end = property(stream, "destroy");
	if (typeof end === "function") end.call(stream);
}
