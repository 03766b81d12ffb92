import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { byteCount, bytesOf, firstBytes } from "../../src/dashboard/parts/picture.tsx";
import { fc } from "../support/property.ts";

const noPause = async () => {};

describe("bytes in base64", () => {
	test("are read as they were written, and counted before", async () => {
		await fc.assert(
			fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
				const text = Buffer.from(bytes).toString("base64");
				expect(byteCount(text)).toBe(bytes.length);
				expect(await bytesOf(text, noPause)).toEqual(bytes);
				expect(firstBytes(text, 41)).toEqual(bytes.subarray(0, 30));
			}),
		);
	});

	test("are read in slices, with a pause between them", async () => {
		const bytes = randomBytes(2_000_001);
		let pauses = 0;
		const read = await bytesOf(bytes.toString("base64"), async () => {
			pauses++;
		});
		expect(Buffer.compare(read ?? Buffer.of(), bytes)).toBe(0);
		expect(pauses).toBe(5);
	});

	test.each([
		["with a letter that is none of it", '"<scri'],
		["with an end in the middle", "AA==AAAA"],
		["that are not all there", "AAAAA"],
	])("%s are none", async (_, end) => {
		expect(await bytesOf(`AAAA${end}`, noPause)).toBeUndefined();
		// Also at the end of many slices.
		expect(await bytesOf("A".repeat(1 << 20) + end, noPause)).toBeUndefined();
	});
});
