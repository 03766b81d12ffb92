import { isRecord, property } from "../core/property.ts";
import { canCarryBreakpoint, withExtraBreakpoint } from "../economy/index.ts";
import { EDIT } from "./applied.ts";

/** The beta that the field `context_management` needs. */
const BETA = "context-management-2025-06-27";

/** Why a request is sent without clearing. */
type Refused =
	/** it has no list of messages */
	| "unreadable"
	/** the agent itself asks the provider to clear results or to compact */
	| "edited"
	/** it holds calls that the provider may count in another way, such as those of its own tools */
	| "unknown-calls"
	/** calls and results are not one to one, or not in the same order of messages */
	| "unpaired";

/** The calls with results, in the order in which the provider clears them. */
export function callsIn(payload: unknown): readonly string[] | Refused {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return "unreadable";
	if (editsIn(payload) === undefined) return "edited";
	const blocks = messages.map((message) => property(message, "content")).flatMap(blocksOf);
	const calls: string[] = [];
	const results: string[] = [];
	for (const block of blocks) {
		const type = property(block, "type");
		if (type === "tool_use") calls.push(String(property(block, "id")));
		else if (type === "tool_result") results.push(String(property(block, "tool_use_id")));
		else if (/tool_use$|tool_result$/.test(String(type))) return "unknown-calls";
	}
	const isPaired =
		calls.length === results.length &&
		new Set(calls).size === calls.length &&
		isSame(calls, results);
	return isPaired ? calls : "unpaired";
}

/**
 * Returns a copy that asks the provider to clear the first `cleared` results, with a breakpoint before the result
 * `frontier`: the first one that the last request did not clear. What precedes it can be read from the cache.
 * `undefined`: nothing changes, or clearing must not be asked for.
 */
export function withClearing(
	payload: unknown,
	cleared: number,
	frontier = cleared,
): object | undefined {
	const calls = callsIn(payload);
	if (typeof calls === "string" || cleared > calls.length) return undefined;
	const betas = property(payload, "betas") ?? [];
	if (!Array.isArray(betas)) return undefined;
	const marked = withFrontier(payload, calls[frontier]);
	if (cleared <= 0) return marked;
	const management = property(payload, "context_management");
	const edit = {
		type: EDIT,
		// The smallest: what is cleared depends on `keep` alone.
		trigger: { type: "tool_uses", value: 1 },
		keep: { type: "tool_uses", value: calls.length - cleared },
	};
	return {
		...(marked ?? (payload as object)),
		betas: betas.includes(BETA) ? betas : [...betas, BETA],
		context_management: {
			...(isRecord(management) && management),
			edits: [...(editsIn(payload) ?? []), edit],
		},
	};
}

/** Sets a breakpoint before the result of a call, so that the next clearing rewrites only what follows. */
function withFrontier(payload: unknown, call: string | undefined): object | undefined {
	if (call === undefined) return undefined;
	return withExtraBreakpoint(payload, (messages) => {
		let last: { message: number; block: number } | undefined;
		for (const [message, { content }] of (messages as { content?: unknown }[]).entries()) {
			if (!Array.isArray(content)) continue;
			for (const [block, piece] of content.entries()) {
				if (property(piece, "tool_use_id") === call) return last;
				// Only the block right before: where the simulation has it.
				last = canCarryBreakpoint(piece) ? { message, block } : undefined;
			}
		}
		return undefined;
	});
}

/** The agent's edits of thinking, which precede ours; `undefined` if there are others. */
function editsIn(payload: unknown): readonly unknown[] | undefined {
	const management = property(payload, "context_management") ?? {};
	const edits = property(management, "edits") ?? [];
	if (!Array.isArray(edits)) return undefined;
	const isThinking = (edit: unknown) =>
		String(property(edit, "type")).startsWith("clear_thinking_");
	return edits.every(isThinking) ? edits : undefined;
}

function blocksOf(content: unknown): readonly unknown[] {
	return Array.isArray(content) ? content : [];
}

/** Results of one message may stand in another order than their calls. */
function isSame(calls: readonly string[], results: readonly string[]): boolean {
	const known = new Set(calls);
	return results.every((id) => known.delete(id));
}
