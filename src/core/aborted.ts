/** What pi's own tools say when a call is aborted. */
export const ABORTED = "Operation aborted";

/** Thrown where a call is aborted: pi's own words, and the code that our own errors have for it. */
export class AbortedError extends Error {
	readonly code = "aborted";

	constructor(cause?: unknown) {
		super(ABORTED, cause === undefined ? undefined : { cause });
	}
}
