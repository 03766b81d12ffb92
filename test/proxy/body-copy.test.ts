import { expect, test } from "vitest";
import { BodyCopy, CopyBudget } from "../../src/proxy/body-copy.ts";
import { fc, runs } from "../support/property.ts";

const MIB = 1024 * 1024;

test("a copy has the bytes that passed, or nothing, and never takes more than the budget", {
	tags: "slow",
}, async () => {
	const chunk = fc.uint8Array({ maxLength: 70_000, size: "max" });
	await fc.assert(
		fc.asyncProperty(
			fc.array(chunk, { maxLength: 8 }),
			fc.boolean(),
			fc.integer({ min: 1, max: 600_000 }),
			fc.integer({ min: 1, max: 300_000 }),
			async (chunks, isKnown, maxBytes, maxBodyBytes) => {
				const all = Buffer.concat(chunks);
				const budget = new CopyBudget(maxBytes);
				const copy = new BodyCopy({ budget, maxBodyBytes }, isKnown ? all.length : undefined);
				for (const each of chunks) {
					copy.add(each);
					each.fill(0); // memory of others is used again
					expect(budget.held).toBeLessThanOrEqual(maxBytes);
				}
				const joined = await copy.join();
				expect(budget.held).toBeLessThanOrEqual(maxBytes);
				if (joined) expect(Buffer.compare(joined, all)).toBe(0);
				const isSmall = all.length <= maxBodyBytes && maxBytes > 4 * all.length + 100_000;
				if (isSmall) expect(joined?.buffer.byteLength).toBe(all.length);
				copy.drop();
				expect(budget.held).toBe(0);
			},
		),
		{ numRuns: runs(50) },
	);
});

test("bytes of a known length take memory once", async () => {
	const budget = new CopyBudget(MIB);
	const copy = new BodyCopy({ budget, maxBodyBytes: MIB }, MIB);
	for (let index = 0; index < 16; index++) copy.add(Buffer.alloc(MIB / 16, index));
	expect((await copy.join())?.length).toBe(MIB);
	expect(budget.held).toBe(MIB);
});

test("a very large message is copied only when it is joined", async () => {
	const budget = new CopyBudget(8 * MIB);
	const copy = new BodyCopy({ budget, maxBodyBytes: 8 * MIB }, 3 * MIB);
	const message = Buffer.alloc(3 * MIB, "m");
	copy.add(message);
	const joined = await copy.join();
	expect(joined?.buffer).not.toBe(message.buffer);
	expect(Buffer.compare(joined ?? Buffer.of(), message)).toBe(0);
});
