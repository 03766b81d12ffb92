import { type PromptTokens, type Thinking, type Ttl, ttlOf } from "../../core/bill.ts";
import { counted, grouped } from "../../text/figures.ts";
import { MISS_CAUSES, type MissCause } from "../../text/miss-causes.ts";
import { PARTS, type Piece } from "../../wire/index.ts";
import { CompactionSearch, type MissedCompaction } from "../missed-compaction.ts";
import { type CacheRules, costOf, dollarsOf, type ModelInfo, rulesFor } from "../rules.ts";
import { WriteBills } from "../write-bills.ts";

/** A piece of a prompt, as far as a comparison needs it. */
export interface ComparedPiece extends Pick<Piece, "part" | "label" | "hash"> {
	/** Its size, if `range` is absent. */
	readonly bytes?: number;
	readonly range?: Piece["range"];
}

export interface AnsweredRequest {
	readonly atMs: number;
	/** Time between the starts of this request and of the last use of the cache. A ping is a use. */
	readonly gapMs: number;
	readonly model: string;
	readonly thinking?: string;
	readonly tokens: PromptTokens;
	/** Lifetime of the cache that it used. Default: as its writes show; else that of the request before. */
	readonly ttl?: Ttl;
	/** The request as sent, if it was observed. */
	readonly pieces?: readonly ComparedPiece[];
	readonly compacted?: boolean;
	readonly pruned?: boolean;
	/** Tokens that pruning took out of the prompt: they cannot be missed. */
	readonly removedTokens?: number;
	readonly branched?: boolean;
	readonly misplaced?: Thinking;
	/** True if the model has read from a cache, in this request or before it. */
	readonly isCaching?: boolean;
}

export interface Miss {
	readonly atMs: number;
	readonly tokens: number;
	readonly cause: MissCause;
	readonly changed?: string;
}

/** A miss with its extra cost over a hit: `cost` in plain input tokens, `dollars` if prices are known. */
export interface PricedMiss extends Miss {
	readonly cost: number;
	readonly dollars?: number;
}

/** Maximum number of stored misses. Older ones are evicted; the sums still include them. */
const MAX_MISSES = 500;

/** Sums up the bills of a session, and diagnoses its cache misses. */
export class CostAccount {
	#before: AnsweredRequest | undefined;
	#requests = 0;
	#tokens: PromptTokens = { input: 0, read: 0, write: 0, writeOneHour: 0 };
	#cost = 0;
	#missed = 0;
	readonly #misses: PricedMiss[] = [];
	/** Requests with thinking after changed context, by outcome. `latestBlocks`: blocks last dropped. */
	#misplaced = { dropped: 0, allowed: 0, latestBlocks: 0 };
	/** Memo of the rules, since a session rarely changes its model. */
	#known: { model: ModelInfo; rules: CacheRules } | undefined;
	readonly #writes = new WriteBills();
	/** Models that have read from a cache, so that their silence about writes does not mean none. */
	readonly #caching = new Set<string>();
	readonly #compactions = new CompactionSearch();
	#smallestPrompt = Number.POSITIVE_INFINITY;

	add(answered: AnsweredRequest, model: ModelInfo): PricedMiss | undefined {
		this.#writes.add(model, answered.tokens);
		const rules = this.rulesOf(model);
		const miss = this.#before && diagnoseMiss(this.#before, answered, rules);
		const ttl = ttlUsedBy(answered) ?? this.#before?.ttl;
		if (answered.tokens.read > 0 || answered.isCaching) this.#caching.add(answered.model);
		const isCaching = this.#caching.has(answered.model);
		this.#before = { ...answered, isCaching, ...(ttl && { ttl }) };
		this.#requests++;
		this.#tokens = sum(this.#tokens, answered.tokens);
		this.#cost += costOf(answered.tokens, rules);
		if (answered.misplaced) this.#misplaced = withRequest(this.#misplaced, answered.misplaced);
		this.#considerCompaction(answered, model, ttl);
		if (!miss) return undefined;
		const priced = withPrice(miss, answered.tokens, rules, model);
		this.#missed += priced.cost;
		this.#misses.push(priced);
		if (this.#misses.length > MAX_MISSES) this.#misses.shift();
		return priced;
	}

	/** A bill does not say how large tools and system prompt are, but no prompt is smaller. */
	#considerCompaction(answered: AnsweredRequest, model: ModelInfo, ttl: Ttl = "5m"): void {
		const { input, read, write } = answered.tokens;
		const tokens = input + read + write;
		this.#smallestPrompt = Math.min(this.#smallestPrompt, tokens);
		this.#compactions.add({
			request: this.#requests,
			tokens,
			head: this.#smallestPrompt,
			rules: this.rulesOf(model),
			prices: model.cost,
			ttl,
			startsOver: answered.compacted === true || answered.branched === true,
		});
	}

	/** The rules of a model, given the bills so far. */
	rulesOf(model: ModelInfo): CacheRules {
		if (this.#known?.model !== model) this.#known = { model, rules: rulesFor(model) };
		return this.#writes.applyTo(this.#known.rules, model);
	}

	/** Costs are in plain input tokens of each model; the latest miss is last. */
	summary() {
		const { input, read, write } = this.#tokens;
		return {
			requests: this.#requests,
			tokens: this.#tokens,
			cost: this.#cost,
			uncached: input + read + write,
			withoutMisses: this.#cost - this.#missed,
			misses: [...this.#misses],
			misplaced: this.#misplaced,
			missedCompaction: this.#compactions.best(),
		};
	}
}

type Summary = ReturnType<CostAccount["summary"]>;

function withRequest(sum: Summary["misplaced"], { dropped, allowed }: Thinking) {
	return {
		dropped: sum.dropped + (dropped > 0 ? 1 : 0),
		allowed: sum.allowed + (allowed > 0 ? 1 : 0),
		latestBlocks: dropped > 0 ? dropped : sum.latestBlocks,
	};
}

/** Counts missed tokens as written up to `billed.write`, and the rest as plain input. */
function withPrice(
	miss: Miss,
	billed: PromptTokens,
	rules: CacheRules,
	model: ModelInfo,
): PricedMiss {
	const write = Math.min(miss.tokens, billed.write);
	const writeOneHour = billed.write > 0 ? write * (billed.writeOneHour / billed.write) : 0;
	const input = Math.min(miss.tokens - write, billed.input);
	const hit: PromptTokens = {
		input: billed.input - input,
		read: billed.read + input + write,
		write: billed.write - write,
		writeOneHour: billed.writeOneHour - writeOneHour,
	};
	const cost = costOf(billed, rules) - costOf(hit, rules);
	const { cost: prices } = model;
	if (!prices?.input) return { ...miss, cost };
	const dollars = dollarsOf(billed, prices, rules) - dollarsOf(hit, prices, rules);
	return { ...miss, cost, dollars };
}

function sum(one: PromptTokens, other: PromptTokens): PromptTokens {
	return {
		input: one.input + other.input,
		read: one.read + other.read,
		write: one.write + other.write,
		writeOneHour: one.writeOneHour + other.writeOneHour,
	};
}

/** Returns the tokens that a request missed although its predecessor left them in the cache, and why. */
export function diagnoseMiss(
	before: AnsweredRequest,
	now: AnsweredRequest,
	rules: CacheRules,
): Miss | undefined {
	const { input, read, write } = now.tokens;
	const cached = cachedAfter(before, rules) - (now.removedTokens ?? 0);
	const tokens = Math.min(cached, input + read + write) - read;
	if (tokens < LEAST_MISS) return undefined;
	const wasWatched = before.pieces !== undefined && now.pieces !== undefined;
	const changed = wasWatched ? firstChange(before.pieces, now.pieces) : undefined;
	return {
		atMs: now.atMs,
		tokens,
		cause: causeOf(before, now, rules, changed) ?? (wasWatched ? "provider" : "unknown"),
		...(changed && { changed: changed.label }),
	};
}

/** A request that only reads does not show it. */
function ttlUsedBy({ ttl, tokens }: AnsweredRequest): Ttl | undefined {
	return ttl ?? ttlOf(tokens);
}

/** Minimum miss in tokens. Less is noise: providers round, and recount a block when another follows it. */
const LEAST_MISS = 256;

/** Tokens in the cache after a request. */
function cachedAfter(
	{ tokens, isCaching = tokens.read > 0 }: AnsweredRequest,
	{ automatic, stepTokens }: CacheRules,
): number {
	// Providers that bill no writes still cache, in steps.
	if (automatic !== "none" && tokens.write === 0) {
		const prompt = tokens.input + tokens.read;
		return isCaching ? Math.max(0, Math.floor(prompt / stepTokens) - 1) * stepTokens : 0;
	}
	return tokens.read + tokens.write;
}

function causeOf(
	before: AnsweredRequest,
	now: AnsweredRequest,
	rules: CacheRules,
	changed: ComparedPiece | undefined,
): MissCause | undefined {
	if (now.compacted) return "compaction";
	const isLate = now.gapMs >= rules.ttlMs[ttlUsedBy(before) ?? "5m"];
	// What had expired was lost with or without pruning.
	if (now.pruned && !(isLate && now.tokens.read === 0)) return "pruning";
	if (now.model !== before.model) return "model";
	// After a long pause, a change is the cause only if what precedes it was still read.
	if (isLate && !(changed && isReadUpToChange(before, now))) return "expired";
	// Checked before thinking, since tools and system precede all that a thinking setting invalidates.
	if (changed && changed.part !== "messages") return changed.part;
	if (now.branched) return "branch";
	const isStated = before.thinking !== undefined && now.thinking !== undefined;
	const isOtherThinking = isStated && now.thinking !== before.thinking;
	if (isOtherThinking && rules.invalidates.thinking) return "thinking";
	if (changed) return changed.part;
	const dropped = now.misplaced?.dropped ?? 0;
	if (dropped > (before.misplaced?.dropped ?? 0)) return "dropped";
	// Where rules do not list the level, a provider may mind it all the same.
	return isOtherThinking ? "thinking" : undefined;
}

/** By bytes, the tokens in front of the first change are an estimate: this share must have been read. */
const READ_SHARE = 0.75;

function isReadUpToChange(before: AnsweredRequest, { pieces = [], tokens }: AnsweredRequest) {
	const { input, read, write } = tokens;
	const at = pieces.findIndex(({ hash }, index) => hash !== before.pieces?.[index]?.hash);
	const same = bytesIn(pieces.slice(0, Math.max(0, at))) / Math.max(1, bytesIn(pieces));
	return read > 0 && read >= READ_SHARE * same * (input + read + write);
}

function bytesIn(pieces: readonly ComparedPiece[]): number {
	return pieces.reduce(
		(sum, { bytes, range }) => sum + (bytes ?? (range ? range.end - range.start : 0)),
		0,
	);
}

function firstChange(
	before: readonly ComparedPiece[],
	now: readonly ComparedPiece[],
): ComparedPiece | undefined {
	for (const [at, piece] of before.entries()) {
		const other = now[at];
		if (other?.part === piece.part && other.hash === piece.hash) continue;
		// If the last tool was removed, the unchanged system prompt is at its index. Report the tool instead.
		const isGone = !other || PARTS.indexOf(piece.part) < PARTS.indexOf(other.part);
		return isGone ? { ...piece, label: `${piece.label} (removed)` } : other;
	}
	return undefined;
}

export function accountText(summary: Summary): string {
	const { requests, tokens, cost, uncached, withoutMisses, misses, misplaced } = summary;
	const { missedCompaction } = summary;
	if (requests === 0) return "No request of this session has been billed yet.";
	const share = (part: number) => `${Math.round((100 * part) / uncached)} %`;
	return [
		`${counted(requests, "request")}, ${grouped(uncached)} prompt tokens: ${share(tokens.read)} read from the cache, ${share(tokens.write)} written to it, ${share(tokens.input)} uncached`,
		`cost in plain input tokens: ${grouped(cost)}, which is ${ratio(cost, uncached)} × the cost without a cache (${grouped(uncached)})`,
		misses.length === 0
			? "no cache misses"
			: `cache misses: ${misses.length}, which raised the cost to ${ratio(cost, withoutMisses)} × the cost without them (${grouped(withoutMisses)})`,
		...misses.slice(-SHOWN).map((miss) => `  ${clock(miss.atMs)}  ${missText(miss)}`),
		...(misses.length > SHOWN ? [`  (only the latest ${SHOWN} misses are listed)`] : []),
		...misplacedLines(misplaced),
		...compactionLines(missedCompaction),
	].join("\n");
}

/** Such as `48,200 cached tokens were paid for again ($0.27): the tools changed; first change: tool read`. */
export function missText({ tokens, dollars, cause, changed }: PricedMiss): string {
	const price = dollars === undefined ? "" : ` ($${dollars.toFixed(dollars < 0.1 ? 3 : 2)})`;
	const first = changed ? `; first change: ${changed}` : "";
	return `${grouped(tokens)} cached tokens were paid for again${price}: ${MISS_CAUSES[cause]}${first}`;
}

function misplacedLines({ dropped, allowed, latestBlocks }: Summary["misplaced"]): string[] {
	const why = "the context before these blocks has changed since";
	const lost = `thinking: in ${counted(dropped, "request")}, the provider dropped thinking blocks of earlier answers (${latestBlocks} in the latest request), because ${why}`;
	const accepted = `thinking: in ${counted(allowed, "request")}, the provider accepted thinking blocks of earlier answers, although ${why}`;
	return [...(dropped > 0 ? [lost] : []), ...(allowed > 0 ? [accepted] : [])];
}

function compactionLines(missed: MissedCompaction | undefined): string[] {
	if (!missed) return [];
	const { request, tokens, cost, saved } = missed;
	return [
		`compaction: before request ${grouped(request)}, at ${grouped(tokens)} tokens, one would have cost ${grouped(cost)} and saved ${grouped(saved)} by now, without files that are read again`,
	];
}

const SHOWN = 15;

function ratio(cost: number, of: number): string {
	return of > 0 ? (cost / of).toFixed(2) : "1.00";
}

function clock(atMs: number): string {
	const date = new Date(atMs);
	return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(11, 19);
}
