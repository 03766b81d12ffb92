import type { Ttl } from "../../core/bill.ts";
import { isRecord, property } from "../../core/property.ts";
import { canCarryBreakpoint, MAX_BREAKPOINTS } from "./breakpoints.ts";
import { mapBlocks, type Placed } from "./payload-blocks.ts";

/** A copy of an Anthropic payload with every breakpoint at this lifetime; `undefined` if nothing changes. */
export function withTtl(payload: object, ttl: Ttl): object | undefined {
	let isChanged = false;
	const { payload: copy } = mapBlocks(payload, (block) => {
		const control = property(block, "cache_control");
		if (!isRecord(control) || ttlIn(control) === ttl) return block;
		isChanged = true;
		return { ...block, cache_control: controlFor(control, ttl) };
	});
	return isChanged ? copy : undefined;
}

/**
 * A copy with a breakpoint at block `anchor`, so that the entry there is read and stays alive; the payload itself if
 * it has one. The breakpoint has the payload's own lifetime: if the entry is gone, writing it costs no more than
 * without an anchor. `undefined` if it cannot be placed.
 */
export function withAnchor(payload: object, anchor: number): object | undefined {
	const { blocks } = mapBlocks(payload, (block) => block);
	const marked = blocks.filter(isMarked);
	const control = property(marked[0]?.block, "cache_control");
	const target = blocks[anchor];
	if (!control || !target) return undefined;
	if (isMarked(target)) return payload;
	if (!canCarryBreakpoint(target.block)) return undefined;
	// The system prompt's breakpoint covers the tools too.
	const dropped = marked.length >= MAX_BREAKPOINTS ? spareIn(blocks) : undefined;
	if (marked.length - (dropped === undefined ? 0 : 1) >= MAX_BREAKPOINTS) return undefined;
	return mapBlocks(payload, (block, at) => {
		if (at === anchor) return { ...block, cache_control: control };
		if (at !== dropped) return block;
		const { cache_control: _, ...bare } = block;
		return bare;
	}).payload;
}

function isMarked({ block }: Placed): boolean {
	return isRecord(property(block, "cache_control"));
}

/** The index of a breakpoint that another one covers. */
function spareIn(blocks: readonly Placed[]): number | undefined {
	if (!blocks.some((one) => one.part === "system" && isMarked(one))) return undefined;
	const at = blocks.findIndex((one) => one.part === "tools" && isMarked(one));
	return at < 0 ? undefined : at;
}

function ttlIn(control: Record<string, unknown>): Ttl {
	return control.ttl === "1h" ? "1h" : "5m";
}

function controlFor(control: Record<string, unknown>, ttl: Ttl): object {
	const { ttl: _, ...bare } = control;
	return ttl === "1h" ? { ...bare, ttl } : bare;
}
