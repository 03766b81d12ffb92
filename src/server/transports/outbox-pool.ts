/** What all outboxes of a server share. */
export interface OutboxPool {
	/** Bytes that wait in all of them or on their wires. */
	queued: number;
	/** Calls `flush` at the end of this turn of the event loop, together with all others. */
	schedule(flush: () => void): void;
}

export function createOutboxPool(): OutboxPool {
	let scheduled: (() => void)[] = [];

	function run(): void {
		const flushes = scheduled;
		scheduled = [];
		for (const flush of flushes) flush();
	}

	return {
		queued: 0,
		schedule(flush) {
			// After all that this turn has read: several commands, and several outcomes from the journal, make one write.
			if (scheduled.push(flush) === 1) setImmediate(run);
		},
	};
}
