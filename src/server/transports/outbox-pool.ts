/** What all outboxes of a server share. */
export interface OutboxPool {
	/** Bytes that wait in all of them or on their wires. */
	queued: number;
	/** The outboxes that hold something, or may. */
	readonly members: Set<PoolMember>;
	/** Has those give up that hold most, until at most `bytes` wait in all of them. */
	shrink(bytes: number): void;
	/** Calls `flush` at the end of this turn of the event loop, together with all others. */
	schedule(flush: () => void): void;
	/** The same within {@link LATER_MS}. */
	scheduleLater(flush: () => void): void;
}

/** Long enough that one write takes what several turns have brought, too short to notice. */
const LATER_MS = 10;

/** An outbox as the others see it. */
export interface PoolMember {
	readonly pending: number;
	giveUp(why: string): void;
}

export function createOutboxPool(): OutboxPool {
	const members = new Set<PoolMember>();
	const pool: OutboxPool = {
		queued: 0,
		members,
		shrink(bytes) {
			while (pool.queued > bytes && members.size > 0) {
				let largest: PoolMember | undefined;
				for (const member of members) {
					if (!largest || member.pending > largest.pending) largest = member;
				}
				largest?.giveUp("the server is out of room");
			}
		},
		// After all that this turn has read: several commands, and several outcomes from the journal, make one write.
		schedule: together((run) => void setImmediate(run)),
		scheduleLater: together((run) => void setTimeout(run, LATER_MS)),
	};
	return pool;
}

/** Collects calls until what was started with the first of them runs them all. */
function together(start: (run: () => void) => void): (call: () => void) => void {
	let waiting: (() => void)[] = [];
	const run = () => {
		const calls = waiting;
		waiting = [];
		for (const call of calls) call();
	};
	return (call) => {
		if (waiting.push(call) === 1) start(run);
	};
}
