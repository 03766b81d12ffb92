import type { PromptTokens, Ttl } from "../core/bill.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { CacheSimulator } from "./cache-simulator.ts";
import { type Block, type ModelRequest, sharedStart } from "./model-request.ts";
import { shouldPrune } from "./rewrite.ts";
import { createGrowth } from "./rewrite-plan.ts";
import { type CacheRules, costOf, writeRatioFor } from "./rules.ts";

export { clearingStepOf } from "./clearing-step.ts";

/** A result of a request, known by its block. */
export interface ClearableResult {
	/** The index of its block. */
	readonly at: number;
	/** The first result that it refers to, by index among the results. Default: none. */
	readonly firstBase?: number;
	/** True if it must stay, such as one whose text could not be stored. Then so does every later one. */
	readonly stays?: boolean;
}

/** A request before clearing. */
export interface ClearingStep {
	readonly model: { readonly name: string; readonly rules: CacheRules };
	/** In tokens. Default: without a limit. */
	readonly contextWindow?: number | undefined;
	readonly ttl: Ttl;
	/** Whether the request writes the conversation to the cache in any case. */
	readonly cold: boolean;
	/** As the agent sends them. */
	readonly blocks: readonly Block[];
	/** In order: the provider clears the first ones first. */
	readonly results: readonly ClearableResult[];
	/** How many of the first results the model has answered. Later ones stay. */
	readonly answered: number;
	/** How many of the first results were cleared before. They stay cleared. */
	readonly cleared: number;
	/** Tokens that are missing in `blocks` because they were saved in another way. They pay for rewrites. */
	readonly savedTokens?: number | undefined;
	/** The request with other blocks, and a breakpoint behind the block `frontier` if there is room for it. */
	place(blocks: readonly Block[], frontier?: number): ModelRequest;
}

interface ClearingPlan {
	/** How many of the first results are cleared: at least as many as before. */
	readonly cleared: number;
	readonly clears: boolean;
	/** `unpaid`: clearing pays in the long run, but is a loss if the conversation ends now. */
	readonly why: ReturnType<typeof shouldPrune>["why"] | "unpaid";
	/** True if a batch would be cleared but for results that refer to its results. */
	readonly isBlocked: boolean;
}

interface ClearingDecision extends Omit<ClearingPlan, "clears"> {
	/** The prompt that the provider makes of it. */
	readonly request: ModelRequest;
	/** By the provider's rules: with clearing, and as the agent sends it. */
	readonly bill: PromptTokens;
	readonly billOfAgent: PromptTokens;
}

/** Tokens of the text that the provider puts in place of a result. Its wording is not documented. */
const PLACEHOLDER_TOKENS = 15;

/** What a hash of a cleared result ends with. */
const CLEARED_MARK = "~cleared";

/** How many of the newest results are never cleared, by default. The provider's own default is 3. */
export const DEFAULT_KEEP = 5;

/**
 * The most that clearing may cost, as a share of what the conversation costs without it: at every request, not
 * only at the end, since any request may be the last.
 */
const MOST_LOSS = 0.02;

/**
 * Decides how many results the provider clears in one conversation, request by request. The number moves only if
 * the lot-size rule says so, and if the cost so far, with this request, stays within 1.02 of the cost without
 * clearing. Both costs are simulated, so what clearing has saved before pays for the next one.
 */
export class Clearing {
	readonly #surveyor: Surveyor;
	readonly #growth = createGrowth();
	readonly #caches = new Map<string, { own: CacheSimulator; agent: CacheSimulator }>();
	/** Memo: the same object in all requests. */
	readonly #placeholders = new WeakMap<Block, Block>();
	#before: { readonly request: ModelRequest; readonly savedTokens: number } | undefined;
	#cost = 0;
	#costOfAgent = 0;
	/** Saved in another way. */
	#savedOtherwise = 0;

	constructor({ keep = DEFAULT_KEEP } = {}) {
		this.#surveyor = new Surveyor(keep);
	}

	/** In plain input tokens: the cost so far, and that without clearing. */
	get costs() {
		return { own: this.#cost, agent: this.#costOfAgent };
	}

	/** Decides on a request and counts it. Call it once for each request, in order. */
	next(step: ClearingStep): ClearingDecision {
		const billOfAgent = this.#countAgent(step);
		const { clears, ...plan } = this.#plan(step, billOfAgent, 0);
		const sent = this.#countOwn(step, plan.cleared);
		return { ...plan, ...sent, billOfAgent };
	}

	/** Counts a request that is sent with so many results cleared. */
	count(
		step: ClearingStep,
		cleared: number,
	): Pick<ClearingDecision, "request" | "bill" | "billOfAgent"> {
		const billOfAgent = this.#countAgent(step);
		return { ...this.#countOwn(step, cleared), billOfAgent };
	}

	/** Decides on the request after `step`, which was counted: it holds the same, and more. */
	planAfter(step: ClearingStep): ClearingPlan {
		const { cold, ttl } = step;
		const { rules } = step.model;
		const { tokens } = this.#surveyor.survey({ ...step, cleared: 0 });
		const bill = { input: 0, read: cold ? 0 : tokens, write: 0, writeOneHour: 0 };
		return this.#plan(step, bill, tokens * (cold ? writeRatioFor(ttl, rules) : rules.readRatio));
	}

	#countAgent(step: ClearingStep): PromptTokens {
		const bill = this.#cachesFor(step).agent.send(step.place(step.blocks));
		this.#costOfAgent += costOf(bill, step.model.rules);
		this.#savedOtherwise += savedOtherwise(step, this.#before?.savedTokens ?? 0);
		return bill;
	}

	#countOwn(step: ClearingStep, cleared: number) {
		const first = step.results[step.cleared]?.at ?? step.blocks.length;
		// What precedes the first result that stayed until now is readable after the next clearing.
		const frontier = first > 0 ? first - 1 : undefined;
		const request = step.place(this.#shown(step, cleared), frontier);
		const bill = this.#cachesFor(step).own.send(request);
		this.#cost += costOf(bill, step.model.rules);
		this.#before = { request, savedTokens: step.savedTokens ?? 0 };
		return { request, bill };
	}

	#cachesFor({ model: { name, rules } }: ClearingStep) {
		return getOrAdd(this.#caches, name, () => ({
			own: new CacheSimulator(rules),
			agent: new CacheSimulator(rules),
		}));
	}

	/** `further`: what the agent's request costs, as far as it is not counted. */
	#plan(step: ClearingStep, billOfAgent: PromptTokens, further: number): ClearingPlan {
		const survey = this.#surveyor.survey(step);
		this.#growth.add(survey.effect(survey.most).freed);
		const decide = (end: number) => this.#decide(step, survey, end, { billOfAgent, further });
		const { clears, why } = decide(survey.next);
		const isBlocked = !clears && survey.most > survey.next && decide(survey.most).clears;
		return { clears, why, isBlocked, cleared: clears ? survey.next : step.cleared };
	}

	#decide(step: ClearingStep, survey: Survey, end: number, moment: Moment) {
		const { freed, staying, afterLast } = survey.effect(end);
		const { prune, why } = shouldPrune({
			...{ rules: step.model.rules, cold: step.cold, ttl: step.ttl },
			prunableTokens: freed,
			tokensAfterFirst: staying,
			tokensAfterLast: afterLast,
			growthPerRequest: this.#growth.perRequest,
			contextTokens: survey.tokens,
			contextWindow: step.contextWindow ?? Number.MAX_SAFE_INTEGER,
		});
		if (!prune) return { clears: false, why };
		const cost = this.#cost + this.#costOfClearing(step, survey, end, moment.billOfAgent);
		const most = this.#costOfAgent + this.#savedOtherwise + moment.further;
		const isPaid = cost <= (1 + MOST_LOSS) * most;
		return isPaid ? { clears: true, why } : { clears: false, why: "unpaid" as const };
	}

	/** The most that the request can cost: it reads what the last one cached before the first change. */
	#costOfClearing(step: ClearingStep, survey: Survey, end: number, { read }: PromptTokens): number {
		const { rules } = step.model;
		const left = this.#before?.request.breakpoints.filter(({ after }) => after < survey.first);
		const cached = Math.min(read, survey.shownTo(left?.at(-1)?.after ?? -1));
		const rest = survey.tokens - survey.effect(end).freed - cached;
		return cached * rules.readRatio + rest * Math.max(1, writeRatioFor(step.ttl, rules));
	}

	#shown({ blocks, results }: ClearingStep, cleared: number): readonly Block[] {
		if (cleared === 0) return blocks;
		const shown = [...blocks];
		for (const { at } of results.slice(0, cleared)) {
			const block = blocks[at] as Block;
			shown[at] = getOrAdd(this.#placeholders, block, () => ({
				...block,
				hash: `${block.hash}${CLEARED_MARK}`,
				tokens: PLACEHOLDER_TOKENS,
			}));
		}
		return shown;
	}
}

/** What a request without other savings would cost more, at least. */
function savedOtherwise(
	{ savedTokens = 0, ttl, model: { rules } }: ClearingStep,
	before: number,
): number {
	const fresh = Math.max(0, savedTokens - before);
	return (savedTokens - fresh) * rules.readRatio + fresh * writeRatioFor(ttl, rules);
}

interface Moment {
	readonly billOfAgent: PromptTokens;
	readonly further: number;
}

/** A request before further clearing. Sizes are in tokens. */
interface Survey {
	readonly tokens: number;
	/** The block of the first result that is not cleared; the number of blocks if there is none. */
	readonly first: number;
	/** How many results may be cleared: but for references, and with them. */
	readonly most: number;
	readonly next: number;
	/** Up to a block that precedes `first`, and with it. */
	shownTo(block: number): number;
	/** What clearing the results before `end` changes. `staying`: from the first of them on. */
	effect(end: number): { freed: number; staying: number; afterLast: number };
}

/** Surveys requests that mostly grow: looks only at blocks that are new. */
class Surveyor {
	readonly #keep: number;
	#blocks: readonly Block[] = [];
	/** For each number of blocks, the tokens of so many first ones. */
	readonly #tokensTo = [0];

	constructor(keep: number) {
		this.#keep = keep;
	}

	survey({ blocks, results, answered, cleared }: ClearingStep): Survey {
		this.#follow(blocks);
		const to = (count: number) => this.#tokensTo[count] ?? 0;
		const freedBy = (from: number, end: number) =>
			results
				.slice(from, end)
				.reduce((sum, { at }) => sum + to(at + 1) - to(at) - PLACEHOLDER_TOKENS, 0);
		const freedBefore = freedBy(0, cleared);
		const all = to(blocks.length);
		const first = results[cleared]?.at ?? blocks.length;
		const stays = results.findIndex((result) => result.stays);
		const limits = [answered, results.length - this.#keep, ...(stays < 0 ? [] : [stays])];
		const most = Math.max(cleared, Math.min(...limits));
		return {
			...{ tokens: all - freedBefore, first, most },
			next: endWithoutReferences(results, cleared, most),
			shownTo: (block) => {
				const before = results.slice(0, cleared).filter(({ at }) => at <= block).length;
				return to(block + 1) - freedBy(0, before);
			},
			effect(end) {
				if (end <= cleared) return { freed: 0, staying: 0, afterLast: 0 };
				const freed = freedBy(cleared, end);
				const last = results[end - 1]?.at ?? blocks.length;
				return { freed, staying: all - to(first) - freed, afterLast: all - to(last + 1) };
			},
		};
	}

	#follow(blocks: readonly Block[]): void {
		const known = sharedStart(this.#blocks, blocks);
		this.#tokensTo.length = known + 1;
		for (const [at, { tokens }] of blocks.slice(known).entries()) {
			this.#tokensTo.push((this.#tokensTo[known + at] ?? 0) + tokens);
		}
		this.#blocks = blocks;
	}
}

/** The last end at which no result that stays refers to one that goes. */
function endWithoutReferences(
	results: readonly ClearableResult[],
	cleared: number,
	most: number,
): number {
	let end = results.length;
	let firstBase = end;
	while (end > cleared && (end > most || firstBase < end)) {
		end--;
		firstBase = Math.min(firstBase, results[end]?.firstBase ?? end);
	}
	return end;
}
