import type { CacheMiss, Cost, CostRequest, Price } from "../../../protocol/index.ts";

/** The prompts of the listed requests, ready to be stacked. `missed` is the height of a column where the cache was missed. */
export function promptSeries(cost: Cost) {
	const { requests } = cost;
	return {
		numbers: numbersOf(cost),
		read: requests.map(({ read }) => read),
		write: requests.map(({ write }) => write),
		input: requests.map(({ input }) => input),
		missed: requests.map(({ miss, read, write, input }) => (miss ? read + write + input : null)),
	};
}

/** The bill as it grows, beside the two it is compared with; in dollars if all prices are known. */
export function billSeries(cost: Cost) {
	const { requests } = cost;
	const isPriced = requests.every((request) =>
		[request.cost, request.appendOnlyCost, request.noCacheCost].every(
			({ dollars }) => dollars !== undefined,
		),
	);
	const unit = isPriced ? "dollars" : "tokens";
	const grown = (pick: (request: CostRequest) => Price) => {
		let sum = 0;
		return requests.map((request) => {
			sum += pick(request)[unit] ?? 0;
			return sum;
		});
	};
	return {
		unit,
		numbers: numbersOf(cost),
		cost: grown((request) => request.cost),
		appendOnly: grown(({ appendOnlyCost }) => appendOnlyCost),
		noCache: grown(({ noCacheCost }) => noCacheCost),
	};
}

/** A miss with the request it happened in. */
export interface MissRow extends CacheMiss {
	readonly number: number;
	readonly atMs: number;
}

/** The misses of the listed requests, the latest first. */
export function missRows(cost: Cost): MissRow[] {
	const numbers = numbersOf(cost);
	return cost.requests
		.flatMap(({ miss, atMs }, at) => (miss ? [{ ...miss, number: numbers[at] ?? 0, atMs }] : []))
		.reverse();
}

/** The numbers of the listed requests; 1 is the first of the session. The list may begin late. */
function numbersOf({ requests, totals }: Cost): number[] {
	const first = Math.max(0, totals.requests - requests.length) + 1;
	return requests.map((_, at) => first + at);
}
