export function errnoOf(error: unknown): string | undefined {
	if (!(error instanceof Error) || !("code" in error)) return undefined;
	return typeof error.code === "string" ? error.code : undefined;
}

export function describeError(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
