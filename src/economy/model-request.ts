import type { Ttl } from "../core/bill.ts";

/** The parts of a prompt, in the order of prefix matching. */
export const PARTS = ["tools", "system", "messages"] as const;
export type Part = (typeof PARTS)[number];

/** A piece of a prompt. A cached prefix can end after it. Equal hashes mean equal bytes. */
export interface Block {
	readonly part: Part;
	readonly hash: string;
	readonly tokens: number;
	/** For display, such as `result of read src/a.ts`. Never the block's text. */
	readonly label: string;
}

/** Request settings that may invalidate the cache when they change. */
export type Setting = "model" | "toolChoice" | "images" | "thinking" | "effort";

export interface Breakpoint {
	/** Index of the last block to cache. */
	readonly after: number;
	readonly ttl: Ttl;
}

/** One call to a provider, as its prompt cache sees it. */
export interface ModelRequest {
	readonly atMs: number;
	readonly blocks: readonly Block[];
	readonly breakpoints: readonly Breakpoint[];
	/** True if the provider is known to have lost its cache. */
	readonly cold?: boolean;
	/** Values are only compared. A setting is present in all requests or in none. */
	readonly settings?: Readonly<Partial<Record<Setting, string>>>;
}

/** Counts identical leading objects. A request shares block objects with its predecessor. */
export function sharedStart(before: readonly unknown[], now: readonly unknown[]): number {
	const most = Math.min(before.length, now.length);
	for (let at = 0; at < most; at++) if (before[at] !== now[at]) return at;
	return most;
}
