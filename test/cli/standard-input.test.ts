import { expect, test } from "vitest";
import { readUpTo } from "../../src/cli/standard-input.ts";

/** Chunks of that many bytes; counts how many were taken. */
function input(...sizes: number[]) {
	const taken: number[] = [];
	async function* chunks() {
		for (const size of sizes) {
			taken.push(size);
			yield Buffer.alloc(size, "x");
		}
	}
	return { chunks: chunks(), taken };
}

test("input up to the limit is read whole", async () => {
	expect(String(await readUpTo(input(3, 4, 1).chunks, 8))).toBe("x".repeat(8));
	expect(await readUpTo(input().chunks, 8)).toHaveLength(0);
});

test("longer input is read to its end, so that its writer does not fail, and is dropped", async () => {
	const { chunks, taken } = input(3, 6, 1, 1);
	expect(await readUpTo(chunks, 8)).toBeUndefined();
	expect(taken).toEqual([3, 6, 1, 1]);
});
