import { expect, test } from "vitest";
import { Waiters } from "../../src/core/waiters.ts";

const waiters = () => new Waiters<string>((signal) => new Error("left", { cause: signal.reason }));

test("all who wait have the result, and whoever has left has not", async () => {
	const work = waiters();
	const impatient = new AbortController();
	const all = [work.join(undefined), work.join(impatient.signal), work.join(undefined)];
	impatient.abort("enough");
	await expect(all[1]).rejects.toMatchObject({ message: "left", cause: "enough" });
	expect(work.signal.aborted).toBe(false);
	expect(work.size).toBe(2);
	work.resolve("done");
	expect(await Promise.all([all[0], all[2]])).toEqual(["done", "done"]);
	expect(work.size).toBe(0);
});

test("the work is told to stop when the last has left", async () => {
	const work = waiters();
	const controllers = [new AbortController(), new AbortController()];
	const all = controllers.map(({ signal }) => work.join(signal));
	controllers[0]?.abort();
	expect(work.signal.aborted).toBe(false);
	controllers[1]?.abort();
	expect(work.signal.aborted).toBe(true);
	for (const waiting of all) await expect(waiting).rejects.toThrow("left");
});

test("a failure reaches all, and a signal that fires later changes nothing", async () => {
	const work = waiters();
	const late = new AbortController();
	const all = [work.join(undefined), work.join(late.signal)];
	work.reject(new Error("broken"));
	late.abort();
	for (const waiting of all) await expect(waiting).rejects.toThrow("broken");
	expect(work.signal.aborted).toBe(false);
});
