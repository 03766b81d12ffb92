/** No context holds this many tokens; a larger figure is invalid and would dwarf all others. */
const MAX_COUNT = 1e9;

/** An untrusted count; 0 if it is none. */
export function countOf(value: unknown): number {
	return typeof value === "number" && value >= 0 && value <= MAX_COUNT ? Math.round(value) : 0;
}

/** What a `Date` can hold. */
const MAX_TIME_MS = 8.64e15;

/** An untrusted time in milliseconds, from a number or an ISO date. */
export function timeOf(value: unknown): number | undefined {
	const ms = typeof value === "string" ? Date.parse(value) : value;
	return typeof ms === "number" && Math.abs(ms) <= MAX_TIME_MS ? ms : undefined;
}

/** The service tier or speed of a request; `undefined` for the one that list prices are for. */
export function tierOf(...values: readonly unknown[]): string | undefined {
	const named = values.filter((value): value is string => typeof value === "string");
	return named.find((value) => !LISTED_TIERS.has(value))?.slice(0, MAX_ID_LENGTH);
}

const LISTED_TIERS: ReadonlySet<string> = new Set(["", "standard", "default", "auto"]);

export function textOr(value: unknown, otherwise: string): string {
	return typeof value === "string" ? value : otherwise;
}

export function listOf(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

/** Ids of agents have 8 to 36 characters. An untrusted file must not fill memory with longer ones. */
export const MAX_ID_LENGTH = 256;
