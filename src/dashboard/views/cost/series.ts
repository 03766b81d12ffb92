import type { CacheMiss, Cost, CostRequest, Price } from "../../../protocol/index.ts";

/** `missed` is the height of a column where the cache was missed. */
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

/** In dollars if all prices are known. */
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

export interface MissRow extends CacheMiss {
	readonly number: number;
	readonly atMs: number;
}

/** The latest first. */
export function missRows(cost: Cost): MissRow[] {
	const numbers = numbersOf(cost);
	return cost.requests
		.flatMap(({ miss, atMs }, at) => (miss ? [{ ...miss, number: numbers[at] ?? 0, atMs }] : []))
		.reverse();
}

/** 1 is the first request of the session; the list may begin late. */
function numbersOf({ requests, totals }: Cost): number[] {
	const first = Math.max(0, totals.requests - requests.length) + 1;
	return requests.map((_, at) => first + at);
}
