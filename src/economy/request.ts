import type { Ttl } from "../core/bill.ts";

export type { PromptTokens, Ttl } from "../core/bill.ts";

/** The parts of a request in the order in which providers match prefixes. */
export type Part = "tools" | "system" | "messages";

/** One piece of a request that a cached prefix can end behind. Equal hashes stand for equal bytes. */
export interface Block {
	readonly part: Part;
	readonly hash: string;
	readonly tokens: number;
	/** For people: `tool result of read src/a.ts`. Never the text itself. */
	readonly label: string;
}

/** What can differ between two requests besides their blocks, and may cost what was cached. */
export type Setting = "model" | "toolChoice" | "images" | "thinking" | "effort";

/** A cache marker behind a block. */
export interface Breakpoint {
	/** Index of the last block that the marker covers. */
	readonly after: number;
	readonly ttl: Ttl;
}

/** A request as far as caching and cost are concerned. */
export interface Request {
	readonly atMs: number;
	readonly blocks: readonly Block[];
	readonly breakpoints: readonly Breakpoint[];
	/** The provider is known to have lost what it had cached. */
	readonly cold?: boolean;
	/** What the request was sent with, in any wording; a setting is given in all requests or in none. */
	readonly settings?: Readonly<Partial<Record<Setting, string>>>;
}

/**
 * How many leading blocks of two requests are the same objects. Requests of a session start like the one before, so
 * a walk through many of them has to look only at what comes behind these.
 */
export function sharedStart(before: readonly unknown[], now: readonly unknown[]): number {
	const most = Math.min(before.length, now.length);
	for (let at = 0; at < most; at++) if (before[at] !== now[at]) return at;
	return most;
}
