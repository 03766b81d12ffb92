import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { ClientBase } from "pg";
import { Connection } from "./connection.ts";
import { isAboutDatabase, unusable } from "./database-refusal.ts";
import type { DatabaseAddress } from "./database-url.ts";
import { migrate, schemaVersion } from "./schema.ts";

/** Tokens of all servers. The database has their digests only. */
export interface ListedToken {
	readonly name: string;
	/** The beginning of the digest, to tell tokens of one name apart. */
	readonly fingerprint: string;
	readonly createdAt: Date;
}

const FINGERPRINT_DIGITS = 12;
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
/** A change takes effect within this time. */
const REFRESH_MS = 2_000;
const TIMEOUT_MS = 5_000;

/** Rejects with an error that names the database, if it is about that. */
export async function withDatabase<T>(
	address: DatabaseAddress,
	work: (client: ClientBase) => Promise<T>,
	timeoutMs = 60_000,
): Promise<T> {
	const connection = new Connection({ address, name: "command", timeoutMs });
	try {
		return await connection.run(work, timeoutMs);
	} catch (error) {
		throw isAboutDatabase(error) ? unusable(address, error) : error;
	} finally {
		await connection.close();
	}
}

/** Returns the new token, which is not stored. */
export async function addToken(client: ClientBase, name: string): Promise<string> {
	if (!NAME.test(name)) {
		throw new Error(
			`the name must have 1 to 64 characters: letters, digits or . _ -; got "${name}"`,
		);
	}
	await migrate(client);
	const token = randomBytes(32).toString("base64url");
	await client.query("INSERT INTO strata.tokens (digest, name) VALUES ($1, $2)", [
		digestOf(token),
		name,
	]);
	return token;
}

/** By name, which revokes all tokens of the name, or by fingerprint. Returns how many. */
export async function revokeTokens(client: ClientBase, which: string): Promise<number> {
	await migrate(client);
	const { rowCount } = await client.query(
		`DELETE FROM strata.tokens WHERE name = $1 OR left(encode(digest, 'hex'), ${FINGERPRINT_DIGITS}) = $1`,
		[which],
	);
	return rowCount ?? 0;
}

export async function listTokens(client: ClientBase): Promise<ListedToken[]> {
	await migrate(client);
	const { rows } = await client.query(
		"SELECT name, encode(digest, 'hex') AS digest, created_at FROM strata.tokens ORDER BY name, created_at",
	);
	return rows.map(({ name, digest, created_at }) => ({
		name,
		fingerprint: String(digest).slice(0, FINGERPRINT_DIGITS),
		createdAt: created_at,
	}));
}

/** The tokens of the database, read again every two seconds. While it is unreachable, the last ones count. */
export class TokenTable {
	readonly #connection: Connection;
	readonly #address: DatabaseAddress;
	readonly #onChange: () => void;
	#known: { name: string; digest: Buffer }[] = [];
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(address: DatabaseAddress, onChange: () => void) {
		this.#connection = new Connection({ address, name: "tokens", timeoutMs: TIMEOUT_MS });
		this.#address = address;
		this.#onChange = onChange;
	}

	/** Takes the same time for every wrong token. */
	principalOf(token: string): string | undefined {
		const given = digestOf(token);
		let principal: string | undefined;
		for (const { name, digest } of this.#known) {
			if (timingSafeEqual(digest, given)) principal = name;
		}
		return principal;
	}

	has(principal: string): boolean {
		return this.#known.some(({ name }) => name === principal);
	}

	/** Rejects if the database is unreachable: without its tokens, every client would be refused. */
	async open(): Promise<void> {
		try {
			await this.#read();
		} catch (error) {
			throw unusable(this.#address, error);
		}
		this.#schedule();
	}

	async #refresh(): Promise<void> {
		await this.#read().catch(() => {}); // the next one may succeed
		this.#schedule();
	}

	async #read(): Promise<void> {
		const { rows } = await this.#connection.run(async (client) => {
			if ((await schemaVersion(client)) === 0) return { rows: [] };
			return client.query("SELECT name, digest FROM strata.tokens ORDER BY digest");
		});
		const isSame =
			rows.length === this.#known.length &&
			rows.every(({ digest }, index) => this.#known[index]?.digest.equals(digest));
		this.#known = rows;
		if (!isSame) this.#onChange();
	}

	#schedule(): void {
		if (this.#isClosed) return;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.#refresh(), REFRESH_MS).unref();
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		await this.#connection.close();
	}
}

function digestOf(token: string): Buffer {
	return hash("sha256", token, "buffer");
}
