import type { PromptTokens } from "../../core/bill.ts";
import type { Request } from "../request.ts";
import { costOf } from "../rules.ts";
import { createCacheSimulator } from "../simulate.ts";
import { promptOf } from "./billed.ts";
import { fullName } from "./entry.ts";
import type { ReplaySession } from "./requests.ts";

/**
 * `requests` yields what would have been sent, billed by the provider's rules; `bills` yields
 * bills. Both yield one item for each request of the session, in order.
 */
export type ReplayPolicy = RequestPolicy | BillPolicy;

export interface PolicyName {
	readonly name: string;
	readonly description: string;
}

/** Yields each request before it reads the next step. */
export interface RequestPolicy extends PolicyName {
	requests(session: ReplaySession): Iterable<Request>;
}

interface BillPolicy extends PolicyName {
	bills(session: ReplaySession): Iterable<PromptTokens>;
}

export interface PolicyOutcome extends PromptTokens, PolicyName {
	/** In plain input tokens; cache reads and writes are weighted by price. */
	readonly cost: number;
	/** The largest prompt, in tokens. */
	readonly maxContext: number;
	readonly requests: readonly PromptTokens[];
}

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
	const caches = new Map<string, ReturnType<typeof createCacheSimulator>>();
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
