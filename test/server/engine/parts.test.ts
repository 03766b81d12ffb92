import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Deadlines } from "../../../src/server/engine/deadlines.ts";
import { fingerprintOf } from "../../../src/server/engine/frame.ts";
import { createRateBucket } from "../../../src/server/limits.ts";
import { fc } from "../../support/property.ts";

describe("fingerprints", () => {
	test("do not depend on the order of keys, at any depth", () => {
		fc.assert(
			fc.property(fc.object({ values: [fc.jsonValue()] }), (object) => {
				const value = JSON.parse(JSON.stringify(object));
				expect(fingerprintOf(reversed(value))).toBe(fingerprintOf(value));
			}),
		);
	});

	test("differ for values that differ, and agree for those that are equal as JSON", () => {
		fc.assert(
			fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
				const [left, right] = [a, b].map((value) => JSON.parse(JSON.stringify({ value })));
				const isEqual = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
				expect(fingerprintOf(left) === fingerprintOf(right)).toBe(isEqual);
			}),
		);
	});

	test("leave out the identity of the command itself, but not fields of that name inside it", () => {
		const plain = fingerprintOf({ type: "x" });
		expect(fingerprintOf({ type: "x", id: "1", idempotencyKey: "2" })).toBe(plain);
		expect(fingerprintOf({ type: "x", inner: { id: "1" } })).not.toBe(
			fingerprintOf({ type: "x", inner: { id: "2" } }),
		);
	});

	test("count a key named __proto__ like any other", () => {
		const [one, two] = ["1", "2"].map((value) =>
			fingerprintOf(JSON.parse(`{"type":"x","__proto__":${value}}`)),
		);
		expect(one).not.toBe(two);
	});

	test("tell half a surrogate pair from another", () => {
		expect(fingerprintOf({ text: "\ud800" })).not.toBe(fingerprintOf({ text: "\ud801" }));
	});
});

describe("deadlines", () => {
	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	});
	afterEach(() => vi.useRealTimers());

	test("expire each at its time, unless removed, whatever else is added or removed", async () => {
		const Step = fc.oneof(
			fc.record({ kind: fc.constant("add") }),
			fc.record({ kind: fc.constant("remove"), which: fc.nat() }),
			fc.record({ kind: fc.constant("wait"), ms: fc.integer({ min: 1, max: 80 }) }),
		);
		await fc.assert(
			fc.asyncProperty(fc.array(Step), async (steps) => {
				const expired: number[] = [];
				const clock = () => performance.now();
				const deadlines = new Deadlines<number>(100, clock, (item) => expired.push(item));
				const added: { deadline: ReturnType<typeof deadlines.add>; atMs: number }[] = [];
				const removed = new Set<number>();
				for (const step of [...steps, { kind: "wait", ms: 50 } as const]) {
					if (step.kind === "add") {
						added.push({ deadline: deadlines.add(added.length), atMs: clock() + 100 });
					} else if (step.kind === "wait") await vi.advanceTimersByTimeAsync(step.ms);
					else if (added.length > 0) {
						const index = step.which % added.length;
						if (!expired.includes(index)) removed.add(index);
						added[index]?.deadline.cancel();
					}
				}
				const due = added.flatMap(({ atMs }, index) =>
					atMs <= clock() && !removed.has(index) ? [index] : [],
				);
				expect(expired).toEqual(due);
				deadlines.close();
				expect(vi.getTimerCount()).toBe(0);
			}),
		);
	});

	test("one that is added while another expires does not delay those before it", async () => {
		const expired: string[] = [];
		const deadlines = new Deadlines<string>(
			100,
			() => performance.now(),
			(item) => {
				expired.push(item);
				if (item === "a") deadlines.add("c");
			},
		);
		deadlines.add("a");
		await vi.advanceTimersByTimeAsync(50);
		deadlines.add("b");
		await vi.advanceTimersByTimeAsync(100);
		expect(expired).toEqual(["a", "b"]);
		await vi.advanceTimersByTimeAsync(50);
		expect(expired).toEqual(["a", "b", "c"]);
		deadlines.close();
	});
});

describe("the rate bucket", () => {
	test("lets a full minute's worth through at once, then as many as time brings back", () => {
		let now = 0;
		const bucket = createRateBucket(60, () => now);
		for (let taken = 0; taken < 60; taken++) expect(bucket.take()).toBe(true);
		expect(bucket.take()).toBe(false);
		expect(bucket.waitMs()).toBe(1_000);
		now += 999;
		expect(bucket.take()).toBe(false);
		now += 1;
		expect(bucket.waitMs()).toBe(0);
		expect(bucket.take()).toBe(true);
		expect(bucket.take()).toBe(false);
		now += 10_000_000;
		for (let taken = 0; taken < 60; taken++) expect(bucket.take()).toBe(true);
		expect(bucket.take()).toBe(false);
	});
});

function reversed(value: unknown): never {
	return rebuilt(value, (keys) => keys.toReversed()) as never;
}

function sorted(value: unknown): unknown {
	return rebuilt(value, (keys) => keys.toSorted());
}

function rebuilt(value: unknown, order: (keys: string[]) => string[]): unknown {
	if (Array.isArray(value)) return value.map((item) => rebuilt(item, order));
	if (typeof value !== "object" || value === null) return value;
	const entries = order(Object.keys(value)).map((key) => [
		key,
		rebuilt((value as Record<string, unknown>)[key], order),
	]);
	return Object.fromEntries(entries);
}
