import type { ReplayMissCause } from "../economy/replay/index.ts";
import type { UsageTokens } from "./file-usage.ts";

/** Added up over requests. */
export interface Sums {
	readonly requests: number;
	readonly tokens: UsageTokens;
	/** Of the requests with known prices; absent if there is none. */
	readonly dollars?: number;
	/** Requests of models without known prices. `dollars` does not include them. */
	readonly unpriced: number;
	readonly misses: MissesByCause;
}

type MissesByCause = Readonly<Partial<Record<ReplayMissCause, MissSums>>>;

export interface MissSums {
	readonly count: number;
	readonly tokens: number;
	/** Extra cost over a cache read; absent if no price is known. */
	readonly dollars?: number;
}

export const NOTHING: Sums = {
	requests: 0,
	tokens: { input: 0, read: 0, write: 0, writeOneHour: 0, output: 0 },
	unpriced: 0,
	misses: {},
};

export function added(a: Sums, b: Sums): Sums {
	const misses: Partial<Record<ReplayMissCause, MissSums>> = { ...a.misses };
	for (const [cause, sums] of missEntries(b.misses)) misses[cause] = addedMiss(misses[cause], sums);
	return {
		requests: a.requests + b.requests,
		tokens: {
			input: a.tokens.input + b.tokens.input,
			read: a.tokens.read + b.tokens.read,
			write: a.tokens.write + b.tokens.write,
			writeOneHour: a.tokens.writeOneHour + b.tokens.writeOneHour,
			output: a.tokens.output + b.tokens.output,
		},
		...dollarsTogether(a, b),
		unpriced: a.unpriced + b.unpriced,
		misses,
	};
}

function addedMiss(a: MissSums | undefined, b: MissSums): MissSums {
	if (!a) return b;
	const { count, tokens } = a;
	return { count: count + b.count, tokens: tokens + b.tokens, ...dollarsTogether(a, b) };
}

/** The misses of all causes together. */
export function allMisses(misses: MissesByCause): MissSums {
	return Object.values(misses).reduce<MissSums>(addedMiss, { count: 0, tokens: 0 });
}

/** The dearest first; those of unknown price by tokens. */
export function missEntries(misses: MissesByCause): [ReplayMissCause, MissSums][] {
	const entries = Object.entries(misses) as [ReplayMissCause, MissSums][];
	return entries.sort(([, a], [, b]) => (b.dollars ?? 0) - (a.dollars ?? 0) || b.tokens - a.tokens);
}

/** The share of all prompts that was read from a cache; 0 without prompts. */
export function hitRate({ input, read, write }: UsageTokens): number {
	return read === 0 ? 0 : read / (input + read + write);
}

function dollarsTogether(a: { dollars?: number }, b: { dollars?: number }): { dollars?: number } {
	if (a.dollars === undefined && b.dollars === undefined) return {};
	return { dollars: (a.dollars ?? 0) + (b.dollars ?? 0) };
}
