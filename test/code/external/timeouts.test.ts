import { describe, expect, test, vi } from "vitest";
import { PATIENCE } from "../../support/patience.ts";
import { isAlive, openKota } from "./open-kota.ts";

const FOUND = { json: { results: { code: [{ path: "src/cart.ts", match_count: 1 }] } } };

describe("a question that takes too long", () => {
	test("a question without an answer in time fails, and the next one finds a fresh process", {
		tags: "slow",
	}, async () => {
		const { kota, starts } = openKota({ tools: { search: { blocks: true } } }, { timeoutMs: 2000 });
		await kota.status();
		const late = expect(kota.search({ query: "cart" })).rejects.toThrow(
			/did not answer search within 2 s.*kota\.timeoutSeconds/,
		);
		const next = kota.status();
		await late;
		expect(await next).toMatchObject({ state: "ready" });
		expect(starts()).toHaveLength(2);
		expect(starts().map(isAlive)).toEqual([false, true]);
	});

	test("indexing has more time than a question", { tags: "slow" }, async () => {
		const { kota } = openKota(
			{
				tools: {
					index_repository: {
						json: { status: "completed", stats: { files_indexed: 4 } },
						afterMs: 2000,
					},
				},
			},
			{ timeoutMs: 1500 },
		);
		expect(await kota.build()).toMatchObject({ changed: 4 });
	});

	test("an aborted question fails at once, and what it kept busy is ended", {
		tags: "slow",
	}, async () => {
		const { kota, starts, calls } = openKota({ tools: { search: { blocks: true } } });
		const controller = new AbortController();
		const asked = kota.search({ query: "cart" }, { signal: controller.signal });
		await vi.waitFor(() => expect(calls("search")).toHaveLength(1), PATIENCE);
		controller.abort();
		await expect(asked).rejects.toMatchObject({ code: "aborted" });
		await kota.status();
		expect(starts().map(isAlive)).toEqual([false, true]);
	});

	test("a new process waits until the old one is gone, so that they never share the database", {
		tags: "slow",
	}, async () => {
		const { kota, journal, calls } = openKota({
			stubborn: true,
			tools: { search: { blocks: true } },
		});
		const controller = new AbortController();
		const asked = kota.search({ query: "cart" }, { signal: controller.signal });
		await vi.waitFor(() => expect(calls("search")).toHaveLength(1), PATIENCE);
		controller.abort();
		await expect(asked).rejects.toMatchObject({ code: "aborted" });
		await kota.status();
		const starts = journal().filter((entry) => entry.event === "start");
		expect(starts.map(({ beside }) => beside)).toEqual([[], []]);
	});

	test("a question that is aborted while it waits for its turn is never put", {
		tags: "slow",
	}, async () => {
		const { kota, calls, starts } = openKota({ tools: { search: { ...FOUND, afterMs: 400 } } });
		const controller = new AbortController();
		const first = kota.search({ query: "first" });
		await vi.waitFor(() => expect(calls("search")).toHaveLength(1), PATIENCE);
		const second = kota.search({ query: "second" }, { signal: controller.signal });
		controller.abort();
		await expect(second).rejects.toMatchObject({ code: "aborted" });
		await first;
		await kota.search({ query: "third" });
		expect(calls("search").map(({ query }) => query)).toEqual(["first", "third"]);
		expect(starts()).toHaveLength(1);
	});

	test("a signal that has fired already starts nothing", async () => {
		const { kota, starts } = openKota();
		const asked = kota.search({ query: "cart" }, { signal: AbortSignal.abort() });
		await expect(asked).rejects.toMatchObject({ code: "aborted" });
		expect(starts()).toHaveLength(0);
	});

	test("questions are put one at a time, in the order they were asked", {
		tags: "slow",
	}, async () => {
		const { kota, journal } = openKota({
			tools: {
				search: { ...FOUND, afterMs: 200 },
				find_usages: { json: { symbol: "a", usages: [] } },
			},
		});
		await kota.status();
		await Promise.all([kota.search({ query: "cart" }), kota.usages({ symbol: "a" })]);
		const events = journal().flatMap((entry) => {
			if (entry.event === "call") return [`asked ${entry.tool}`];
			return entry.event === "answer" ? [`answered ${entry.answered}`] : [];
		});
		expect(events.slice(2)).toEqual([
			"asked search",
			"answered search",
			"asked find_usages",
			"answered find_usages",
		]);
	});
});
