/** The error message that pi's own tools use for an aborted call. */
export const ABORTED = "Operation aborted";

export class AbortedError extends Error {
	readonly code = "aborted";

	constructor(cause?: unknown) {
		super(ABORTED, cause === undefined ? undefined : { cause });
	}
}
