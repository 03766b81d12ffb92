import type { ClientBase } from "pg";
import type { Claim, ClaimOptions, StreamName } from "../journal.ts";
import { streamKey } from "../uncommitted.ts";
import { buryExpired, giveUp, lookAt, type Node, reserveName, takeSession } from "./claims.ts";
import type { Connection } from "./connection.ts";
import type { Held, HeldSessions } from "./held.ts";
import type { Lease } from "./lease.ts";

interface ClaimingOptions {
	readonly connection: Connection;
	readonly held: HeldSessions;
	readonly lease: Lease;
	node(): Node;
	now(): number;
}

/** Takes sessions for this process, and gives them up. */
export class Claiming {
	readonly #options: ClaimingOptions;
	readonly #pending = new Map<string, Promise<Claim>>();
	/** Sessions that were taken from other servers. */
	taken = 0;

	constructor(options: ClaimingOptions) {
		this.#options = options;
	}

	/** Commands of one tick share a claim. */
	claim(name: StreamName, options: ClaimOptions): Promise<Claim> {
		const key = streamKey(name);
		const pending = this.#pending.get(key);
		if (pending) return pending;
		const claiming = this.#options.connection
			.run((client) => this.#claim(client, name, options))
			.finally(() => this.#pending.delete(key));
		this.#pending.set(key, claiming);
		return claiming;
	}

	async release(names: readonly StreamName[]): Promise<void> {
		const { connection, held } = this.#options;
		const all = names.flatMap((name) => held.get(name) ?? []);
		if (all.length === 0) return;
		await connection.run((client) => giveUp(client, all));
		for (const one of all) held.release(one);
	}

	/** For a record about a session whose name was not claimed before. */
	async reserve(client: ClientBase, name: StreamName): Promise<Held | undefined> {
		const held = await reserveName(client, this.#options.node(), name);
		if (held) this.#options.held.add(held);
		return held;
	}

	async #claim(client: ClientBase, name: StreamName, options: ClaimOptions): Promise<Claim> {
		const { held, lease, node, now } = this.#options;
		const found = await lookAt(client, name);
		if (options.create) {
			if (found && found.record !== null) return { kind: "exists" };
			const isReserved = held.get(name) ?? (await this.reserve(client, name));
			return isReserved ? { kind: "held", version: 0 } : { kind: "exists" };
		}
		if (!found || found.record === null) return { kind: "none" };
		const { owner, address, expired } = found;
		const isTaken = owner !== null && address !== null && owner !== node().id;
		if (isTaken && !(expired && lease.mayBury)) return { kind: "elsewhere", address };
		if (options.accepts && !options.accepts(JSON.parse(found.record))) return { kind: "refused" };
		if (isTaken) await buryExpired(client, now());
		const taken = await takeSession(client, node(), name, now());
		if (!taken) return { kind: "elsewhere", address: address ?? "another server" };
		held.add(taken.held);
		this.taken++;
		const { version, record, isCutOff } = taken;
		return { kind: "held", version, isCutOff, ...(record && { record }) };
	}
}
