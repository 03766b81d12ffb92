import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SavedBook, savedFolder } from "../../src/usage/saved-book.ts";
import { atEnd, tempDir } from "../support/temp.ts";

async function openBook(agentDir: string): Promise<SavedBook> {
	const book = await SavedBook.open(agentDir);
	if (typeof book === "string") throw new Error(book);
	atEnd(() => book.close());
	return book;
}

const row = (day: string, dollars: number, tokens = 0) => ({
	day,
	project: "/shop",
	model: "anthropic/claude-x",
	requests: 1,
	dollars,
	unpriced: 0,
	saved: { pruning: { tokens, dollars: -0.5 } },
});

describe("the book of savings", () => {
	test("adds up what several processes write, by day", async () => {
		const agentDir = tempDir();
		const one = await openBook(agentDir);
		const other = await openBook(agentDir);
		one.add([row("2026-11-15", 1, 100), row("2026-11-16", 2, 10)]);
		other.add([row("2026-11-16", 4, 1)]);
		expect(one.sums()).toEqual({
			requests: 3,
			dollars: 7,
			unpriced: 0,
			saved: { pruning: { tokens: 111, dollars: -1.5 } },
		});
		expect(one.sums("2026-11-16")).toMatchObject({ requests: 2, dollars: 6 });
		expect(one.days("2026-11-16")).toEqual([
			{ day: "2026-11-16", requests: 2, dollars: 6, unpriced: 0, saved: expect.any(Object) },
		]);
		expect(one.days().map(({ day, saved }) => [day, saved.pruning?.tokens])).toEqual([
			["2026-11-15", 100],
			["2026-11-16", 11],
		]);
		expect(one.sums("2026-11-17")).toEqual({ requests: 0, dollars: 0, unpriced: 0, saved: {} });
	});

	test("has all rows of a run or none", async () => {
		const book = await openBook(tempDir());
		const bad = { ...row("2026-11-16", 1), dollars: "much" as unknown as number };
		expect(() => book.add([row("2026-11-16", 1), bad])).toThrow();
		expect(book.sums().requests).toBe(0);
	});

	test("says why a folder cannot be used", async () => {
		const agentDir = tempDir();
		mkdirSync(savedFolder(agentDir), { recursive: true });
		writeFileSync(join(savedFolder(agentDir), "mine.txt"), "");
		expect(await SavedBook.open(agentDir)).toContain("mine.txt");
	});
});
