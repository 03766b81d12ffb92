import { property } from "../core/property.ts";
import type { PromptTokens, Ttl } from "../economy/index.ts";

/** What a message's `usage` says about the request, by how it was billed. Session files may hold anything. */
export function promptTokens(usage: unknown): PromptTokens {
	const write = countIn(usage, "cacheWrite");
	return {
		input: countIn(usage, "input"),
		read: countIn(usage, "cacheRead"),
		write,
		writeOneHour: Math.min(write, countIn(usage, "cacheWrite1h")),
	};
}

/** For how long the provider keeps what a request wrote to its cache; `undefined` if it wrote nothing. */
export function ttlOf({ write, writeOneHour }: PromptTokens): Ttl | undefined {
	if (write === 0) return undefined;
	return writeOneHour > 0 ? "1h" : "5m";
}

function countIn(usage: unknown, name: string): number {
	const value = property(usage, name);
	return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
