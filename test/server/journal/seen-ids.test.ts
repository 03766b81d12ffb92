import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { IdRow } from "../../../src/server/journal/journal-reader.ts";
import { SeenIds } from "../../../src/server/journal/uncommitted.ts";
import { fc, runs } from "../../support/property.ts";

const rowsOf = (names: readonly (readonly [string, string])[]): IdRow[] =>
	names.map(([principal, id], at) => ({ position: 3 * at + 1, principal, id }));

const readerOf = (rows: readonly IdRow[]) => (after: number, limit: number) =>
	rows.filter(({ position }) => position > after).slice(0, limit);

const many = (count: number, prefix: string) =>
	Array.from({ length: count }, (_, index) => ["me", `${prefix}-${index}`] as const);

describe("ids that were seen", () => {
	test("are never denied, whether they were in the file or came since", {
		tags: "slow",
	}, async () => {
		const name = fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }));
		await fc.assert(
			fc.asyncProperty(fc.array(name), fc.array(name), async (before, since) => {
				const seen = new SeenIds();
				for (const [principal, id] of since.slice(0, 2)) seen.add(principal, id);
				const takenIn = seen.load(readerOf(rowsOf(before)));
				for (const [principal, id] of since.slice(2)) seen.add(principal, id);
				await takenIn;
				for (const [principal, id] of [...before, ...since]) {
					expect(seen.mayHave(principal, id)).toBe(true);
				}
			}),
			{ numRuns: runs(50) },
		);
	});

	test("others are denied, nearly all of them", { tags: "slow" }, async () => {
		const seen = new SeenIds();
		await seen.load(readerOf(rowsOf(many(20_000, "known"))));
		const wrong = many(20_000, "new").filter(([principal, id]) => seen.mayHave(principal, id));
		expect(wrong.length).toBeLessThan(20);
		expect(seen.mayHave("somebody else", "known-1")).toBe(false);
		for (const [principal, id] of many(20_000, "known")) {
			expect(seen.mayHave(principal, id)).toBe(true);
		}
	});

	test("a file is taken in although nothing else happens in the process", async () => {
		const door = new URL("../../../src/server/journal/uncommitted.ts", import.meta.url);
		const program = `
			import { SeenIds } from ${JSON.stringify(door.href)};
			const seen = new SeenIds();
			const rows = Array.from({ length: 2_000 }, (_, at) => ({ position: at + 1, principal: "me", id: "known-" + at }));
			await seen.load((after) => (after === 0 ? rows : []));
			console.log(seen.mayHave("me", "new"));
		`;
		const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
		await expect(run).resolves.toMatchObject({ stdout: "false\n" });
	});

	test("any id may be there until the file is taken in, after a failure, and at the end", async () => {
		const seen = new SeenIds();
		expect(seen.mayHave("me", "new")).toBe(true);
		const takenIn = seen.load(readerOf(rowsOf(many(5_000, "known"))));
		expect(seen.mayHave("me", "new")).toBe(true);
		await takenIn;
		expect(seen.mayHave("me", "new")).toBe(false);
		const broken = seen.load(() => {
			throw new Error("disk");
		});
		await expect(broken).rejects.toThrow("disk");
		expect(seen.mayHave("me", "new")).toBe(true);
		await seen.load(readerOf([]));
		expect(seen.mayHave("me", "new")).toBe(false);
		expect(seen.mayHave("me", "known-1")).toBe(true);
		seen.close();
		expect(seen.mayHave("me", "new")).toBe(true);
	});

	test("a file that takes the place of another one while that is taken in is the one that counts", async () => {
		const seen = new SeenIds();
		const first = seen.load(readerOf(rowsOf(many(9_000, "first"))));
		const second = seen.load(readerOf(rowsOf(many(9_000, "second"))));
		await first;
		expect(seen.mayHave("me", "new")).toBe(true);
		await second;
		expect(seen.mayHave("me", "new")).toBe(false);
		expect(seen.mayHave("me", "second-8999")).toBe(true);
	});
});
