import { describe, expect, test } from "vitest";
import { stacked } from "../../../src/dashboard/chart/layout.ts";
import {
	billSeries,
	causeDescription,
	causeName,
	missRows,
	promptSeries,
} from "../../../src/dashboard/views/cost/cost-charts.tsx";
import { piAloneNote, sessionSaved } from "../../../src/dashboard/views/cost/cost-view.tsx";
import { savedTokens, savingsRows } from "../../../src/dashboard/views/cost/system-savings.tsx";
import type { Data } from "../../../src/protocol/index.ts";
import { MISS_CAUSES } from "../../../src/text/miss-causes.ts";

const price = (tokens: number, dollars?: number) =>
	dollars === undefined ? { tokens } : { tokens, dollars };

function request(read: number, more: Partial<Data<"CostRequest">> = {}): Data<"CostRequest"> {
	return {
		atMs: 1000 * read,
		model: "a/b",
		read,
		write: 10,
		input: 1,
		output: 5,
		cost: price(read, read / 100),
		appendOnlyCost: price(2 * read, read / 50),
		noCacheCost: price(10 * read, read / 10),
		...more,
	};
}

function cost(requests: Data<"CostRequest">[], all = requests.length): Data<"Cost"> {
	const none = price(0);
	return {
		requests,
		totals: {
			requests: all,
			...{ read: 0, write: 0, input: 0, output: 0, misses: 0, missedTokens: 0 },
			...{ cost: none, appendOnlyCost: none, noCacheCost: none, missCost: none },
		},
	};
}

/** The values of a bill's rows by their names. */
const billed = ({ rows }: ReturnType<typeof billSeries>) =>
	Object.fromEntries(rows.map(({ name, values }) => [name, values]));

const miss = { tokens: 90, cause: "expired", cost: price(80) };

describe("the requests", () => {
	test("are numbered from the session's first one, even if the list begins later", () => {
		expect(promptSeries(cost([request(1), request(2)], 700)).numbers).toEqual([699, 700]);
		expect(promptSeries(cost([request(1), request(2)])).numbers).toEqual([1, 2]);
	});

	test("are marked at the top of their column where the cache was missed", () => {
		const series = promptSeries(cost([request(100), request(0, { miss })]));
		expect(series.missed).toEqual([null, 11]);
		expect(stacked(series.rows)).toEqual([
			[100, 0],
			[110, 10],
			[111, 11],
		]);
	});

	test("without any there is nothing to draw", () => {
		expect(promptSeries(cost([])).numbers).toEqual([]);
		expect(billed(billSeries(cost([])))).toEqual({ "No cache": [], "Pi alone": [], Paid: [] });
	});
});

describe("the bill", () => {
	test("grows from request to request, in dollars where all prices are known", () => {
		const bill = billSeries(cost([request(100), request(200)]));
		expect(bill.unit).toBe("dollars");
		expect(billed(bill)).toEqual({ Paid: [1, 3], "Pi alone": [2, 6], "No cache": [10, 30] });
	});

	test("is in tokens as soon as one price is not known", () => {
		const bill = billSeries(cost([request(100), request(200, { cost: price(7) })]));
		expect(bill.unit).toBe("tokens");
		expect(billed(bill).Paid).toEqual([100, 107]);
	});
});

describe("the bill of pi alone", () => {
	const { totals } = cost([request(1), request(2), request(3)]);

	test("says what it is", () => {
		expect(piAloneNote(totals)).toBe(
			"“Pi alone” means the same requests without pi-strata: append-only, with full texts instead of markers, diffs and stubs.",
		);
	});

	test("says so where pi would have compacted instead", () => {
		expect(piAloneNote({ ...totals, appendOnlyOverLimit: 2 })).toContain(
			"2 of the 3 requests would have exceeded the size at which pi compacts; the comparison does not include compaction.",
		);
	});
});

describe("the misses", () => {
	test("are listed with their request and cause, the latest first", () => {
		const rows = missRows(cost([request(0, { miss }), request(5), request(6, { miss })], 10));
		expect(rows.map(({ number, cause }) => [number, causeDescription(cause)])).toEqual([
			[10, "the pause was longer than the cache's TTL"],
			[8, "the pause was longer than the cache's TTL"],
		]);
	});

	test("have their causes in the same words as in pi and on the command line", () => {
		for (const [cause, words] of Object.entries(MISS_CAUSES)) {
			expect([cause, causeDescription(cause)]).toEqual([cause, words]);
		}
	});

	test("of replaced content are called the same, live and in a replay", () => {
		expect(causeName("edit")).toBe(causeName("pruning"));
		expect(causeDescription("edit")).toBe("older content was replaced on purpose");
		expect(causeDescription("pruning")).toBe(causeDescription("edit"));
	});

	test("a cause that the page does not know is shown as it is", () => {
		expect(causeDescription("sunspots")).toBe("sunspots");
		expect(causeName("sunspots")).toBe("sunspots");
	});
});

test("systems that are on come first, those that saved most before the others", () => {
	const system = (tokens: number, enabled = true) => ({ enabled, times: 1, tokens, details: [] });
	const savings: Data<"Savings"> = {
		readCache: system(50),
		paging: system(900, false),
		kota: system(10),
		pruning: system(80),
		tiers: system(0),
		economy: system(0, false),
		total: { tokens: 1040 },
	};
	expect(savingsRows(savings).map((row) => row.system)).toEqual([
		"pruning",
		"readCache",
		"kota",
		"tiers",
		"paging",
		"economy",
	]);
});

test("a saving that nobody can measure is a dash, and none is a zero", () => {
	expect(savedTokens({ tokens: 0, unmeasured: 3 })).toBe("–");
	expect(savedTokens({ tokens: 1200, unmeasured: 3 })).toBe("1.2k");
	expect(savedTokens({ tokens: 0 })).toBe("0");
});

describe("what a session saved by system", () => {
	const savings = (tokens: number) =>
		({ pruning: { tokens }, readCache: { tokens: 0 } }) as Data<"Savings">;

	test("has dollars of the bills and tokens of the texts; a system that did nothing is left out", () => {
		const saved = { pruning: price(10, -0.5), readCache: price(20, 0.25) };
		expect(sessionSaved({ saved }, savings(700))).toEqual({
			readCache: { dollars: 0.25, tokens: 0 },
			pruning: { dollars: -0.5, tokens: 700 },
		});
		expect(sessionSaved({}, undefined)).toEqual({});
	});
});
