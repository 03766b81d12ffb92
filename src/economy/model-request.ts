import type { Ttl } from "../core/bill.ts";

/** In the order of prefix matching. */
export const PARTS = ["tools", "system", "messages"] as const;
export type Part = (typeof PARTS)[number];

/** A piece of a prompt. A cached prefix can end after it. Equal hashes mean equal bytes. */
export interface Block {
	readonly part: Part;
	readonly hash: string;
	readonly tokens: number;
	/** For people: `tool result of read src/a.ts`. Never the text itself. */
	readonly label: string;
}

/** A change of one may invalidate the cache. */
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
	/** The provider is known to have lost its cache. */
	readonly cold?: boolean;
	/** Any wording; a setting is present in all requests or in none. */
	readonly settings?: Readonly<Partial<Record<Setting, string>>>;
}

/** Compares identity: a request shares its leading block objects with its predecessor. */
export function sharedStart(before: readonly unknown[], now: readonly unknown[]): number {
	const most = Math.min(before.length, now.length);
	for (let at = 0; at < most; at++) if (before[at] !== now[at]) return at;
	return most;
}
