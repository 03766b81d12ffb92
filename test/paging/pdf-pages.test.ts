import { describe, expect, test } from "vitest";
import { PdfPageCache } from "../../src/paging/pdf-chunk.ts";
import { memoryOf, type PdfResource } from "../../src/paging/resource-loader.ts";

/** A document of so many pages, each of `chars` characters, and the calls that reach it. */
function documentOf(totalPages: number, chars: number) {
	const calls: [first: number, count: number][] = [];
	const document = {
		totalPages,
		async pages(first: number, count: number) {
			calls.push([first, count]);
			return Array.from({ length: count }, (_, index) => ({
				number: first + index,
				text: "x".repeat(chars),
			}));
		},
	};
	return { calls, pages: new PdfPageCache(document as never) };
}

describe("the pages of a PDF", () => {
	test("come in batches, and those that came are kept", async () => {
		const { calls, pages } = documentOf(40, 10);
		await pages.get(1, 1000);
		await pages.get(16, 1000);
		await pages.get(39, 1000);
		expect(calls).toEqual([
			[1, 16],
			[39, 2],
		]);
		expect(pages.cachedChars).toBe(180);
	});

	test("are kept up to a bound, and count into the size of the resource", async () => {
		const { pages } = documentOf(200, 10_000);
		for (let page = 1; page <= 200; page += 16) await pages.get(page, 1_000_000);
		expect(pages.cachedChars).toBeLessThanOrEqual(400_000);
		expect(pages.cachedChars).toBeGreaterThan(350_000);
		const resource = { kind: "pdf", bytes: 7, pages } as unknown as PdfResource;
		expect(memoryOf(resource)).toBe(7 + 2 * pages.cachedChars);
	});
});
