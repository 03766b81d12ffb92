/**
 * The `log` layout of a request:
 *
 *     tools | system, map | slot: stable files | conversation … snapshot … | tail: very hot files
 *
 * The *slot* is one message with a block per file. A *snapshot* is a later message with one new or
 * changed file. The *tail* ends a request and is never cached. A warm prefix is reorganised only if that
 * pays. If thinking is bound to the request (`isBound`, `bindsThinking`), nothing in view moves or is
 * dropped, and there is no tail.
 * Only the last copy of a path counts. It is *live* while its hash equals the file's; other copies are
 * dead. Invariant: after a plan, each working file is live exactly once, in slot, snapshot or tail.
 */

import type { Ttl } from "../../core/bill.ts";
import { compareText } from "../../core/compare-text.ts";
import { type CacheRules, writeRatioFor } from "../../economy/rules.ts";
import { TIERS } from "../../tiers/index.ts";
import {
	type Copy,
	type Cut,
	deadMessages,
	deadTokens,
	judgeCuts,
	type Span,
	slotIn,
	spansOf,
	type WorkingFile,
	withLiveness,
} from "./copies.ts";

export type { Copy, WorkingFile } from "./copies.ts";

export interface LogMoment {
	readonly files: readonly WorkingFile[];
	/** In conversation order. */
	readonly copies: readonly Copy[];
	readonly rules: CacheRules;
	/** Whether thinking is bound to a copy in view. Copies must not change then. */
	readonly isBound: boolean;
	/** Whether the next request rewrites the cache anyway. */
	readonly cold: boolean;
	/** Size of the next request, as far as known: tools, system prompt and all messages. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	/** Default: 5m. */
	readonly ttl?: Ttl;
}

export interface LogPlan {
	/** With `entryId`, the slot is a context edit of that entry; without, a new message. Absent: no change. */
	readonly slot?: { readonly entryId?: string; readonly paths: readonly string[] };
	/** Messages to remove: dead or merged snapshots, or an empty slot. */
	readonly drop: readonly string[];
	/** Files to append as snapshots, in this order, after a new slot. */
	readonly append: readonly string[];
	readonly tail: readonly string[];
	/** `first`: no slot yet. `bound`: thinking is bound to outdated copies. */
	readonly why: "first" | "bound" | "cold" | "near-limit" | "pays" | "waits" | "nothing";
	/** Tokens of dead copies after the plan. */
	readonly deadTokens: number;
	/** A reorganisation pays only if it frees at least this many tokens. */
	readonly threshold: number;
	/**
	 * The first copy in view that this or the next reorganisation changes; with `path`, that file's block
	 * in the slot. A breakpoint before this copy makes the reorganisation cheap. Absent if no copy is dead
	 * or the cache is cold.
	 */
	readonly frontier?: { readonly entryId: string; readonly path?: string };
}

/** Decides on the layout of one session, without changing the session. */
export class LogLayout {
	readonly #rates = new EditRates();
	#requests = 0;
	/** Number of cold requests, not counting the first, which is always cold. */
	#cold = 0;
	/** Tokens of all copies that ever died, and of the dead copies still in view after the last plan. */
	#died = 0;
	#dead = 0;

	/** Call this once per request, since it learns how often files change and copies die. */
	decide(moment: LogMoment): LogPlan {
		this.#rates.observe(moment.files);
		if (moment.cold && this.#requests > 0) this.#cold++;
		this.#requests++;
		this.#died += Math.max(0, deadTokens(spansOf(moment.copies, moment.files)) - this.#dead);
		const plan = planOf(moment, {
			editRate: (path) => this.#rates.rateOf(path),
			// As a prior, four of five requests are warm.
			warmShare: 1 - (this.#cold + 0.2) / (this.#requests + 1),
			growthPerRequest: this.#died / this.#requests,
		});
		this.#dead = plan.deadTokens;
		return plan;
	}
}

interface Learned {
	/** Probability of a change per request. */
	editRate(path: string): number;
	readonly warmShare: number;
	/** Average tokens of the copies that die per request. */
	readonly growthPerRequest: number;
}

/** A pure function of its arguments. */
export function planOf(moment: LogMoment, learned: Learned): LogPlan {
	const spans = spansOf(moment.copies, moment.files);
	const scene: Scene = {
		...moment,
		spans,
		slotId: slotIn(moment.copies),
		ranked: byStability(moment.files),
		// If there were a tail, thinking would be bound to text that the next request lacks.
		isHot: (path) =>
			!moment.rules.bindsThinking && isHot(learned.editRate(path), learned.warmShare, moment),
	};
	if (moment.isBound) return appended(scene, deadTokens(spans) > 0 ? "bound" : "nothing");
	if (moment.cold) return refilled(scene, 0);
	const { growthPerRequest } = learned;
	const { cut, decision } = judgeCuts(spans, { ...moment, growthPerRequest });
	const { why, threshold } = decision;
	if (!cut) return { ...appended(scene), threshold };
	const { entryId, path, inSlot } = spans[cut.at] as Span;
	const frontier = inSlot ? { entryId, path } : { entryId };
	if (!decision.reorganise) return { ...appended(scene, why), threshold, frontier };
	const changes = cut.refills ? refilled(scene, cut.at) : dropped(scene, cut);
	return { ...changes, why, threshold, frontier };
}

interface Scene extends LogMoment {
	readonly spans: readonly Span[];
	readonly slotId: string | undefined;
	/** Most stable first. */
	readonly ranked: readonly string[];
	isHot(path: string): boolean;
}

/** Appends the files that are not live. Changes nothing in view. */
function appended(
	{ spans, ranked, slotId, isHot }: Scene,
	why: LogPlan["why"] = "nothing",
): LogPlan {
	const live = livePaths(spans);
	const stale = ranked.filter((path) => !live.has(path));
	const tail = stale.filter(isHot);
	const lasting = stale.filter((path) => !tail.includes(path));
	const plan = { ...NO_CHANGE, why, tail, deadTokens: deadTokens(spans) };
	if (slotId !== undefined || lasting.length === 0) return { ...plan, append: lasting };
	return { ...plan, slot: { paths: lasting }, why: "first" };
}

function dropped(scene: Scene, cut: Cut): LogPlan {
	const drop = deadMessages(scene.spans.slice(cut.at));
	const left = scene.spans.filter(({ entryId }) => !drop.has(entryId));
	return { ...appended({ ...scene, spans: withLiveness(left, scene.files) }), drop: [...drop] };
}

/** Moves all live text from the span `from` on into the slot, sorted by stability. */
function refilled(scene: Scene, from: number): LogPlan {
	const { spans, slotId, ranked, copies, files, isHot } = scene;
	const staying = withLiveness(spans.slice(0, from), files);
	const kept = staying.filter(({ inSlot }) => inSlot).map(({ path }) => path);
	const untouched = livePaths(staying);
	const moving = ranked.filter((path) => !untouched.has(path));
	const tail = moving.filter(isHot);
	const paths = [...kept, ...moving.filter((path) => !tail.includes(path))];

	const ids = copies.map(({ entryId }) => entryId);
	const first = from === 0 ? 0 : ids.indexOf(spans[from]?.entryId as string);
	const drop = ids.slice(first).filter((entryId) => entryId !== slotId);
	const plan = { ...NO_CHANGE, tail, deadTokens: deadTokens(staying) };
	if (paths.length === 0) {
		const all = slotId === undefined ? drop : [...drop, slotId];
		return { ...plan, drop: all, why: all.length > 0 ? "cold" : "nothing" };
	}
	if (slotId === undefined) return { ...plan, drop, slot: { paths }, why: "first" };
	if (drop.length === 0 && isFilledWith(paths, scene)) return plan;
	return { ...plan, drop, slot: { entryId: slotId, paths }, why: "cold" };
}

const NO_CHANGE = { drop: [], append: [], why: "nothing", threshold: 0 } satisfies Partial<LogPlan>;

function isFilledWith(paths: readonly string[], { spans }: Scene): boolean {
	const slot = spans.filter(({ inSlot }) => inSlot);
	return (
		slot.length === paths.length && slot.every(({ live, path }, at) => live && path === paths[at])
	);
}

function livePaths(spans: readonly Span[]): Set<string> {
	return new Set(spans.filter(({ live }) => live).map(({ path }) => path));
}

/** Sorts by tier, N and name, so that the files likely to change come last. */
function byStability(files: readonly WorkingFile[]): string[] {
	return files
		.toSorted(
			(a, b) =>
				TIERS[b.tier].entryN - TIERS[a.tier].entryN || b.n - a.n || compareText(a.path, b.path),
		)
		.map(({ path }) => path);
}

interface Sightings {
	readonly hash: string;
	/** Faded counts of observations, without the first. */
	readonly seen: number;
	readonly changed: number;
}

/** Each request multiplies the weight of earlier observations by this factor. */
const FADING = 0.96;

/** Assumed observations of a new file. */
const PRIOR = { seen: 4, changed: 0.2 };

/** The share of requests in which a path changed. Observations fade, since work moves between files. */
export class EditRates {
	#known = new Map<string, Sightings>();

	/** A path that was not in the previous request counts as new. */
	observe(files: readonly { readonly path: string; readonly hash: string }[]): void {
		// Evicts paths that are no longer shown, to bound memory.
		this.#known = new Map(
			files.map(({ path, hash }) => [path, { hash, ...observed(this.#known.get(path), hash) }]),
		);
	}

	/** Probability that the file's text changes by the next request. */
	rateOf(path: string): number {
		const { seen, changed } = this.#known.get(path) ?? UNSEEN;
		return (changed + PRIOR.changed) / (seen + PRIOR.seen);
	}
}

const UNSEEN = { seen: 0, changed: 0 };

function observed(before: Sightings | undefined, hash: string): Omit<Sightings, "hash"> {
	if (!before) return UNSEEN;
	const { seen, changed } = before;
	return { seen: seen * FADING + 1, changed: changed * FADING + (before.hash === hash ? 0 : 1) };
}

/**
 * Whether a file belongs in the tail, where each token costs 1 per request. p is the probability that
 * the file changes by the next request, q that this request finds the cache warm. In the log, a token
 * costs w (write) if cold or changed, otherwise r (read). A change also leaves a dead copy, which is read
 * for R more requests: (1 − q)·w + q·(p·(w + r·R) + (1 − p)·r). With q = 1, the file is hot if
 * p > (1 − r) / (w − r + r·R).
 */
function isHot(p: number, q: number, { rules, ttl = "5m" }: Pick<LogMoment, "rules" | "ttl">) {
	const { readRatio } = rules;
	const write = writeRatioFor(ttl, rules);
	const changed = write + readRatio * DEAD_COPY_REQUESTS;
	const whileWarm = p * changed + (1 - p) * readRatio;
	return (1 - q) * write + q * whileWarm > 1;
}

/** R: the requests for which a dead copy stays in view. From 1 to 20, the cost hardly depends on R. */
const DEAD_COPY_REQUESTS = 12;
