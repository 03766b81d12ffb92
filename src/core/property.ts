/** A property of a value from outside, whatever that value is; `undefined` where there is none. */
export function property(value: unknown, key: string): unknown {
	return typeof value === "object" && value !== null
		? (value as Record<string, unknown>)[key]
		: undefined;
}

/** A property of a value from outside that should be a count of something; 0 where it is no positive number. */
export function countIn(value: unknown, key: string): number {
	const count = property(value, key);
	return typeof count === "number" && Number.isFinite(count) && count > 0 ? count : 0;
}

/** Whether a value from outside is an object and no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
