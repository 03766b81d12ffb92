import { shouldReorganise } from "../../economy/index.ts";
import type { Tier } from "../../tiers/index.ts";

interface FileVersion {
	readonly path: string;
	readonly hash: string;
	readonly tokens: number;
}

export interface WorkingFile extends FileVersion {
	/** Stability according to the tracker. It determines the order in the slot. */
	readonly tier: Tier;
	readonly n: number;
}

/** A message in view that contains working files: the slot or a snapshot. */
export interface Copy {
	readonly entryId: string;
	readonly kind: "slot" | "snapshot";
	/** In message order. A snapshot of several files is dropped when none of them is live. */
	readonly files: readonly FileVersion[];
	/** Number of tokens that follow this message in the request, without the tail. */
	readonly tokensBehind: number;
}

export interface Span extends FileVersion {
	readonly entryId: string;
	/** Whether the span is in the last slot. Earlier slots are treated as snapshots. */
	readonly inSlot: boolean;
	/** Tokens of the request after this span, without the tail. */
	readonly behind: number;
	/** Whether the span is the last copy of its file and equals the current file. */
	readonly live: boolean;
}

export function spansOf(copies: readonly Copy[], files: readonly WorkingFile[]): Span[] {
	const slotId = slotIn(copies);
	const spans = copies.flatMap(({ entryId, files: held, tokensBehind }) => {
		let behind = tokensBehind + held.reduce((sum, { tokens }) => sum + tokens, 0);
		return held.map((file): Span => {
			behind -= file.tokens;
			return { ...file, entryId, inSlot: entryId === slotId, behind, live: false };
		});
	});
	return withLiveness(spans, files);
}

/** Recomputes `live` for some of the spans: without a later copy, an earlier one may be live again. */
export function withLiveness(spans: readonly Span[], files: readonly WorkingFile[]): Span[] {
	const current = new Map(files.map(({ path, hash }) => [path, hash]));
	const last = new Map(spans.map(({ path }, at) => [path, at]));
	return spans.map((span, at) => ({
		...span,
		live: last.get(span.path) === at && current.get(span.path) === span.hash,
	}));
}

export function slotIn(copies: readonly Copy[]): string | undefined {
	return copies.findLast(({ kind }) => kind === "slot")?.entryId;
}

export function deadTokens(spans: readonly Span[]): number {
	return spans.reduce((sum, { live, tokens }) => (live ? sum : sum + tokens), 0);
}

/** Messages without live text, which are safe to drop. Never includes the slot. */
export function deadMessages(spans: readonly Span[]): Set<string> {
	const holding = new Set(spans.filter(({ live }) => live).map(({ entryId }) => entryId));
	const others = spans.filter(({ inSlot, entryId }) => !inSlot && !holding.has(entryId));
	return new Set(others.map(({ entryId }) => entryId));
}

/** A reorganisation of a warm conversation. Everything before `at` stays unchanged. */
export interface Cut {
	/** Index of the first span that changes. */
	readonly at: number;
	/** If true, all live text from `at` on moves into the slot, so the dead text in between is freed too. */
	readonly refills: boolean;
	readonly freed: number;
	/** Tokens that stay but are written again. */
	readonly rewritten: number;
}

type Terms = Parameters<typeof shouldReorganise>[0];

/** Chooses a cut. Little text follows recently dead copies, so dropping them pays earlier. */
export function judgeCuts(
	spans: readonly Span[],
	terms: Omit<Terms, "tokensAfterFirst" | "deadTokens">,
): { cut: Cut | undefined; decision: ReturnType<typeof shouldReorganise> } {
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
	// Otherwise every request near the limit would be rewritten to free a few tokens.
	const pays = (best.cut?.freed ?? 0) >= best.decision.threshold;
	return {
		...best,
		decision: { ...best.decision, reorganise: pays, why: pays ? "pays" : "waits" },
	};
}

/** Minimum share of the window that a reorganisation near the limit must free. */
const LEAST_ROOM = 0.02;

/** A cut pays if it frees √(c · rewritten) tokens. All cuts have the same c, so this ratio ranks them. */
function worth({ freed, rewritten }: Cut): number {
	return freed ** 2 / Math.max(1, rewritten);
}

/** Possible cuts: before each dead message, and before the first dead text in a live message. */
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

/** Only the slot can be refilled in part. Any other message changes from its start. */
function refillingCut(spans: readonly Span[], dead: number): Cut {
	const { inSlot, entryId } = spans[dead] as Span;
	const at = inSlot ? dead : spans.findIndex((span) => span.entryId === entryId);
	const { behind, tokens } = spans[at] as Span;
	const freed = deadTokens(spans.slice(at));
	return { at, refills: true, freed, rewritten: behind + tokens - freed };
}

function greatest(cuts: readonly Cut[], measure: (cut: Cut) => number): Cut | undefined {
	return cuts.toSorted((a, b) => measure(b) - measure(a))[0];
}
