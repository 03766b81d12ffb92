import { describe, expect, test } from "vitest";
import { createEditRates } from "../../../src/workset/log/layout.ts";

describe("edit rates", () => {
	test("a file nobody has seen change is thought to change seldom, and ever more seldom", () => {
		const rates = createEditRates();
		expect(rates.of("a")).toBeCloseTo(0.05);
		for (let request = 0; request < 30; request++) rates.note([{ path: "a", hash: "1" }]);
		expect(rates.of("a")).toBeLessThan(0.02);
	});

	test("a file that changes in every second request has a rate of nearly a half", () => {
		const rates = createEditRates();
		for (let request = 0; request < 60; request++) {
			rates.note([{ path: "a", hash: String(request >> 1) }]);
		}
		expect(rates.of("a")).toBeGreaterThan(0.4);
		expect(rates.of("a")).toBeLessThan(0.5);
	});

	test("what happened lately counts most", () => {
		const calmed = createEditRates();
		const wild = createEditRates();
		for (let request = 0; request < 40; request++) {
			calmed.note([{ path: "a", hash: String(Math.min(request, 20)) }]);
			wild.note([{ path: "a", hash: String(Math.max(request, 20)) }]);
		}
		expect(calmed.of("a")).toBeLessThan(wild.of("a"));
	});

	test("a file that left is forgotten, so that a long session does not grow", () => {
		const rates = createEditRates();
		for (const hash of ["1", "2", "3"]) rates.note([{ path: "a", hash }]);
		expect(rates.of("a")).toBeGreaterThan(0.3);
		rates.note([]);
		expect(rates.of("a")).toBeCloseTo(0.05);
	});

	test("a path may have any name", () => {
		const rates = createEditRates();
		for (const hash of ["1", "2"]) rates.note([{ path: "__proto__", hash }]);
		expect(rates.of("__proto__")).toBeGreaterThan(0.2);
	});
});
