import {
	type ReorganiseDecision,
	type ReorganiseTerms,
	shouldReorganise,
} from "../../economy/index.ts";
import { deadMessages, deadTokens, type Span } from "./copies.ts";

/** A reorganisation of a warm conversation: where it begins, and what it frees. All before it stays as it is. */
export interface Cut {
	/** Index of the first span that changes. */
	readonly at: number;
	/** Dead texts that share a message with live ones go too: all that is live from `at` on moves into the slot. */
	readonly refills: boolean;
	readonly freed: number;
	/** Tokens that stay and have to be written anew. */
	readonly rewritten: number;
}

/** What is known when a cut is judged. */
export type CutTerms = Omit<ReorganiseTerms, "tokensAfterFirst" | "deadTokens">;

/**
 * The cut that is most worth its cost, and whether it is to be made now. Copies that died lately have little behind
 * them, so it can pay to take those out long before the ones at the start.
 */
export function judgeCuts(
	spans: readonly Span[],
	terms: CutTerms,
): { cut: Cut | undefined; decision: ReorganiseDecision } {
	const cuts = cutsOf(spans);
	const judge = (cut: Cut | undefined) => ({
		cut,
		decision: shouldReorganise({
			...terms,
			tokensAfterFirst: cut ? Math.max(1, cut.rewritten) : 0,
			deadTokens: cut?.freed ?? 0,
		}),
	});
	const best = judge(greatest(cuts, worth));
	if (best.decision.why !== "near-limit") return best;
	const largest = judge(greatest(cuts, ({ freed }) => freed));
	if ((largest.cut?.freed ?? 0) >= LEAST_ROOM * terms.contextWindow) return largest;
	// Else every request next to the limit would be rewritten for a few tokens.
	const pays = (best.cut?.freed ?? 0) >= best.decision.threshold;
	return {
		...best,
		decision: { ...best.decision, reorganise: pays, why: pays ? "pays" : "waits" },
	};
}

/** The share of the window that a reorganisation next to its end must free. */
const LEAST_ROOM = 0.02;

/**
 * A rewrite is due once it frees √(c · rewritten) tokens, with the same c for every cut of a moment; so the square tells
 * which one is due first.
 */
function worth({ freed, rewritten }: Cut): number {
	return freed ** 2 / Math.max(1, rewritten);
}

/** Every place to begin at: before each message in which all is dead, and before the first dead text among live ones. */
function cutsOf(spans: readonly Span[]): Cut[] {
	const dead = deadMessages(spans);
	const cuts: Cut[] = [];
	let freed = 0;
	for (const [at, span] of [...spans.entries()].reverse()) {
		if (!dead.has(span.entryId)) continue;
		cuts.push({ at, refills: false, freed: freed + span.tokens, rewritten: span.behind - freed });
		freed += span.tokens;
	}
	const mixed = spans.findIndex(({ live, entryId }) => !live && !dead.has(entryId));
	if (mixed >= 0) cuts.push(refillingCut(spans, mixed));
	return cuts;
}

/** Only the slot can be filled anew in part, so another message changes from its start on. */
function refillingCut(spans: readonly Span[], dead: number): Cut {
	const { inSlot, entryId } = spans[dead] as Span;
	const at = inSlot ? dead : spans.findIndex((span) => span.entryId === entryId);
	const { behind, tokens } = spans[at] as Span;
	const freed = deadTokens(spans.slice(at));
	return { at, refills: true, freed, rewritten: behind + tokens - freed };
}

function greatest(cuts: readonly Cut[], measure: (cut: Cut) => number): Cut | undefined {
	return cuts.reduce<Cut | undefined>(
		(best, cut) => (best && measure(best) >= measure(cut) ? best : cut),
		undefined,
	);
}
