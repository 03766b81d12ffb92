/**
 * The `log` layout: where the working files of a session live in its requests.
 *
 *     tools | system, map | slot: stable files | conversation … snapshot … snapshot … | tail: very hot files
 *
 * The *slot* is one message with a block for each file. A *snapshot* is a later message with one file, put behind the
 * conversation when the file is new or has changed. The *tail* stands at the end of a request only and is never
 * cached. Nothing is moved in a warm prefix unless the economy says that it pays.
 *
 * Where the model's thinking is bound to what was sent (`isBound`, `bindsThinking`), nothing in view is moved or dropped,
 * and there is no tail: a file that changed is appended.
 *
 * This file decides; who asks it makes the messages. Of the copies of a path in view the last one counts, and it is
 * live as long as its hash is the file's; every other copy is dead. After a plan has been carried out, the text of
 * every working file is live exactly once: in the slot, in a snapshot, or in the tail.
 */

import { compareText } from "../../core/compare-text.ts";
import type { CacheRules, Ttl } from "../../economy/index.ts";
import { TIERS } from "../../tiers/index.ts";
import {
	type Copy,
	type Cut,
	deadMessages,
	deadTokens,
	judgeCuts,
	judged,
	type Span,
	slotIn,
	spansOf,
	type WorkingFile,
} from "./copies.ts";
import { createEditRates, isHot } from "./heat.ts";

export type { Copy, WorkingFile } from "./copies.ts";

/** A session at the moment before a request. */
export interface LogMoment {
	readonly files: readonly WorkingFile[];
	/** In the order of the conversation. */
	readonly copies: readonly Copy[];
	readonly rules: CacheRules;
	/** Thinking behind a copy in view is bound to it: the copies stay as they are. */
	readonly isBound: boolean;
	/** The provider has to be sent everything anew in any case. */
	readonly cold: boolean;
	/** Tokens of the next request as far as known: tools, system prompt and all messages. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	/** For how long the session writes its cache. Default: 5m. */
	readonly ttl?: Ttl;
}

/** What is to be done before the request, and what the request is to end with. */
export interface LogPlan {
	/**
	 * The slot as it is to be: with `entryId`, that message gets these files as its content (a context edit); without, a
	 * new message is appended. Absent: the slot stays as it is.
	 */
	readonly slot?: { readonly entryId?: string; readonly paths: readonly string[] };
	/** Messages that go altogether: snapshots that are dead or were taken into the slot, or an empty slot. */
	readonly drop: readonly string[];
	/** Files whose current text is appended, each as a snapshot of its own, in this order, behind a new slot. */
	readonly append: readonly string[];
	/** Files whose current text stands in the tail of this request, in this order. */
	readonly tail: readonly string[];
	/**
	 * Why a slot is made or refilled and copies go, or why not: there is no slot yet (`first`), thinking is bound to
	 * outdated copies (`bound`), or as the economy says.
	 */
	readonly why: "first" | "bound" | "cold" | "near-limit" | "pays" | "waits" | "nothing";
	/** Tokens of dead copies in view once the plan is carried out. */
	readonly deadTokens: number;
	/** Tokens that the next reorganisation must free to pay. */
	readonly threshold: number;
	/**
	 * The first copy, among those in view before the plan is carried out, that this reorganisation changes, or if it is
	 * not one, the next will. A cache marker on the block before it makes that cheap: all before it is read, not written.
	 * With `path`, it is that file's block in the slot. Absent when nothing is dead, and when the cache is cold.
	 */
	readonly frontier?: { readonly entryId: string; readonly path?: string };
}

/** Decides about the layout over the life of a session. It changes nothing itself. */
export interface LogLayout {
	/** To be asked once for every request: it learns from it how often files change, and how fast copies die. */
	decide(moment: LogMoment): LogPlan;
}

/** Makes one for a session. */
export function createLogLayout(): LogLayout {
	const rates = createEditRates();
	let requests = 0;
	/** Requests that met a cold cache. The first does not count, it always does. */
	let cold = 0;
	/** Tokens of copies that died, in all, and of those that were dead after the last plan. */
	let died = 0;
	let dead = 0;

	function learn(moment: LogMoment): void {
		rates.note(moment.files);
		if (moment.cold && requests > 0) cold++;
		requests++;
		died += Math.max(0, deadTokens(spansOf(moment.copies, moment.files)) - dead);
	}

	return {
		decide(moment) {
			learn(moment);
			const plan = planOf(moment, {
				editRate: rates.of,
				// Before anything was seen, the next request is thought to come in time, four times out of five.
				warmShare: 1 - (cold + 0.2) / (requests + 1),
				growthPerRequest: died / requests,
			});
			dead = plan.deadTokens;
			return plan;
		},
	};
}

/** What earlier requests of the session have taught. */
export interface Learned {
	/** How likely it is that a file changes from one request to the next. */
	editRate(path: string): number;
	/** The share of requests that come while the cache is warm. */
	readonly warmShare: number;
	/** Tokens of copies that die, per request. */
	readonly growthPerRequest: number;
}

/** What to do before a request. Equal values give an equal plan. */
export function planOf(moment: LogMoment, learned: Learned): LogPlan {
	const spans = spansOf(moment.copies, moment.files);
	const scene: Scene = {
		...moment,
		spans,
		slotId: slotIn(moment.copies),
		ranked: byStability(moment.files),
		// The answer to a request with a tail would think behind text that the next request does not have.
		isHot: (path) =>
			!moment.rules.bindsThinking &&
			isHot({ ...moment, ...learned, editRate: learned.editRate(path) }),
	};
	if (moment.isBound) return appended(scene, deadTokens(spans) > 0 ? "bound" : "nothing");
	if (moment.cold) return refilled(scene, 0);
	const { growthPerRequest } = learned;
	const { cut, decision } = judgeCuts(spans, { ...moment, growthPerRequest });
	const { why, threshold } = decision;
	if (!cut) return { ...appended(scene), threshold };
	const frontier = placeOf(spans[cut.at] as Span);
	if (!decision.reorganise) return { ...appended(scene, why), threshold, frontier };
	const changes = cut.refills ? refilled(scene, cut.at) : dropped(scene, cut);
	return { ...changes, why, threshold, frontier };
}

interface Scene extends LogMoment {
	readonly spans: readonly Span[];
	readonly slotId: string | undefined;
	/** The most stable first. */
	readonly ranked: readonly string[];
	isHot(path: string): boolean;
}

/** Nothing in view changes: what is not live is put behind it. */
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

/** Snapshots from the cut on go in which all is dead; the rest stays where it is. */
function dropped(scene: Scene, cut: Cut): LogPlan {
	const drop = deadMessages(scene.spans.slice(cut.at));
	const left = scene.spans.filter(({ entryId }) => !drop.has(entryId));
	return { ...appended({ ...scene, spans: judged(left, scene.files) }), drop: [...drop] };
}

/** Everything from a span on is gathered in the slot, by stability; nothing dead is left of it. */
function refilled(scene: Scene, from: number): LogPlan {
	const { spans, slotId, ranked, copies, files, isHot } = scene;
	const staying = judged(spans.slice(0, from), files);
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

const NO_CHANGE = {
	drop: [],
	append: [],
	why: "nothing",
	threshold: 0,
} satisfies Partial<LogPlan>;

function isFilledWith(paths: readonly string[], { spans }: Scene): boolean {
	const slot = spans.filter(({ inSlot }) => inSlot);
	return (
		slot.length === paths.length && slot.every(({ live, path }, at) => live && path === paths[at])
	);
}

function placeOf({ entryId, path, inSlot }: Span): NonNullable<LogPlan["frontier"]> {
	return inSlot ? { entryId, path } : { entryId };
}

function livePaths(spans: readonly Span[]): Set<string> {
	return new Set(spans.filter(({ live }) => live).map(({ path }) => path));
}

/** By tier, then by N, then by name, so that the files likely to change stand last. */
function byStability(files: readonly WorkingFile[]): string[] {
	return files
		.toSorted(
			(a, b) =>
				TIERS[b.tier].entryN - TIERS[a.tier].entryN || b.n - a.n || compareText(a.path, b.path),
		)
		.map(({ path }) => path);
}
