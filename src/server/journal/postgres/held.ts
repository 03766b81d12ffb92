import { randomUUID } from "node:crypto";
import type { StreamName } from "../journal.ts";
import { streamKey } from "../uncommitted.ts";

/** The right to write for one session, until another process claims it. */
export interface Held extends StreamName {
	readonly head: string;
	readonly epoch: string;
	/** Random: after a fail-over that lost a claim, two processes may have the same epoch, but not the same id. */
	readonly claim: string;
	/** The number of the last statement for the session. */
	writes: number;
	/** The last event number that was given, written or not. */
	last: number;
	isLost: boolean;
}

/** The columns that make a {@link Held}. */
export const HELD_COLUMNS = "heads.id AS head, heads.epoch, heads.claim, heads.last";

export interface HeldRow {
	readonly head: string;
	readonly epoch: string;
	readonly claim: string;
	readonly last: string;
}

export function heldOf(name: StreamName, row: HeldRow): Held {
	const { principal, sessionId } = name;
	const { head, epoch, claim, last } = row;
	return {
		principal,
		sessionId,
		head,
		epoch,
		claim,
		writes: 0,
		last: Number(last),
		isLost: false,
	};
}

/** The sessions of this process. */
export class HeldSessions {
	readonly #held = new Map<string, Held>();
	/** Sessions that another process took: nothing may be written for them. */
	readonly #lost = new Set<string>();

	get(name: StreamName): Held | undefined {
		return this.#held.get(streamKey(name));
	}

	isLost(name: StreamName): boolean {
		return this.#lost.has(streamKey(name));
	}

	all(): Held[] {
		return [...this.#held.values()];
	}

	add(held: Held): void {
		this.#held.set(streamKey(held), held);
		this.#lost.delete(streamKey(held));
	}

	release(held: Held): void {
		const key = streamKey(held);
		if (this.#held.get(key) === held) this.#held.delete(key);
	}

	/** Returns those that were held until now. One that was released before is no loss. */
	lose(all: Iterable<Held>): Held[] {
		const lost: Held[] = [];
		for (const held of all) {
			held.isLost = true;
			if (this.get(held) !== held) continue;
			this.release(held);
			this.#lost.add(streamKey(held));
			lost.push(held);
		}
		return lost;
	}
}

export function newId(): string {
	return randomUUID();
}
