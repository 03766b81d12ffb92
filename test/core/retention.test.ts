import { expect, test } from "vitest";
import { chooseEvicted, RETENTION_GUARD_MS } from "../../src/core/retention.ts";
import { fc } from "../support/property.ts";

const nowMs = 1_000_000_000_000;
const minutes = 60_000;
const aged = (ageMs: number, bytes = 1) => ({ bytes, usedMs: nowMs - ageMs });

test("what is too old goes, what fits stays", () => {
	const old = aged(61 * minutes);
	const items = [aged(59 * minutes), old, aged(20 * minutes)];
	const limits = { maxBytes: 100, maxAgeMs: 60 * minutes, nowMs };
	expect(chooseEvicted(items, limits)).toEqual([old]);
	expect(chooseEvicted([], limits)).toEqual([]);
});

test("what is too much goes, least recently used first", () => {
	const items = [aged(20 * minutes, 40), aged(40 * minutes, 40), aged(30 * minutes, 40)];
	const limits = { maxBytes: 50, maxAgeMs: 60 * minutes, nowMs };
	expect(chooseEvicted(items, limits)).toEqual([items[1], items[2]]);
});

test("what was just used stays until there is twice too much", () => {
	const items = [aged(3 * minutes, 50), aged(2 * minutes, 50), aged(1 * minutes, 50)];
	const limits = { maxAgeMs: 1, nowMs };
	expect(chooseEvicted(items, { ...limits, maxBytes: 75 })).toEqual([]);
	expect(chooseEvicted(items, { ...limits, maxBytes: 74 })).toEqual([items[0]]);
	expect(chooseEvicted(items, { ...limits, maxBytes: 0 })).toEqual(items);
});

test("the rest is within the limits, and nothing older than what went has stayed", () => {
	const item = fc.record({
		bytes: fc.nat(1000),
		usedMs: fc.integer({ min: nowMs - 100 * minutes, max: nowMs + minutes }),
	});
	const sizes = fc.nat(20_000);
	const ages = fc.integer({ min: 0, max: 100 * minutes });
	fc.assert(
		fc.property(fc.array(item), sizes, ages, (items, maxBytes, maxAgeMs) => {
			const expired = new Set(chooseEvicted(items, { maxBytes, maxAgeMs, nowMs }));
			const kept = items.filter((one) => !expired.has(one));
			const bytes = kept.reduce((sum, one) => sum + one.bytes, 0);
			expect(bytes).toBeLessThanOrEqual(2 * maxBytes);
			const unguarded = kept.filter((one) => nowMs - one.usedMs >= RETENTION_GUARD_MS);
			if (unguarded.length > 0) expect(bytes).toBeLessThanOrEqual(maxBytes);
			for (const one of unguarded) expect(nowMs - one.usedMs).toBeLessThanOrEqual(maxAgeMs);
			const newestExpired = Math.max(...[...expired].map((one) => one.usedMs));
			for (const one of kept) expect(one.usedMs).toBeGreaterThanOrEqual(newestExpired);
		}),
	);
});
