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

	/** Commands of one tick share a claim. One that creates the session has another answer. */
	claim(name: StreamName, options: ClaimOptions): Promise<Claim> {
		const key = `${options.create ? "create" : "find"} ${streamKey(name)}`;
		const pending = this.#pending.get(key);
		if (pending) return pending;
		const { connection, held } = this.#options;
		const claiming = connection
			.run((client) => this.#claim(client, name, options))
			.then(({ claim, taken }) => {
				// Only here: after a timeout, no caller knows of a session that was taken.
				if (taken) held.add(taken);
				return claim;
			})
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

	async #claim(
		client: ClientBase,
		name: StreamName,
		options: ClaimOptions,
	): Promise<{ claim: Claim; taken?: Held }> {
		const { held, lease, node, now } = this.#options;
		const found = await lookAt(client, name);
		if (options.create) {
			if (found && found.record !== null) return { claim: { kind: "exists" } };
			// The name of a deleted session stays held, but retention evicts it from the database.
			const isReserved = (found && held.get(name)) ?? (await this.reserve(client, name));
			return { claim: isReserved ? { kind: "held", version: 0 } : { kind: "exists" } };
		}
		if (!found || found.record === null) return { claim: { kind: "none" } };
		// It is being created or deleted here. Another claim would fence off what is being written.
		if (held.get(name)) return { claim: { kind: "held", version: 0 } };
		const { owner, address, expired } = found;
		const isTaken = owner !== null && address !== null && owner !== node().id;
		if (isTaken && !(expired && lease.mayBury)) return { claim: { kind: "elsewhere", address } };
		if (options.accepts && !options.accepts(JSON.parse(found.record)))
			return { claim: { kind: "refused" } };
		if (isTaken) await buryExpired(client, now());
		const taken = await takeSession(client, node(), name, now());
		if (!taken) return { claim: { kind: "elsewhere", address: address ?? "another server" } };
		this.taken++;
		const { version, record, isCutOff } = taken;
		const claim: Claim = { kind: "held", version, isCutOff, ...(record && { record }) };
		return { claim, taken: taken.held };
	}
}
