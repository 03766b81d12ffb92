import { describe, expect, test } from "vitest";
import { historySeries, minuteName } from "../../../src/dashboard/views/server/history-series.ts";
import { amountOf, bookPeriod } from "../../../src/dashboard/views/usage/saved-sums.tsx";
import {
	csvRows,
	dayName,
	dayNumber,
	daySeries,
	groupUsage,
	usageTotal,
} from "../../../src/dashboard/views/usage/usage-rows.ts";
import type { Data } from "../../../src/protocol/index.ts";
import { csvLines, USAGE_COLUMNS } from "../../../src/text/csv.ts";

const row = (day: string, given: Partial<Data<"UsageRow">> = {}): Data<"UsageRow"> => ({
	...{ day, agent: "pi", project: "/w", model: "a/one", requests: 1, unpriced: 0, misses: 0 },
	...{ read: 10, write: 2, input: 1, output: 5 },
	...given,
});

describe("groups of usage", () => {
	const rows = [
		row("2026-02-02", { dollars: 1 }),
		row("2026-02-02", { model: "a/two", dollars: 4, misses: 2, missDollars: 0.5 }),
		row("2026-02-01", { model: "b/free", project: "", unpriced: 1 }),
	];

	test("are the latest day first, other groups the dearest first", () => {
		expect(groupUsage(rows, "day").map(({ name, dollars }) => [name, dollars])).toEqual([
			["2026-02-02", 5],
			["2026-02-01", undefined],
		]);
		expect(groupUsage(rows, "model").map(({ name }) => name)).toEqual(["a/two", "a/one", "b/free"]);
		expect(groupUsage(rows, "project").map(({ name }) => name)).toEqual(["/w", ""]);
	});

	test("add up to the total, which says how many requests have no price", () => {
		const total = usageTotal(rows);
		expect(total).toMatchObject({ requests: 3, unpriced: 1, dollars: 5, misses: 2, read: 30 });
		for (const by of ["day", "project", "model", "agent"] as const) {
			const sum = groupUsage(rows, by).reduce((all, { dollars = 0 }) => all + dollars, 0);
			expect(sum).toBe(total.dollars);
		}
	});

	test("a price of which nothing is known is no price of zero", () => {
		expect(usageTotal([row("2026-02-01")])).not.toHaveProperty("dollars");
	});
});

describe("dollars by day", () => {
	test("have every day between the first and the last, over months", () => {
		const rows = [row("2026-03-01", { dollars: 1 }), row("2026-02-27", { dollars: 2 })];
		const { numbers, rows: series } = daySeries(rows);
		expect(numbers.map(dayName)).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
		expect(series).toMatchObject([{ name: "a/one", values: [2, 0, 1] }]);
	});

	test("have the dearest models apart, and the others together", () => {
		const rows = Array.from({ length: 8 }, (_, at) =>
			row("2026-02-01", { model: `m${at}`, dollars: at + 1 }),
		);
		const { rows: series } = daySeries(rows);
		expect(series.map(({ name, values }) => [name, values[0]])).toEqual([
			...[7, 6, 5, 4, 3].map((at) => [`m${at}`, at + 1]),
			["other models", 6],
		]);
	});

	test("begin a year before the last at the earliest", () => {
		const rows = [row("2020-01-01", { dollars: 1 }), row("2026-02-01", { dollars: 1 })];
		expect(daySeries(rows).numbers).toHaveLength(366);
		expect(dayNumber("1970-01-02")).toBe(1);
	});
});

test("the CSV of the page has a field for each column, and no formula", () => {
	const [head, line] = csvLines(
		USAGE_COLUMNS,
		csvRows([row("2026-02-01", { project: "=1+1,x", dollars: 0.5 })]),
	);
	expect(head?.split(",")).toHaveLength(13);
	expect(line).toBe(`2026-02-01,pi,"'=1+1,x",a/one,1,0.500000,0,1,10,2,5,0,`);
});

test("amounts of systems add up, and a system that did nothing has none", () => {
	const saved = { pruning: { tokens: 5, dollars: -1 }, readCache: { tokens: 7, dollars: 3 } };
	expect(amountOf({ saved }, "")).toEqual({ tokens: 12, dollars: 2 });
	expect(amountOf({ saved }, "birth")).toBeUndefined();
	expect(amountOf({ saved: {} }, "")).toBeUndefined();
});

test("a period without any price has tokens only", () => {
	const saved = { pruning: { tokens: 5, dollars: 0 } };
	const sums = { requests: 2, dollars: 0, unpriced: 2, saved };
	expect(bookPeriod("Today", sums)).toEqual({ name: "Today", saved, isPriced: false });
	expect(bookPeriod("Today", { ...sums, unpriced: 1 }).isPriced).toBe(true);
});

describe("the server's history on an axis", () => {
	const point = { finished: 4, failed: 1, events: 0, clients: 1, sessions: 1 };
	const sizes = { rssBytes: 1, heapUsedBytes: 1, journalBytes: 1 };

	test("minutes without a server have a place, and no values", () => {
		const now = new Date(600_000);
		const points = [
			{ ...point, ...sizes, atMs: 420_000 },
			{ ...point, ...sizes, atMs: 600_000, started: true as const },
		];
		const { numbers, values, starts } = historySeries({ minutes: 1, points }, 5, now);
		expect(numbers.map((number) => number - (numbers[0] ?? 0))).toEqual([0, 1, 2, 3, 4]);
		expect(values(({ finished }) => finished)).toEqual([null, 4, null, null, 4]);
		expect(values(({ latencyMs }) => latencyMs?.p50)).toEqual([null, null, null, null, null]);
		expect(starts(({ finished }) => finished)).toEqual([null, null, null, null, 4]);
	});

	test("a local minute has a time and, if wanted, a day", () => {
		expect(minuteName(14 * 60 + 5)).toBe("14:05");
		expect(minuteName(4 * 1440 + 1, true)).toBe("Mon 00:01");
	});
});
