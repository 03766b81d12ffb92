/** Reads a property of an untrusted value. */
export function property(value: unknown, key: string): unknown {
	return typeof value === "object" && value !== null
		? (value as Record<string, unknown>)[key]
		: undefined;
}

/** Reads a count from an untrusted value; 0 unless the property is a positive number. */
export function countIn(value: unknown, key: string): number {
	const count = property(value, key);
	return typeof count === "number" && Number.isFinite(count) && count > 0 ? count : 0;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
