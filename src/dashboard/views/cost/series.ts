import type { CacheMiss, Cost, CostRequest, Price } from "../../../protocol/index.ts";

/** The prompts of the listed requests, ready to be stacked, and the number of the first one in the session. */
export interface PromptSeries {
	/** 1 is the first request of the session. */
	readonly numbers: readonly number[];
	readonly read: readonly number[];
	readonly write: readonly number[];
	readonly input: readonly number[];
	/** The height of the column where the cache was missed, `null` elsewhere. */
	readonly missed: readonly (number | null)[];
}

/** What each listed request sent. The list may begin late: totals count all requests of the session. */
export function promptSeries({ requests, totals }: Cost): PromptSeries {
	const first = firstNumber(requests.length, totals.requests);
	return {
		numbers: requests.map((_, at) => first + at),
		read: requests.map(({ read }) => read),
		write: requests.map(({ write }) => write),
		input: requests.map(({ input }) => input),
		missed: requests.map((request) => (request.miss ? promptOf(request) : null)),
	};
}

/** The bill as it grows, beside the two it is compared with. */
export interface BillSeries {
	readonly unit: "dollars" | "tokens";
	readonly numbers: readonly number[];
	readonly cost: readonly number[];
	readonly appendOnly: readonly number[];
	readonly noCache: readonly number[];
}

/** What the prompts of the listed requests cost together up to each of them; in dollars if all prices are known. */
export function billSeries({ requests, totals }: Cost): BillSeries {
	const all = requests.flatMap(({ cost, appendOnlyCost, noCacheCost }) => [
		cost,
		appendOnlyCost,
		noCacheCost,
	]);
	const unit = all.every(({ dollars }) => dollars !== undefined) ? "dollars" : "tokens";
	const grown = (pick: (request: CostRequest) => Price) => {
		let sum = 0;
		return requests.map((request) => {
			sum += pick(request)[unit] ?? 0;
			return sum;
		});
	};
	const first = firstNumber(requests.length, totals.requests);
	return {
		unit,
		numbers: requests.map((_, at) => first + at),
		cost: grown(({ cost }) => cost),
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
export function missRows({ requests, totals }: Cost): MissRow[] {
	const first = firstNumber(requests.length, totals.requests);
	return requests
		.flatMap(({ miss, atMs }, at) => (miss ? [{ ...miss, number: first + at, atMs }] : []))
		.reverse();
}

function promptOf({ read, write, input }: CostRequest): number {
	return read + write + input;
}

function firstNumber(listed: number, all: number): number {
	return Math.max(0, all - listed) + 1;
}
