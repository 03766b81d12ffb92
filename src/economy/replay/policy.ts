import { costOf } from "../cost.ts";
import type { PromptTokens, Request } from "../request.ts";
import { type CacheSimulator, createCacheSimulator } from "../simulate.ts";
import { promptOf } from "./billed.ts";
import { fullName } from "./entry.ts";
import type { ReplaySession } from "./requests.ts";

/**
 * A way to make the requests of a session: what a session would have cost under it is what replay finds out. Either
 * `requests` says what would have been sent, and the provider's rules say what that is billed; or `bills` says what is
 * billed. Both yield one item for each request of the session, in its order.
 */
export type ReplayPolicy = RequestPolicy | BillPolicy;

/** What a policy is called. */
export interface PolicyName {
	/** A word for tables and the command line. */
	readonly name: string;
	/** One line for people. */
	readonly description: string;
}

/** A policy that says what would have been sent. It yields each request before it looks at the next step. */
export interface RequestPolicy extends PolicyName {
	requests(session: ReplaySession): Iterable<Request>;
}

interface BillPolicy extends PolicyName {
	bills(session: ReplaySession): Iterable<PromptTokens>;
}

/** What a session costs under a policy. */
export interface PolicyOutcome extends PromptTokens {
	readonly name: string;
	readonly description: string;
	/** In plain input tokens: what is read or written counts by its price. */
	readonly cost: number;
	/** The largest prompt in tokens. */
	readonly maxContext: number;
	readonly requests: readonly PromptTokens[];
}

/** Replays a session under a policy. */
export function runPolicy(policy: ReplayPolicy, session: ReplaySession): PolicyOutcome {
	const requests: PromptTokens[] = [];
	const total = { input: 0, read: 0, write: 0, writeOneHour: 0, cost: 0, maxContext: 0 };
	for (const tokens of billsUnder(policy, session)) {
		const bill = session.bills[requests.length];
		if (!bill) break; // counted below
		requests.push(tokens);
		total.input += tokens.input;
		total.read += tokens.read;
		total.write += tokens.write;
		total.writeOneHour += tokens.writeOneHour;
		total.cost += costOf(tokens, bill.model.rules);
		total.maxContext = Math.max(total.maxContext, promptOf(tokens));
	}
	if (requests.length !== session.bills.length) {
		throw new Error(
			`policy "${policy.name}" made ${requests.length} of ${session.bills.length} requests`,
		);
	}
	return { name: policy.name, description: policy.description, ...total, requests };
}

function* billsUnder(policy: ReplayPolicy, session: ReplaySession): Iterable<PromptTokens> {
	if ("bills" in policy) return yield* policy.bills(session);
	const caches = new Map<string, CacheSimulator>();
	let index = 0;
	for (const request of policy.requests(session)) {
		const model = session.bills[index++]?.model;
		if (!model) return;
		const name = fullName(model.name);
		const cache = caches.get(name) ?? createCacheSimulator(model.rules);
		caches.set(name, cache);
		const { input, read, write, writeOneHour } = cache.send(request);
		yield { input, read, write, writeOneHour };
	}
}
