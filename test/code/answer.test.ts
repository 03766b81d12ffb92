import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RenderedAnswer } from "../../src/code/outline.ts";
import { type Delivery, deliver, MOST_BYTES } from "../../src/code/run-tool.ts";
import { createBlobStore } from "../../src/core/blob-store.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { tempDir } from "../support/temp.ts";

const LAST_LINE = "[120 files indexed; checked just now]";
const lines = (length: number) => Array.from({ length }, (_, at) => `  src/file-${at}.ts  value`);

function rendered(items: string[]): RenderedAnswer {
	return { forms: [() => [{ head: [`${items.length} files`], items }]], lastLine: LAST_LINE };
}

function delivery(over: Partial<Delivery> = {}): Delivery {
	const dir = join(tempDir(), "blobs");
	const blobs = createBlobStore({ enabled: true, dir, maxBytes: 1e8, maxAgeDays: 14 });
	return { maxBytes: 5000, blobs, ...over };
}

describe("an answer", () => {
	test("that fits is given whole, with the line on coverage last, and nothing is kept", async () => {
		let kept = 0;
		const blobs: Delivery["blobs"] = {
			keep: async () => {
				kept++;
				return { kind: "not-kept", why: "" };
			},
		};
		const { text, details } = await deliver(rendered(lines(3)), delivery({ blobs }));
		expect(text).toBe(["3 files", ...lines(3), LAST_LINE].join("\n"));
		expect(details).toEqual({ truncated: false, originalBytes: Buffer.byteLength(text) });
		expect(kept).toBe(0);
	});

	test("that does not fit is kept whole, and its excerpt points to it", async () => {
		const { text, details } = await deliver(rendered(lines(1000)), delivery());
		const whole = ["1000 files", ...lines(1000), LAST_LINE].join("\n");
		if (!details.truncated || !details.blobPath) throw new Error("not kept");
		expect(readFileSync(details.blobPath, "utf8")).toBe(whole);
		expect(details).toEqual({
			truncated: true,
			blobId: hashBytes(whole),
			blobPath: expect.stringContaining(`${hashBytes(whole)}.txt`),
			originalBytes: Buffer.byteLength(whole),
			excerptBytes: Buffer.byteLength(text),
		});
		expect(text.split("\n").slice(-2)).toEqual([
			`[shortened from 24,938 bytes; ask for less, or read parts of the whole answer: ${details.blobPath}]`,
			LAST_LINE,
		]);
	});

	test("is kept before anything is cut", async () => {
		const order: string[] = [];
		const blobs: Delivery["blobs"] = {
			keep: async () => {
				order.push("kept");
				return { kind: "not-kept", why: "" };
			},
		};
		const brief = () => {
			order.push("brief form");
			return [{ head: ["brief"], items: [] }];
		};
		await deliver(
			{ ...rendered(lines(1000)), forms: [...rendered(lines(1000)).forms, brief] },
			delivery({ blobs }),
		);
		expect(order).toEqual(["kept", "brief form"]);
	});

	test("that cannot be kept is shortened all the same, and says why there is no way back", async () => {
		const blobs = createBlobStore({ enabled: false, dir: tempDir(), maxBytes: 1, maxAgeDays: 1 });
		const { text, details } = await deliver(rendered(lines(1000)), delivery({ blobs }));
		expect(text).toContain("the whole answer is not kept (blobs.enabled is false)");
		expect(text).toContain("src/file-0.ts");
		expect(Object.keys(details)).toEqual(["truncated", "originalBytes", "excerptBytes"]);
	});
});

describe("the offer of the whole answer", () => {
	test("is not made for an answer that fits", async () => {
		const offerWhole = () => Promise.reject(new Error("asked"));
		expect((await deliver(rendered(lines(3)), delivery({ offerWhole }))).details.truncated).toBe(
			false,
		);
	});

	test("taken, gives all of it", async () => {
		const sizes: number[] = [];
		const offerWhole = async (bytes: number) => {
			sizes.push(bytes);
			return true;
		};
		const { text, details } = await deliver(rendered(lines(1000)), delivery({ offerWhole }));
		expect(text).toBe(["1000 files", ...lines(1000), LAST_LINE].join("\n"));
		expect(details.truncated).toBe(false);
		expect(sizes).toEqual([details.originalBytes]);
	});

	test("taken, still has an upper limit", async () => {
		const { text, details } = await deliver(
			rendered(lines(9000)),
			delivery({ offerWhole: async () => true }),
		);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MOST_BYTES);
		expect(Buffer.byteLength(text)).toBeGreaterThan(40_000);
		expect(details.truncated).toBe(true);
	});

	test("declined, leaves the short answer", async () => {
		const { text } = await deliver(
			rendered(lines(1000)),
			delivery({ offerWhole: async () => false }),
		);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
	});
});
