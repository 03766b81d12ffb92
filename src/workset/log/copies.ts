import {
	type ReorganiseDecision,
	type ReorganiseTerms,
	shouldReorganise,
} from "../../economy/index.ts";
import type { Tier } from "../../tiers/index.ts";

/** A file of the working set as it is now. */
export interface WorkingFile {
	readonly path: string;
	readonly hash: string;
	readonly tokens: number;
	/** How stable the tracker holds it to be: the order of the slot. */
	readonly tier: Tier;
	readonly n: number;
}

/** A message in view that holds working files, or held them: the slot or a snapshot. */
export interface Copy {
	readonly entryId: string;
	readonly kind: "slot" | "snapshot";
	/** What it says, in its order. A snapshot has one file; with several, it goes when none of them is live. */
	readonly files: readonly {
		readonly path: string;
		readonly hash: string;
		readonly tokens: number;
	}[];
	/** Tokens of the request behind this message, without the tail. */
	readonly tokensBehind: number;
}

/** One file's text in a message of the working set. */
export interface Span {
	readonly entryId: string;
	/** It stands in the slot. Of several, the last one is the slot; the others are as good as snapshots. */
	readonly inSlot: boolean;
	readonly path: string;
	readonly hash: string;
	readonly tokens: number;
	/** Tokens of the request behind it, without the tail. */
	readonly behind: number;
	/** It says what the file is now, and no later copy says anything else. */
	readonly live: boolean;
}

/** All texts in view in their order, each live or dead. */
export function spansOf(copies: readonly Copy[], files: readonly WorkingFile[]): Span[] {
	const slotId = slotIn(copies);
	const spans = copies.flatMap(({ entryId, files: held, tokensBehind }) => {
		let behind = tokensBehind + held.reduce((sum, { tokens }) => sum + tokens, 0);
		return held.map((file): Span => {
			behind -= file.tokens;
			return { ...file, entryId, inSlot: entryId === slotId, behind, live: false };
		});
	});
	return judged(spans, files);
}

/** The same spans, live or dead as if they were all there is: without a later copy, an earlier one may count again. */
export function judged(spans: readonly Span[], files: readonly WorkingFile[]): Span[] {
	const current = new Map(files.map(({ path, hash }) => [path, hash]));
	const last = new Map(spans.map(({ path }, at) => [path, at]));
	return spans.map((span, at) => ({
		...span,
		live: last.get(span.path) === at && current.get(span.path) === span.hash,
	}));
}

/** The slot among the messages in view. */
export function slotIn(copies: readonly Copy[]): string | undefined {
	return copies.findLast(({ kind }) => kind === "slot")?.entryId;
}

/** Tokens of the texts that are dead. */
export function deadTokens(spans: readonly Span[]): number {
	return spans.reduce((sum, { live, tokens }) => (live ? sum : sum + tokens), 0);
}

/** Messages that hold nothing live, and go without anything else being changed; the slot is never one of them. */
export function deadMessages(spans: readonly Span[]): Set<string> {
	const holding = new Set(spans.filter(({ live }) => live).map(({ entryId }) => entryId));
	const others = spans.filter(({ inSlot, entryId }) => !inSlot && !holding.has(entryId));
	return new Set(others.map(({ entryId }) => entryId));
}

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
