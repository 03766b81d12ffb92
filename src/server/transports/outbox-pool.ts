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
	let scheduled: (() => void)[] = [];
	let later: (() => void)[] = [];

	function run(): void {
		const flushes = scheduled;
		scheduled = [];
		for (const flush of flushes) flush();
	}

	function runLater(): void {
		const flushes = later;
		later = [];
		for (const flush of flushes) flush();
	}

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
		schedule(flush) {
			// After all that this turn has read: several commands, and several outcomes from the journal, make one write.
			if (scheduled.push(flush) === 1) setImmediate(run);
		},
		scheduleLater(flush) {
			if (later.push(flush) === 1) setTimeout(runLater, LATER_MS);
		},
	};
	return pool;
}
