import { describe, expect, test, vi } from "vitest";
import { PATIENCE } from "../../support/patience.ts";
import { isAlive, openKota } from "./open-kota.ts";

describe("the end", () => {
	test("closing ends the process and rejects what is under way and what comes later", {
		tags: "slow",
	}, async () => {
		const { kota, starts, calls } = openKota({ tools: { search: { blocks: true } } });
		const asked = [kota.search({ query: "one" }), kota.search({ query: "two" })].map((question) =>
			expect(question).rejects.toMatchObject({ code: "unavailable" }),
		);
		await vi.waitFor(() => expect(calls("search")).toHaveLength(1), PATIENCE);
		await kota.close();
		await Promise.all(asked);
		expect(starts().map(isAlive)).toEqual([false]);
		await expect(kota.status()).rejects.toMatchObject({ code: "unavailable" });
		expect(starts()).toHaveLength(1);
	});

	test("closing what was never started is done at once", async () => {
		const { kota, starts } = openKota();
		await kota.close();
		await kota.close();
		expect(starts()).toEqual([]);
	});

	test("a process that does not end when asked is made to", { tags: "slow" }, async () => {
		const { kota, starts } = openKota({ stubborn: true });
		await kota.status();
		expect(starts().map(isAlive)).toEqual([true]);
		await kota.close();
		expect(starts().map(isAlive)).toEqual([false]);
	});

	test("what the process has started ends with it, also after a crash", {
		tags: "slow",
	}, async () => {
		const { kota, starts, journal } = openKota({ hasChild: true });
		const children = () => journal().flatMap((one) => (one.event === "child" ? [one.pid] : []));
		await kota.status();
		process.kill(starts()[0] ?? 0, "SIGKILL");
		await vi.waitFor(() => expect(children().map(isAlive)).toEqual([false]), PATIENCE);
		await kota.status();
		await kota.close();
		await vi.waitFor(() => expect(children().map(isAlive)).toEqual([false, false]), PATIENCE);
	});
});
