import { describe, expect, test } from "vitest";
import type { PageSpan, PdfPage } from "../../../src/paging/pdf/pdf-worker.ts";
import { ReadAhead } from "../../../src/paging/pdf/read-ahead.ts";
import { fc, runs } from "../../support/property.ts";

const TOTAL = 200;

/** A document in which page n has `size(n)` characters; it notes which spans were asked for. */
function createFake({
	size = () => 1000,
	failing = 0,
}: {
	size?: (page: number) => number;
	failing?: number;
} = {}) {
	const asked: PageSpan[] = [];
	let time = 0;
	const reader = new ReadAhead({
		totalPages: TOTAL,
		workers: 2,
		now: () => time,
		read: async (span, signal) => {
			asked.push(span);
			await new Promise((resolve) => setImmediate(resolve));
			signal?.throwIfAborted();
			const pages: PdfPage[] = [];
			let left = span.maxChars;
			for (let number = span.first; number <= span.last && left > 0; number++) {
				if (number === failing) throw new Error(`page ${failing} fails`);
				pages.push({ number, text: "x".repeat(size(number)) });
				left -= size(number);
			}
			return pages;
		},
	});
	const read = async (first: number, last = TOTAL, maxChars = 3000, signal?: AbortSignal) => {
		const pages = await reader.read({ first, last, maxChars }, signal);
		return pages.map(({ number }) => number);
	};
	return { asked, read, reader, wait: (ms: number) => (time += ms) };
}

function range(first: number, last: number): number[] {
	return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

describe("reading in advance", () => {
	test("begins with the third call that follows at once", async () => {
		const { asked, read } = createFake();
		expect(await read(1)).toEqual([1, 2, 3]);
		expect(await read(4)).toEqual([4, 5, 6]);
		expect(asked).toHaveLength(2);
		expect(await read(7)).toEqual([7, 8, 9]);
		expect(asked.slice(2).map(({ first, last }) => [first, last])).toEqual([
			[7, 22],
			[23, 38],
			[39, 54],
		]);
		expect(await read(10)).toEqual([10, 11, 12]);
		expect(asked).toHaveLength(5);
	});

	test("does not begin when the caller takes its time, or jumps", async () => {
		const slow = createFake();
		for (let first = 1; first < 40; first += 3) {
			expect(await slow.read(first)).toEqual(range(first, first + 2));
			slow.wait(1000);
		}
		expect(slow.asked.every(({ maxChars }) => maxChars === 3000)).toBe(true);

		const jumping = createFake();
		for (const first of [1, 50, 20, 150, 60, 1])
			expect(await jumping.read(first)).toEqual(range(first, first + 2));
		expect(jumping.asked).toHaveLength(6);
	});

	test("serves a large span at once, and reads nothing beyond it", async () => {
		const { asked, read } = createFake();
		expect(await read(11, 150, Number.POSITIVE_INFINITY)).toEqual(range(11, 150));
		expect(Math.max(...asked.map(({ last }) => last))).toBe(150);
	});

	test("ends with the page that reaches the limit", async () => {
		const { read } = createFake({ size: () => 10_000 });
		expect(await read(1, TOTAL, 300_000)).toEqual(range(1, 30));
		expect(await read(1, TOTAL, 300_001)).toEqual(range(1, 31));
	});

	test("a page that fails is an error only for who asks for it", async () => {
		const { read } = createFake({ failing: 18 });
		for (let first = 1; first < 16; first += 3)
			expect(await read(first)).toEqual(range(first, first + 2));
		expect(await read(16, 17)).toEqual([16, 17]);
		await expect(read(18)).rejects.toThrow("page 18 fails");
		expect(await read(19)).toEqual([19, 20, 21]);
	});

	test("abort ends what goes on in advance, and later calls work", async () => {
		const { read } = createFake();
		const controller = new AbortController();
		const reading = read(1, TOTAL, Number.POSITIVE_INFINITY, controller.signal);
		controller.abort();
		await expect(reading).rejects.toThrow();
		expect(await read(1)).toEqual([1, 2, 3]);
	});

	test("calls on one document at the same time do not disturb each other", async () => {
		const { read } = createFake();
		const answers = await Promise.all([
			read(1, 100, Number.POSITIVE_INFINITY),
			read(50, 200, Number.POSITIVE_INFINITY),
			read(7),
		]);
		expect(answers).toEqual([range(1, 100), range(50, 200), [7, 8, 9]]);
	});

	test("however it is called, the pages are those asked for", async () => {
		const call = fc.record({
			jump: fc.option(fc.integer({ min: 1, max: TOTAL }), { freq: 5 }),
			again: fc.boolean(),
			count: fc.integer({ min: 1, max: 80 }),
			maxChars: fc.constantFrom(1, 3000, 20_000, 250_000, Number.POSITIVE_INFINITY),
			pause: fc.constantFrom(0, 0, 0, 1000),
		});
		const size = (page: number) =>
			page % 40 === 7 ? 90_000 : page % 3 === 0 ? 0 : (page * 37) % 5000;
		const property = fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
			const { read, wait } = createFake({ size });
			let last = 0;
			for (const { jump, again, count, maxChars, pause } of calls) {
				const first = Math.min(TOTAL, jump ?? Math.max(1, last + (again ? 0 : 1)));
				const end = Math.min(TOTAL, first + count - 1);
				let [stop, left] = [first, maxChars - size(first)];
				while (stop < end && left > 0) left -= size(++stop);
				expect(await read(first, end, maxChars)).toEqual(range(first, stop));
				last = stop;
				wait(pause);
			}
		});
		await fc.assert(property, { numRuns: runs(200) });
	});
});
