import type { PromptTokens, Ttl } from "../../core/bill.ts";
import { property } from "../../core/property.ts";
import { createRewriteCredit } from "../rewrite.ts";
import { type CacheRules, costOf, type ModelInfo } from "../rules.ts";
import {
	addPauses,
	chooseTtl,
	hasTwoTtls,
	type Pauses,
	pauseOf,
	USUAL_PAUSES,
} from "../ttl-rule.ts";
import { isSamePiece, type PayloadPiece } from "./payload-blocks.ts";
import { withAnchor, withTtl } from "./set-ttls.ts";

/** Whether the lifetimes are documented for the service: Anthropic's own, or one that pi's settings vouch for. */
export function canSetTtl(model: ModelInfo | undefined, rules: CacheRules): boolean {
	if (model?.api !== "anthropic-messages" || !hasTwoTtls(rules)) return false;
	if (rules.family !== "anthropic") return false;
	const stated = property(model.compat, "supportsLongCacheRetention");
	return stated === true || (stated !== false && isAnthropicsOwn(model));
}

/** A user may set another address for the provider `anthropic`: a gateway, or a service that imitates it. */
function isAnthropicsOwn(model: ModelInfo): boolean {
	const address = URL.parse(String(property(model, "baseUrl")));
	return model.provider === "anthropic" && address?.hostname === "api.anthropic.com";
}

/** The newest entry that lives for the long time: up to which block, and how many tokens it covers. */
interface Anchor {
	readonly after: number;
	readonly tokens: number;
}

interface Sent {
	readonly pieces: readonly PayloadPiece[];
	/** Sum of the sizes up to each piece, and with it. */
	readonly sizes: readonly number[];
	/** Index of the last piece with a breakpoint. */
	readonly tail: number;
	/** Index of the first piece of the conversation. */
	readonly head: number;
	readonly prefix: string;
	readonly rules: CacheRules;
	readonly atMs: number;
	readonly gapMs: number;
	readonly ttl: Ttl;
	/** The long entry that the request can read. */
	readonly anchor: Anchor | undefined;
}

interface OutgoingRequest {
	readonly payload: object;
	readonly pieces: readonly PayloadPiece[];
	/** The model, and all settings that a cached prefix may depend on. */
	readonly prefix: string;
	readonly rules: CacheRules;
	readonly atMs: number;
}

/** A bill that reads less than this share of a long entry shows that the entry is lost. */
const HELD_SHARE = 0.5;
/** A prompt of which a long entry covers less than this share does not count as held. */
const COVERED_SHARE = 0.5;

/**
 * Chooses the lifetime of each request's cache entries in a conversation. Extra writes are paid from a credit, which
 * the provider's bills fill. If a bill shows that a long entry did not survive, it makes no further choice.
 */
export class LiveTtl {
	readonly #credit = createRewriteCredit();
	#pauses = USUAL_PAUSES;
	#sent: Sent | undefined;
	#billed: Sent | undefined;
	#tokensPerSize = 0;
	/** Tokens of the last billed prompt. */
	#promptTokens = 0;
	#anchor: Anchor | undefined;
	#isRefuted = false;
	#longRequests = 0;

	/** Adds pauses of earlier sessions. */
	learn(pauses: Pauses): void {
		this.#pauses = addPauses(this.#pauses, pauses);
	}

	/** Whether an entry with the long lifetime covers at least half of the last billed prompt. */
	get holdsLong(): boolean {
		return this.#anchor !== undefined && this.#anchor.tokens >= COVERED_SHARE * this.#promptTokens;
	}

	/** False before the first request, and where the agent's own choice stands. */
	get isChoosing(): boolean {
		return this.#sent !== undefined;
	}

	get isRefuted(): boolean {
		return this.#isRefuted;
	}

	/** How many requests were cached for the long time. */
	get longRequests(): number {
		return this.#longRequests;
	}

	/** The payload to send; `undefined` to leave it as it is. */
	choose(request: OutgoingRequest): object | undefined {
		const { payload, pieces } = request;
		const isOwnLong = pieces.some(({ breakpoint }) => breakpoint === "1h");
		const tail = pieces.findLastIndex(({ breakpoint }) => breakpoint !== undefined);
		if (this.#isRefuted || isOwnLong || tail < 0) {
			this.#forget();
			return undefined;
		}
		const last = this.#sent;
		if (last?.prefix === request.prefix && isEqual(last.pieces, pieces)) {
			this.#sent = { ...last, atMs: request.atMs }; // a retry, or a ping that keeps the cache warm
			return placed(payload, this.#sent);
		}
		const sent = this.#decide(request, tail);
		const changed = placed(payload, sent);
		const isLost = sent.ttl === "5m" && sent.anchor !== undefined && changed === undefined;
		if (isLost) this.#anchor = undefined;
		this.#sent = isLost ? { ...sent, anchor: undefined } : sent;
		return changed;
	}

	/** Call this with the bill of the request that was sent last. */
	recordBill(tokens: PromptTokens): void {
		const sent = this.#sent;
		if (!sent || sent === this.#billed) return;
		const { rules, sizes, tail, anchor } = sent;
		this.#credit.add(costOf(tokens, rules), costOf(this.#ownTokens(sent, tokens), rules));
		const { input, read, write, writeOneHour } = tokens;
		this.#promptTokens = input + read + write;
		this.#tokensPerSize = this.#promptTokens / Math.max(1, sizes.at(-1) ?? 0);
		this.#billed = sent;
		const isBetween = pauseOf(sent.gapMs, rules).between > 0;
		const isExpired = isBetween && anchor !== undefined && read < HELD_SHARE * anchor.tokens;
		const isIgnored = sent.ttl === "1h" && write > 0 && writeOneHour === 0;
		if (isExpired || isIgnored) this.#isRefuted = true;
		if (this.#isRefuted) this.#anchor = undefined;
		else if (sent.ttl === "1h") this.#anchor = { after: tail, tokens: read + write };
		if (sent.ttl === "1h") this.#longRequests++;
	}

	/** Call this if the request that was sent last failed: the provider may refuse the long lifetime. */
	recordFailure(): void {
		const isFirstLong = this.#sent?.ttl === "1h" && this.#longRequests === 0;
		if (isFirstLong) this.#isRefuted = true;
	}

	#decide(request: OutgoingRequest, tail: number): Sent {
		const { pieces, prefix, rules, atMs } = request;
		const last = this.#sent;
		const gapMs = last ? Math.max(0, atMs - last.atMs) : 0;
		if (last) this.#pauses = addPauses(this.#pauses, pauseOf(gapMs, rules));
		const sizes = runningSums(pieces.map(({ size }) => size));
		const isLost = gapMs >= rules.ttlMs["1h"] || last?.prefix !== prefix;
		const shared = isLost || !last ? 0 : sharedLength(last.pieces, pieces);
		if (this.#anchor && this.#anchor.after >= shared) this.#anchor = undefined;
		const anchor = this.#anchor;
		const tokensAt = (at: number) => (sizes[at] ?? 0) * this.#tokensPerSize;
		const before = this.#billed;
		const isWarm = gapMs < rules.ttlMs["5m"] && before !== undefined && before.tail < shared;
		const ttl = chooseTtl({
			rules,
			prompt: tokensAt(tail),
			cached: isWarm ? tokensAt(before.tail) : (anchor?.tokens ?? 0),
			anchored: anchor?.tokens ?? 0,
			pauses: this.#pauses,
			own: "5m",
			// Before the first bill, the size of a request is unknown.
			credit: before ? this.#credit.left() : Number.NEGATIVE_INFINITY,
		});
		const head = pieces.findIndex(({ part }) => part === "messages");
		return { pieces, sizes, tail, head, prefix, rules, atMs, gapMs, ttl, anchor };
	}

	/** What the request would have been billed with the short lifetime. Others may keep its head in the cache. */
	#ownTokens({ rules, gapMs, anchor, sizes, head }: Sent, tokens: PromptTokens): PromptTokens {
		const isKept = pauseOf(gapMs, rules).between > 0 && anchor !== undefined;
		if (!isKept) return { ...tokens, writeOneHour: 0 };
		const { input, read, write } = tokens;
		const perSize = (input + read + write) / Math.max(1, sizes.at(-1) ?? 0);
		const headTokens = Math.min(read, (sizes[head - 1] ?? 0) * perSize);
		return { input, read: headTokens, write: write + read - headTokens, writeOneHour: 0 };
	}

	#forget(): void {
		this.#sent = undefined;
		this.#billed = undefined;
		this.#anchor = undefined;
	}
}

function placed(payload: object, { ttl, anchor }: Sent): object | undefined {
	if (ttl === "1h") return withTtl(payload, "1h");
	return anchor && withAnchor(payload, anchor.after);
}

type Pieces = readonly PayloadPiece[];

function isEqual(one: Pieces, other: Pieces): boolean {
	return one.length === other.length && sharedLength(one, other) === one.length;
}

function sharedLength(one: Pieces, other: Pieces): number {
	const at = one.findIndex((piece, index) => !isSamePiece(piece, other[index]));
	return at < 0 ? one.length : at;
}

function runningSums(sizes: readonly number[]): number[] {
	let sum = 0;
	return sizes.map((size) => (sum += size));
}
