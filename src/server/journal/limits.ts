/** Bounds of a journal. */
export interface JournalLimits {
	/** Commands and events are forgotten after this time. */
	maxAgeMs: number;
	/** Above this, the oldest are forgotten. */
	maxBytes: number;
	/** The file never becomes larger: where forgetting does not keep up, the journal refuses as on a full disk. */
	maxFileBytes: number;
	/** Records that wait for the disk. */
	pendingBytes: number;
	/** An outcome larger than this is not kept. */
	outcomeBytes: number;
	/** Conversations of one principal whose owner is known; of more, the oldest are forgotten. */
	maxOwned: number;
	/** How often a journal that refuses looks whether it still has to. */
	retryMs: number;
	/** How often it looks for what is too old. */
	sweepMs: number;
}

const MEGABYTE = 2 ** 20;
const MINUTE_MS = 60_000;

export const defaultJournalLimits: Readonly<JournalLimits> = {
	maxAgeMs: 14 * 24 * 60 * MINUTE_MS,
	maxBytes: 512 * MEGABYTE,
	maxFileBytes: 1_024 * MEGABYTE,
	pendingBytes: 64 * MEGABYTE,
	outcomeBytes: MEGABYTE,
	maxOwned: 50_000,
	retryMs: 1_000,
	sweepMs: MINUTE_MS,
};
