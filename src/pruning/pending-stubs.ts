import { property } from "../core/property.ts";
import { type ToolResultItem, textOf } from "../session/index.ts";
import type { Candidate } from "./candidates.ts";
import type { Plan } from "./plan.ts";
import type { Pruned } from "./prune.ts";

/** Why a batch was pruned, and what that made the provider write again. */
export type BatchPlan = Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost">;

/** A batch that the session now shows. */
export interface Settled extends BatchPlan {
	readonly results: number;
	readonly freedTokens: number;
}

/**
 * Stubs on their way into the session. Until it shows them they are put into every request and asked to be persisted
 * again: another extension may have dropped them, and a request must not show again what one before has hidden.
 */
export interface PendingStubs {
	add(pruned: readonly Pruned[], plan: BatchPlan): void;
	/** The messages of a request with stubs in them; `undefined` when there is nothing to change. */
	applyTo(messages: readonly unknown[]): unknown[] | undefined;
	/** What has to be persisted, of the results that are in the context. */
	toPersist(results: ReadonlyMap<string, ToolResultItem>): Pruned[];
	/** Takes out what the session shows, or what is not in the context any more. Returns the batches that have come in. */
	settle(results: ReadonlyMap<string, ToolResultItem>): Settled[];
	has(entryId: string): boolean;
	/** Gives a stub up: the next request shows the text again. */
	drop(entryId: string): void;
	clear(): void;
}

/** Makes an empty set. */
export function createPendingStubs(): PendingStubs {
	const pending = new Map<string, { pruned: Pruned; plan: BatchPlan }>();
	return {
		add(batch, plan) {
			for (const pruned of batch) pending.set(pruned.entryId, { pruned, plan });
		},
		applyTo(messages) {
			if (pending.size === 0) return undefined;
			const byCall = new Map(
				[...pending.values()].map(({ pruned }) => [pruned.toolCallId, pruned]),
			);
			let isChanged = false;
			const changed = messages.map((message) => {
				const pruned = byCall.get(String(property(message, "toolCallId")));
				if (!pruned || property(message, "role") !== "toolResult") return message;
				// Ids may be used twice, and others may have changed the text: only the very result is replaced.
				if (textOf(property(message, "content")) !== pruned.original) return message;
				isChanged = true;
				return { ...(message as object), content: contentOf(pruned) };
			});
			return isChanged ? changed : undefined;
		},
		toPersist: (results) =>
			[...pending.values()]
				.map(({ pruned }) => pruned)
				.filter(({ entryId, original }) => results.get(entryId)?.text === original),
		settle(results) {
			const settled = new Map<BatchPlan, { results: number; freedTokens: number }>();
			for (const [entryId, { pruned, plan }] of pending) {
				const text = results.get(entryId)?.text;
				if (text === pruned.original) continue;
				pending.delete(entryId);
				if (text !== pruned.stub) continue; // left the context, or somebody else edited it
				const sum = settled.get(plan) ?? { results: 0, freedTokens: 0 };
				sum.results++;
				sum.freedTokens += pruned.freedTokens;
				settled.set(plan, sum);
			}
			return [...settled].map(([{ why, rewrittenTokens, rewriteCost }, sum]) => ({
				why,
				rewrittenTokens,
				rewriteCost,
				...sum,
			}));
		},
		has: (entryId) => pending.has(entryId),
		drop: (entryId) => void pending.delete(entryId),
		clear: () => pending.clear(),
	};
}

/** Candidates that can be replaced in a request: there results are known by their calls, and some ids are used twice. */
export function knownByCall(
	candidates: readonly Candidate[],
	results: ReadonlyMap<string, ToolResultItem>,
): Candidate[] {
	const byCall = Map.groupBy(results.values(), ({ toolCallId }) => toolCallId);
	return candidates.filter(({ item }) => byCall.get(item.toolCallId)?.length === 1);
}

/** What stands in the session for a pruned result. In a list, as tools return it: pi sends both forms alike. */
export function contentOf({ stub }: Pruned): { type: "text"; text: string }[] {
	return [{ type: "text", text: stub }];
}
