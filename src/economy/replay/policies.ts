import type { PromptTokens } from "../../core/bill.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import { CacheSimulator } from "../cache-simulator.ts";
import { type Block, type ModelRequest, sharedStart } from "../model-request.ts";
import { requestForStep } from "../place-breakpoints.ts";
import { costOf } from "../rules.ts";
import type { SessionBlock } from "./assembly.ts";
import { promptSize, withFurtherRounds } from "./billed.ts";
import { clearing } from "./clearing.ts";
import { ANSWERS, fullName } from "./entry.ts";
import { createReadReplacer } from "./replaced-reads.ts";
import type { ReplaySession, Step } from "./requests.ts";
import { ttlAuto } from "./ttl-auto.ts";

/** Yields one item per request of the session: a request to bill by the provider's rules, or a bill. */
export type ReplayPolicy = RequestPolicy | BillPolicy;

export interface PolicyName {
	readonly name: string;
	readonly description: string;
}

/** `requests` must yield each request before it reads the next step. */
export interface RequestPolicy extends PolicyName {
	requests(session: ReplaySession): Iterable<ModelRequest>;
}

interface BillPolicy extends PolicyName {
	bills(session: ReplaySession): Iterable<PromptTokens>;
}

export interface PolicyOutcome extends PromptTokens, PolicyName {
	/** In plain input tokens; cache reads and writes are weighted by price. */
	readonly cost: number;
	/** The largest prompt, in tokens. */
	readonly maxContext: number;
	/** Without copies. */
	readonly requests: readonly PromptTokens[];
}

export function runPolicy(policy: ReplayPolicy, session: ReplaySession): PolicyOutcome {
	const requests: PromptTokens[] = [];
	const total = { input: 0, read: 0, write: 0, writeOneHour: 0, cost: 0, maxContext: 0 };
	let made = 0;
	for (const tokens of billsUnder(policy, session)) {
		const bill = session.bills[made];
		if (!bill) break; // surplus requests are ignored
		made++;
		if (bill.isCopy) continue;
		requests.push(tokens);
		total.input += tokens.input;
		total.read += tokens.read;
		total.write += tokens.write;
		total.writeOneHour += tokens.writeOneHour;
		total.cost += costOf(tokens, bill.model.rules);
		total.maxContext = Math.max(total.maxContext, promptSize(tokens));
	}
	if (made !== session.bills.length) {
		throw new Error(
			`policy "${policy.name}" yielded ${made} requests, but the session has ${session.bills.length}`,
		);
	}
	return { name: policy.name, description: policy.description, ...total, requests };
}

function* billsUnder(policy: ReplayPolicy, session: ReplaySession): Iterable<PromptTokens> {
	if ("bills" in policy) return yield* policy.bills(session);
	const caches = new Map<string, CacheSimulator>();
	let index = 0;
	for (const request of policy.requests(session)) {
		const bill = session.bills[index++];
		if (!bill) return;
		const { model } = bill;
		const newCache = () => new CacheSimulator(model.rules);
		const first = getOrAdd(caches, fullName(model.name), newCache).send(request);
		yield withFurtherRounds(first, bill);
	}
}

export const appendOnly: RequestPolicy = {
	name: "append-only",
	description: "the agent's own requests, without unexplained cache losses",
	*requests(session) {
		for (const step of session.steps()) yield requestForStep(step, step.blocks);
	},
};

export const readCache = withReadCache(appendOnly, {
	name: "read-cache",
	description: "repeated reads become a marker or a diff",
});

/** Adds the read cache to a policy. If the policy removes a result, the next read of its file is in full. */
function withReadCache(policy: RequestPolicy, called: PolicyName): RequestPolicy {
	return {
		...called,
		*requests(session) {
			let blocks: Step["blocks"] = [];
			const offered = createHashCounts();
			const sent = createHashCounts();
			const shortened = createReadReplacer(({ hash }) => sent.has(hash) || !offered.has(hash));
			const cached = {
				...session,
				*steps() {
					for (const step of session.steps()) {
						blocks = shortened(step.blocks);
						yield { ...step, blocks };
					}
				},
			};
			for (const request of policy.requests(cached)) {
				offered.follow(blocks);
				sent.follow(request.blocks);
				yield request;
			}
		},
	};
}

function createHashCounts() {
	const counts = new Map<string, number>();
	let before: readonly Block[] = [];
	const add = (blocks: readonly Block[], by: 1 | -1) => {
		for (const { hash } of blocks) {
			const count = (counts.get(hash) ?? 0) + by;
			if (count > 0) counts.set(hash, count);
			else counts.delete(hash);
		}
	};
	return {
		has: (hash: string) => counts.has(hash),
		follow(blocks: readonly Block[]): void {
			const known = sharedStart(before, blocks);
			add(before.slice(known), -1);
			add(blocks.slice(known), 1);
			before = blocks;
		},
	};
}

/** The policy of pi-strata. `pruning` is the policy that runs the pruning system's own code. */
export function strataPolicy(pruning: RequestPolicy): RequestPolicy {
	return withReadCache(pruning, {
		name: "strata",
		description: `read cache, and ${pruning.description}`,
	});
}

const KEPT = 10;

/** A common policy of agents. It breaks the cached prefix with every request. */
export const pruneEach: ReplayPolicy = {
	name: "prune-each",
	description: `every request keeps only the ${KEPT} newest tool results`,
	*requests(session) {
		const pruned = createPrunedResults();
		let kept: SessionBlock[] = [];
		for (const step of session.steps()) {
			const known = pruned.follow(step.blocks);
			const fresh = step.blocks.slice(known).filter(({ kind }) => kind === "result");
			const results = known === 0 ? fresh : kept.concat(fresh);
			kept = results.slice(-KEPT);
			pruned.add(results.slice(0, -KEPT).filter(isPrunable));
			yield requestForStep(step, [...pruned.blocks()]);
		}
	},
};

const BATCH_TOKENS = 20_000;

/** Keeps results that are in the latest `RECENT_TURNS` turns and among the newest `RECENT_TOKENS`. */
const RECENT_TURNS = 2;
const RECENT_TOKENS = 20_000;

/** Prunes in batches of a fixed size, regardless of the current cost. */
export const pruneBatch: ReplayPolicy = {
	name: "prune-batch",
	description: "old tool results are pruned in batches of 20,000 tokens",
	*requests(session) {
		const pruned = createPrunedResults();
		/** No result before this block can become prunable. */
		let from = 0;
		for (const step of session.steps()) {
			if (pruned.follow(step.blocks) === 0) from = 0;
			from = firstPrunable(pruned.blocks(), from);
			const candidates = prunableNow(pruned.blocks(), from);
			const freed = candidates.reduce((sum, { tokens }) => sum + tokens - STUB_TOKENS, 0);
			if (freed >= BATCH_TOKENS) pruned.add(candidates);
			yield requestForStep(step, [...pruned.blocks()]);
		}
	},
};

/** Returns prunable results, oldest first: not recent, and already answered by the model. */
function prunableNow(blocks: readonly SessionBlock[], from: number): SessionBlock[] {
	let isAnswered = false;
	const found: SessionBlock[] = [];
	let turns = 0;
	let tokens = 0;
	for (let at = blocks.length - 1; at >= from; at--) {
		const block = blocks[at] as SessionBlock;
		if (ANSWERS.has(block.kind)) isAnswered = true;
		if (block.kind === "user" && blocks[at - 1]?.kind !== "user") turns++;
		if (block.kind !== "result") continue;
		tokens += block.tokens;
		const isRecent = turns < RECENT_TURNS && tokens <= RECENT_TOKENS;
		if (isAnswered && !isRecent && isPrunable(block)) found.push(block);
	}
	return found.reverse();
}

function firstPrunable(blocks: readonly SessionBlock[], from: number): number {
	let at = from;
	while (at < blocks.length && !isPrunable(blocks[at] as SessionBlock)) at++;
	return at;
}

const NOTHING_CACHED = { read: 0, write: 0, writeOneHour: 0 };

/** Policies in report order. Other systems add their own. */
export const replayPolicies: readonly ReplayPolicy[] = [
	{
		name: "no-cache",
		description: "the same requests without any caching",
		bills: ({ bills }) =>
			bills.map(({ billed }) => ({ ...NOTHING_CACHED, input: promptSize(billed) })),
	},
	appendOnly,
	{
		name: "billed",
		description: "the agent's own requests, as the provider billed them",
		bills: ({ bills }) => bills.map(({ billed }) => billed),
	},
	readCache,
	pruneEach,
	pruneBatch,
	clearing,
	ttlAuto,
];

/** Tokens of a stub: tool, arguments, size, a line of gist and how to restore the result. */
const STUB_TOKENS = 75;

/** Results up to this size are not worth a stub. */
const LEAST_TOKENS = 2 * STUB_TOKENS;

/** Tracks stubs, for baseline policies only: pi-strata's pruning is replayed with its own code. */
function createPrunedResults() {
	const stubs = new Map<number, SessionBlock>();
	let before: readonly SessionBlock[] = [];
	let shown: SessionBlock[] = [];
	/** Index in the request, by id of the result. */
	let places = new Map<number, number>();

	return {
		/** Returns the block count of the previous request if this one continues it, otherwise 0. */
		follow(blocks: readonly SessionBlock[]): number {
			const shared = sharedStart(before, blocks);
			const known = shared === before.length ? shared : 0;
			if (known === 0) places = new Map();
			const fresh = blocks.slice(known).map((block, index) => {
				if (block.result) places.set(block.id, known + index);
				return stubs.has(block.id) ? stubOf(block) : block;
			});
			shown = known === 0 ? fresh : shown.concat(fresh);
			before = blocks;
			return known;
		},
		add(blocks: Iterable<SessionBlock>): void {
			for (const { id } of blocks) {
				if (stubs.has(id)) continue;
				const at = places.get(id) as number;
				shown[at] = stubOf(before[at] as SessionBlock);
			}
		},
		blocks: (): readonly SessionBlock[] => shown,
	};

	/** Returns the same object each time, unless the block's size has changed. */
	function stubOf(block: SessionBlock): SessionBlock {
		const { tokens, hash, id } = block;
		const size = Math.min(tokens, STUB_TOKENS);
		const known = stubs.get(id);
		if (known?.tokens === size) return known;
		const stub = { ...block, hash: `${hash}~stub`, tokens: size };
		stubs.set(id, stub);
		return stub;
	}
}

/** Excludes errors, images and small results. */
function isPrunable({ tokens, result }: SessionBlock): boolean {
	return result !== undefined && tokens > LEAST_TOKENS && !result.isError && !result.hasImage;
}
