import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { dayOf, sinceOf, startOfDay } from "../../src/usage/period.ts";

const NOW = new Date(2026, 10, 16, 15, 30).getTime();

describe("the beginning of a period", () => {
	test("7d is today and the six days before, from midnight in local time", () => {
		expect(sinceOf("7d", NOW)).toBe(new Date(2026, 10, 10).getTime());
		expect(sinceOf("1d", NOW)).toBe(startOfDay(NOW));
	});

	test("a date begins at its midnight in local time", () => {
		expect(sinceOf("2026-11-01", NOW)).toBe(new Date(2026, 10, 1).getTime());
	});

	test.each(["", "d", "0d", "7", "-7d", "7h", "2026-02-30", "2026-13-01", "yesterday", "2026-1-1"])(
		"%j is none",
		(text) => {
			expect(sinceOf(text, NOW)).toBeUndefined();
		},
	);

	test("days that the clock makes longer or shorter are days", () => {
		const from = new Date(2026, 2, 1, 12).getTime();
		const days = Array.from({ length: 60 }, (_, at) => dayOf(startOfDay(from, -at)));
		expect(new Set(days).size).toBe(60);
		expect(days[59]).toBe("2026-04-29");
	});

	test("the time zone of the machine decides", { tags: "slow" }, () => {
		const module = new URL("../../src/usage/period.ts", import.meta.url).href;
		const script = `const { dayOf } = await import(${JSON.stringify(module)}); console.log(dayOf(Date.UTC(2026, 10, 15, 20)))`;
		const dayIn = (TZ: string) =>
			execFileSync(process.execPath, ["--input-type=module", "-e", script], {
				env: { ...process.env, TZ },
				encoding: "utf8",
			}).trim();
		expect(dayIn("Asia/Tokyo")).toBe("2026-11-16");
		expect(dayIn("America/New_York")).toBe("2026-11-15");
	});
});
