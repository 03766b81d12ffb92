import { INVALIDATION_ENTRY } from "../core/entry-types.ts";
import type { CustomItem } from "../session/index.ts";
import { type LineRange, parseScopeKey } from "./metadata.ts";

/** What a refresh leaves in the session: from here on, on this branch, these lines count as not seen. */
export interface Invalidation {
	v: 1;
	kind: "invalidate";
	pathKey: string;
	scopeKey: string;
	at: number;
}

/** Reads a stored invalidation; anything malformed counts as none. */
export function parseInvalidation(
	item: CustomItem,
): { pathKey: string; scope: LineRange | "full" } | undefined {
	if (item.customType !== INVALIDATION_ENTRY) return undefined;
	if (typeof item.data !== "object" || item.data === null) return undefined;
	const { v, kind, pathKey, scopeKey } = item.data as Partial<Record<keyof Invalidation, unknown>>;
	const scope = parseScopeKey(scopeKey);
	if (v !== 1 || kind !== "invalidate" || typeof pathKey !== "string" || !scope) return undefined;
	return { pathKey, scope };
}
