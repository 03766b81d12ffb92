/** The message of pi's own tools when aborted. */
export const ABORTED = "Operation aborted";

export class AbortedError extends Error {
	readonly code = "aborted";

	constructor(cause?: unknown) {
		super(ABORTED, cause === undefined ? undefined : { cause });
	}
}
