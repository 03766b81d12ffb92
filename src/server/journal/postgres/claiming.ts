import type { ClientBase } from "pg";
import type { Claim, ClaimOptions, StreamName } from "../journal.ts";
import { streamKey } from "../uncommitted.ts";
import {
	buryExpired,
	type FoundSession,
	giveUp,
	lookAt,
	type Node,
	reservedNames,
	reserveNames,
	type TakenSession,
	takeSessions,
} from "./claims.ts";
import { type Connection, DatabaseTimeout } from "./connection.ts";
import type { Held, HeldSessions } from "./held.ts";
import type { Lease } from "./lease.ts";

interface ClaimingOptions {
	readonly connection: Connection;
	readonly held: HeldSessions;
	readonly lease: Lease;
	node(): Node;
	now(): number;
}

interface Request {
	readonly name: StreamName;
	readonly options: ClaimOptions;
	resolve(claim: Claim): void;
	reject(error: unknown): void;
}

/** What to do for a request: answer it, or ask the database for the session or the name. */
type Step =
	| { readonly kind: "answer"; readonly claim: Claim }
	| { readonly kind: "reserve" }
	| { readonly kind: "take"; readonly head: string; readonly buries: boolean };

/** Most requests in one transaction. */
const MAX_REQUESTS = 256;

/** Takes sessions for this process, and gives them up. Claims of a tick share their round trips. */
export class Claiming {
	readonly #options: ClaimingOptions;
	readonly #pending = new Map<string, Promise<Claim>>();
	#requests: Request[] = [];
	#isScheduled = false;
	/** Sessions that are being given up: their claim counts no more. */
	readonly #leaving = new Set<Held>();
	/** Claims of names that this process did not know when {@link giveUpUnknown} last looked. */
	#unknown: ReadonlySet<string> = new Set();
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
		const claiming = new Promise<Claim>((resolve, reject) => {
			this.#requests.push({ name, options, resolve, reject });
			if (this.#isScheduled) return;
			this.#isScheduled = true;
			setImmediate(() => this.#begin());
		}).finally(() => this.#pending.delete(key));
		this.#pending.set(key, claiming);
		return claiming;
	}

	/** `written` resolves when all records of the sessions are in the database. */
	async release(names: readonly StreamName[], written: () => Promise<void>): Promise<void> {
		const { connection, held, now } = this.#options;
		const all = names.flatMap((name) => held.get(name) ?? []);
		if (all.length === 0) return;
		for (const one of all) this.#leaving.add(one);
		try {
			await written();
			await connection.run((client) => giveUp(client, all, now()));
			held.lose(all); // what is written for them from now on is refused
		} finally {
			// A claim that could not be given up stays, and the next one for the session replaces it.
			for (const one of all) if (held.get(one) !== one) this.#leaving.delete(one);
		}
	}

	/**
	 * Gives up names that were reserved but are not known here: the answer came too late, or they could not be given up
	 * before. The first call sees them, the next one acts: by then, no answer is on its way.
	 */
	async giveUpUnknown(): Promise<void> {
		const { connection, held, now, node } = this.#options;
		const reserved = await connection.run((client) => reservedNames(client, node()));
		const isKnown = (name: (typeof reserved)[number]) =>
			this.#isHeld(name) && held.get(name)?.claim === name.claim;
		const unknown = reserved.filter((name) => !isKnown(name));
		const over = unknown.filter(({ claim }) => this.#unknown.has(claim));
		this.#unknown = new Set(unknown.map(({ claim }) => claim));
		if (over.length === 0) return;
		await connection.run((client) => giveUp(client, over, now()));
		const claims = new Set(over.map(({ claim }) => claim));
		const left = [...this.#leaving].filter(({ claim }) => claims.has(claim));
		held.lose(left);
		for (const one of left) this.#leaving.delete(one);
	}

	/** For a record about a session whose name was not claimed before. */
	async reserve(client: ClientBase, name: StreamName): Promise<Held | undefined> {
		const [held] = await reserveNames(client, this.#options.node(), [name]);
		if (held) this.#hold(held);
		return held;
	}

	#begin(): void {
		this.#isScheduled = false;
		while (this.#requests.length > 0) {
			const requests = this.#requests.splice(0, MAX_REQUESTS);
			const { connection, node } = this.#options;
			let asked: Node | undefined;
			connection
				.run((client) => {
					asked = node();
					return this.#claimAll(client, asked, requests);
				})
				.then((answer) => {
					// The others gave this server up meanwhile: what it took is free again.
					if (node().id !== asked?.id) throw new DatabaseTimeout();
					return answer;
				})
				.then(
					(answer) => {
						// Only here: after a timeout, no caller knows of a session that was taken.
						for (const held of answer.taken) this.#hold(held);
						for (const [index, { resolve }] of requests.entries()) {
							resolve(answer.claims[index] as Claim);
						}
					},
					(error: unknown) => {
						for (const { reject } of requests) reject(error);
					},
				);
		}
	}

	async #claimAll(
		client: ClientBase,
		node: Node,
		requests: readonly Request[],
	): Promise<{ claims: Claim[]; taken: Held[] }> {
		const { now } = this.#options;
		const found = await lookAt(
			client,
			requests.map(({ name }) => name),
		);
		const steps = requests.map((request, index) => this.#stepFor(request, found[index]));
		if (steps.some((step) => step.kind === "take" && step.buries)) await buryExpired(client, now());
		const heads = steps.flatMap((step) => (step.kind === "take" ? step.head : []));
		const taken = await takeSessions(client, node, heads, now());
		for (const { isOwn } of taken.values()) if (!isOwn) this.taken++;
		const names = requests.flatMap(({ name }, n) => (steps[n]?.kind === "reserve" ? name : []));
		const reserved = await reserveNames(client, node, names);
		const isReserved = new Set(reserved.map(streamKey));
		const claims = requests.map(({ name }, index): Claim => {
			const step = steps[index] as Step;
			if (step.kind === "answer") return step.claim;
			if (step.kind === "take") return claimOf(taken.get(step.head), found[index]);
			return isReserved.has(streamKey(name)) ? { kind: "held", version: 0 } : { kind: "exists" };
		});
		return { claims, taken: [...reserved, ...[...taken.values()].map(({ held }) => held)] };
	}

	#stepFor({ name, options }: Request, found: FoundSession | undefined): Step {
		const { lease, node } = this.#options;
		const answer = (claim: Claim): Step => ({ kind: "answer", claim });
		const isHeld = this.#isHeld(name);
		if (options.create) {
			if (found && found.record !== null) return answer({ kind: "exists" });
			// The name of a deleted session stays held, but retention evicts it from the database.
			return found && isHeld ? answer({ kind: "held", version: 0 }) : { kind: "reserve" };
		}
		if (!found || found.record === null) return answer({ kind: "none" });
		// It is being created or deleted here. Another claim would fence off what is being written.
		if (isHeld) return answer({ kind: "held", version: 0 });
		const { head, owner, address } = found;
		const isTaken = owner !== null && address !== null && owner !== node().id;
		if (isTaken && !(isExpired(found) && lease.mayBury))
			return answer({ kind: "elsewhere", address });
		if (options.accepts && !options.accepts(JSON.parse(found.record)))
			return answer({ kind: "refused" });
		return { kind: "take", head, buries: isTaken };
	}

	#isHeld(name: StreamName): boolean {
		const held = this.#options.held.get(name);
		return held !== undefined && !this.#leaving.has(held);
	}

	#hold(held: Held): void {
		const before = this.#options.held.get(held);
		if (before) this.#leaving.delete(before);
		this.#options.held.add(held);
	}
}

export function isExpired({ left_ms: leftMs }: FoundSession): boolean {
	return leftMs !== null && leftMs < 0;
}

function claimOf(taken: TakenSession | undefined, found: FoundSession | undefined): Claim {
	if (!taken) return { kind: "elsewhere", address: found?.address ?? "another server" };
	const { version, record, isCutOff, isOwn } = taken;
	return { kind: "held", version, isCutOff, ...(isOwn && { isOwn }), ...(record && { record }) };
}
