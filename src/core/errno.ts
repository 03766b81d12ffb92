/** The code of a failed system call (`ENOENT`, `ENOSPC`, …), if the error carries one. */
export function errnoOf(error: unknown): string | undefined {
	if (!(error instanceof Error) || !("code" in error)) return undefined;
	return typeof error.code === "string" ? error.code : undefined;
}

/** One line for a person: the message of an error, or whatever was thrown instead of one. */
export function describeError(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
