/** Loads replay, which a running session of pi never needs. */
export function loadReplay(): Promise<typeof import("./index.ts")> {
	return import("./index.ts");
}
