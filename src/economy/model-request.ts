import type { Ttl } from "../core/bill.ts";
import { PARTS, type Part } from "../wire/index.ts";

export { PARTS, type Part };

/** A piece of a prompt. A cached prefix can end after it. Equal hashes mean equal bytes. */
export interface Block {
	readonly part: Part;
	readonly hash: string;
	readonly tokens: number;
	/** For display, such as `result of read src/a.ts`. Never the block's text. */
	readonly label: string;
	/** Set for tool calls and tool results: consecutive ones of a kind are one position of the provider's look-back. */
	readonly run?: "calls" | "results";
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
	/** Start of the request. */
	readonly atMs: number;
	readonly blocks: readonly Block[];
	readonly breakpoints: readonly Breakpoint[];
	/** True if the provider is known to have lost its cache. */
	readonly cold?: boolean;
	/** How many leading blocks are known to be cached, by requests of other sessions. */
	readonly warmBlocks?: number;
	/** True if the provider is known to have kept entries beyond their lifetime until this request. */
	readonly keptAlive?: boolean;
	/** Values are only compared. A setting is present in all requests or in none. */
	readonly settings?: Readonly<Partial<Record<Setting, string>>>;
}

/** The first block that a search back from `last` reaches; the position of `last` counts. */
export function lookbackStart(blocks: readonly Block[], last: number, positions: number): number {
	if (positions > last) return 0; // a block is at most one position
	let left = positions;
	let later: Block["run"];
	for (let at = last; at >= 0; at--) {
		const run = blocks[at]?.run;
		if (run === undefined || run !== later) left--;
		if (left < 0) return at + 1;
		later = run;
	}
	return 0;
}

/** Counts the identical leading objects: a request shares block objects with its predecessor. */
export function sharedStart(before: readonly unknown[], now: readonly unknown[]): number {
	const most = Math.min(before.length, now.length);
	for (let at = 0; at < most; at++) if (before[at] !== now[at]) return at;
	return most;
}
