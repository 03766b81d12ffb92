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
import type { CacheRules, Ttl } from "../../economy/index.ts";
import type { Tier } from "../../tiers/index.ts";
import { deadTokens, spansOf } from "./copies.ts";
import { createEditRates } from "./edit-rates.ts";
import { planOf } from "./plan.ts";

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
