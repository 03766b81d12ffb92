import { describe, expect, test } from "vitest";
import { EditRates } from "../../../src/workset/log/layout.ts";

describe("edit rates", () => {
	test("a file nobody has seen change is thought to change seldom, and ever more seldom", () => {
		const rates = new EditRates();
		expect(rates.rateOf("a")).toBeCloseTo(0.05);
		for (let request = 0; request < 30; request++) rates.observe([{ path: "a", hash: "1" }]);
		expect(rates.rateOf("a")).toBeLessThan(0.02);
	});

	test("a file that changes in every second request has a rate of nearly a half", () => {
		const rates = new EditRates();
		for (let request = 0; request < 60; request++) {
			rates.observe([{ path: "a", hash: String(request >> 1) }]);
		}
		expect(rates.rateOf("a")).toBeGreaterThan(0.4);
		expect(rates.rateOf("a")).toBeLessThan(0.5);
	});

	test("what happened lately counts most", () => {
		const calmed = new EditRates();
		const wild = new EditRates();
		for (let request = 0; request < 40; request++) {
			calmed.observe([{ path: "a", hash: String(Math.min(request, 20)) }]);
			wild.observe([{ path: "a", hash: String(Math.max(request, 20)) }]);
		}
		expect(calmed.rateOf("a")).toBeLessThan(wild.rateOf("a"));
	});

	test("a file that left is forgotten, so that a long session does not grow", () => {
		const rates = new EditRates();
		for (const hash of ["1", "2", "3"]) rates.observe([{ path: "a", hash }]);
		expect(rates.rateOf("a")).toBeGreaterThan(0.3);
		rates.observe([]);
		expect(rates.rateOf("a")).toBeCloseTo(0.05);
	});

	test("a path may have any name", () => {
		const rates = new EditRates();
		for (const hash of ["1", "2"]) rates.observe([{ path: "__proto__", hash }]);
		expect(rates.rateOf("__proto__")).toBeGreaterThan(0.2);
	});
});
