/**
 * The `log` layout: where the working files of a session live in its requests.
 *
 *     tools | system, map | slot: stable files | conversation … snapshot … snapshot … | tail: very hot files
 *
 * The *slot* is one message with a block for each file. A *snapshot* is a later message with one file, put behind the
 * conversation when the file is new or has changed. The *tail* stands at the end of a request only and is never
 * cached. Nothing is moved in a warm prefix unless the economy says that it pays.
 *
 * This file decides; who asks it makes the messages. Of the copies of a path in view the last one counts, and it is
 * live as long as its hash is the file's; every other copy is dead. After a plan has been carried out, the text of
 * every working file is live exactly once: in the slot, in a snapshot, or in the tail.
 */
import type { CacheRules, Ttl } from "../../economy/index.ts";

/** A file of the working set as it is now. */
export interface WorkingFile {
	readonly path: string;
	readonly hash: string;
	readonly tokens: number;
	/** How stable the tracker holds it to be: the order of the slot. */
	readonly tier: "L0" | "L1" | "L2" | "L3" | "active";
	readonly n: number;
}

/** A message in view that holds working files, or held them: the slot or a snapshot. */
export interface Copy {
	readonly entryId: string;
	readonly kind: "slot" | "snapshot";
	/** What it says, in its order. A snapshot has one file. */
	readonly files: readonly { readonly path: string; readonly hash: string; readonly tokens: number }[];
	/** Tokens of the request behind this message, without the tail. */
	readonly tokensBehind: number;
}

/** A session at the moment before a request. */
export interface LogMoment {
	readonly files: readonly WorkingFile[];
	/** In the order of the conversation. */
	readonly copies: readonly Copy[];
	readonly rules: CacheRules;
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
	 * Why a slot is made or refilled and copies go, or why not: there is no slot yet (`first`), or as the economy says.
	 */
	readonly why: "first" | "cold" | "near-limit" | "pays" | "waits" | "nothing";
	/** Tokens of dead copies in view once the plan is carried out. */
	readonly deadTokens: number;
	/** Tokens that the next reorganisation must free to pay. */
	readonly threshold: number;
	/** What the plan makes the provider write again, in plain input tokens; 0 when it has to anyway. */
	readonly rewriteCost: number;
	/**
	 * Where the next reorganisation will begin: a cache marker on the block before it keeps that one cheap. With `path`,
	 * it is a file within the slot. Absent when nothing is dead.
	 */
	readonly frontier?: { readonly entryId: string; readonly path?: string };
}

/** Decides about the layout over the life of a session. It changes nothing itself. */
export interface LogLayout {
	/** To be asked once for every request: it learns from it how often files change, and how fast copies die. */
	decide(moment: LogMoment): LogPlan;
	/** What it would decide, without learning from it. */
	preview(moment: LogMoment): LogPlan;
	/** What it has learned, to be handed to {@link createLogLayout} after a restart. */
	toJSON(): LogState;
}

/** What the layout has learned; plain JSON. */
export interface LogState {
	readonly requests: number;
}

import { shouldReorganise, type ReorganiseDecision } from "../../economy/index.ts";
import { type Span, spansOf } from "./copies.ts";
import { createEditRates } from "./edit-rates.ts";
const env = (k: string, d: number) => Number(process.env[k] ?? d);
const K = { dead: env("DEAD", 1.2), absorb: env("ABSORB", 1), coldAppend: env("COLDAPPEND", 9), choose: env("CHOOSE", 0), gw: env("GW", 0.05), lot: env("LOT", 1), reorg: env("REORG", 1), fresh: env("FRESH", 0), lindy: env("LINDY", 100), R: env("RR", 0), min: env("LMIN", 0) };

export function createLogLayout(_state?: LogState): LogLayout {
	const rates = createEditRates();
	let growth = 0, steps = 0, last = 0, requests = 0, colds = 0;
	let lastContext = 0;
	function preview(m: LogMoment): LogPlan {
		const { rules, cold } = m;
		const r = rules.readRatio, w = m.ttl === "1h" ? rules.writeOneHourRatio : rules.writeRatio;
		const q = 1 - (colds + 0.3) / (requests + 3);
		const isHot = (p: string) => {
			const e = rates.of(p);
			return (1 - q) * w + q * (e * (w + (K.R > 0 ? r * K.R : K.dead)) + (1 - e) * r) > 1;
		};
		const spans = spansOf(m.copies, m.files);
		const live = new Set(spans.filter((s) => s.live).map((s) => s.path));
		const rank = (f: WorkingFile) => (f.tier === "active" ? 0 : 4 - Number(f.tier[1])) * 1000 + f.n;
		const ranked = m.files.toSorted((a, b) => rank(b) - rank(a) || (a.path < b.path ? -1 : 1));
		const slotEntry = m.copies.find((c) => c.kind === "slot");
		if (!slotEntry && spans.length === 0) {
			const hot = ranked.filter((f) => isHot(f.path)).map((f) => f.path);
			const paths = ranked.map((f) => f.path).filter((p) => !hot.includes(p));
			return { ...(paths.length > 0 && { slot: { paths } }), drop: [], append: [], tail: hot, why: "first", deadTokens: 0, threshold: 0, rewriteCost: 0 };
		}
		const stale = ranked.filter((f) => !live.has(f.path));
		const freshTokens = K.fresh ? Math.max(0, m.contextTokens - lastContext) : 0;
		// cuts
		let dead = 0, option: { at: number; dead: number; s: number } | undefined, score = -1;
		for (let i = spans.length - 1; i >= 0; i--) {
			const sp = spans[i]!;
			if (sp.live) continue;
			const s = Math.max(1, sp.behind - dead - freshTokens);
			dead += sp.tokens;
			const sc = K.choose === 0 ? dead * dead / s : K.choose === 1 ? i === 0 ? 1 : -i : r * dead * K.choose - (w - r) * s;
			if (option === undefined || sc > score) { option = { at: i, dead, s }; score = sc; }
		}
		const decision: ReorganiseDecision = shouldReorganise({ tokensAfterFirst: cold ? 1 : (option?.s ?? 0) * K.lot, deadTokens: option?.dead ?? 0, growthPerRequest: growth, rules, cold, contextTokens: m.contextTokens, contextWindow: m.contextWindow, ttl: m.ttl ?? "5m" });
		const lindy = decision.why !== "pays" || option!.dead * r * Math.max(K.min, requests * K.lindy) >= (w - r) * option!.s;
		if (decision.reorganise && lindy && (cold || K.reorg)) {
			const at = cold ? 0 : option!.at;
			const inSlot = cold || spans[at]!.kind === "slot";
			if (inSlot) {
				const kept = cold ? [] : spans.slice(0, at).filter((s) => s.live && s.kind === "slot").map((s) => s.path);
				const rest = ranked.map((f) => f.path).filter((p) => !kept.includes(p));
				const hot = new Set(rest.filter((p) => isHot(p)));
				const volatile = new Set(cold ? rest.filter((p) => !hot.has(p) && rates.of(p) > K.coldAppend) : []);
				const inLog = new Set(!K.absorb && !cold ? spans.filter((s) => s.live && s.kind === "snapshot").map((s) => s.path) : []);
				for (const p of stale) if (!K.absorb && !cold && !hot.has(p.path)) volatile.add(p.path);
				const paths = [...kept, ...rest.filter((p) => !hot.has(p) && !volatile.has(p) && !inLog.has(p))];
				const drop = m.copies.filter((c) => c.kind === "snapshot" && !(c.files.every((f) => inLog.has(f.path)) && spans.some((s) => s.entryId === c.entryId && s.live))).map((c) => c.entryId);
				return { slot: { entryId: slotEntry!.entryId, paths }, drop, append: [...volatile], tail: [...hot], why: decision.why, deadTokens: 0, threshold: decision.threshold, rewriteCost: 0 };
			}
			const drop = spans.slice(at).filter((s) => !s.live).map((s) => s.entryId);
			const tail = stale.filter((f) => isHot(f.path)).map((f) => f.path);
			return { drop, append: stale.map((f) => f.path).filter((p) => !tail.includes(p)), tail, why: decision.why, deadTokens: dead - option!.dead, threshold: decision.threshold, rewriteCost: 0 };
		}
		const tail = stale.filter((f) => isHot(f.path)).map((f) => f.path);
		const frontier = option && { entryId: spans[option.at]!.entryId, path: spans[option.at]!.path };
		return { drop: [], append: stale.map((f) => f.path).filter((p) => !tail.includes(p)), tail, why: decision.why, deadTokens: dead, threshold: decision.threshold, rewriteCost: 0, ...(frontier && { frontier }) };
	}
	return {
		preview,
		decide(m) {
			rates.note(m.files);
			if (m.cold && requests > 0) colds++;
			requests++;
			const size = spansOf(m.copies, m.files).reduce((s, x) => s + (x.live ? 0 : x.tokens), 0);
			if (size >= last) { steps++; growth += (size - last - growth) * Math.max(K.gw, 1 / steps); }
			const plan = preview(m);
			last = plan.deadTokens;
			lastContext = m.contextTokens;
			return plan;
		},
		toJSON: () => ({ requests: 0 }),
	};
}
