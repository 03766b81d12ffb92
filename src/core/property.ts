/** A property of a value from outside, whatever that value is; `undefined` where there is none. */
export function property(value: unknown, key: string): unknown {
	return typeof value === "object" && value !== null
		? (value as Record<string, unknown>)[key]
		: undefined;
}
