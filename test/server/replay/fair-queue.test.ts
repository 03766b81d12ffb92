import { describe, expect, test } from "vitest";
import { FairQueue } from "../../../src/server/replay/fair-queue.ts";

describe("heavy work", () => {
	test("of one principal never takes all there is, and each gets its turn", async () => {
		const { ask, begun, end } = start();
		for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) ask(name);
		await Promise.resolve();
		expect(begun).toEqual(["a1", "b1"]);
		await end("a1");
		expect(begun).toEqual(["a1", "b1", "c1"]);
		await end("b1");
		await end("c1");
		expect(begun).toEqual(["a1", "b1", "c1", "a2", "b2"]);
		await end("b2");
		expect(begun).toHaveLength(5); // a2 runs, so a3 waits
		await end("a2");
		expect(begun.at(-1)).toBe("a3");
	});

	test("is refused beyond the bounds, of one principal and in all, and welcome again afterwards", async () => {
		const { ask, end } = start({ waiting: 3, waitingPerPrincipal: 2 });
		for (const name of ["a1", "a2", "a3", "b1"]) ask(name);
		await expect(ask("a4")).rejects.toMatchObject({ code: "busy" });
		ask("b2");
		await expect(ask("c1")).rejects.toMatchObject({ code: "busy" });
		await end("a1");
		await end("a2");
		const late = ask("c1");
		await end("a3");
		await end("b1");
		await end("b2");
		await end("c1");
		await late;
	});

	test("that is aborted while it waits never runs, and frees its place", async () => {
		const { ask, begun, end } = start({ waitingPerPrincipal: 1 });
		ask("a1");
		const controller = new AbortController();
		const stopped = ask("a2", controller.signal);
		controller.abort();
		await expect(stopped).rejects.toMatchObject({ code: "failed" });
		await expect(ask("a3", controller.signal)).rejects.toMatchObject({ code: "failed" });
		ask("a4");
		await end("a1");
		expect(begun).toEqual(["a1", "a4"]);
	});

	test("that fails makes room like any other", async () => {
		const queue = new FairQueue(LIMITS);
		const { signal } = new AbortController();
		for (let round = 0; round < 5; round++) {
			const failing = queue.run("a", signal, () => Promise.reject(new Error("no")));
			await expect(failing).rejects.toThrow("no");
		}
		expect(await queue.run("a", signal, async () => "done")).toBe("done");
	});
});

test("an abort in the moment in which the last work of a principal ends forgets nothing of the next", async () => {
	const { ask, begun, end } = start();
	ask("a1");
	const controller = new AbortController();
	const aborted = ask("a2", controller.signal);
	await Promise.resolve();
	const ended = end("a1");
	queueMicrotask(() => ask("a3"));
	controller.abort();
	await expect(aborted).rejects.toMatchObject({ code: "failed" });
	await ended;
	ask("a4");
	await Promise.resolve();
	expect(begun).toEqual(["a1", "a3"]);
	await end("a3");
	expect(begun).toEqual(["a1", "a3", "a4"]);
});

const LIMITS = { running: 2, runningPerPrincipal: 1, waiting: 64, waitingPerPrincipal: 8 };

/** The first letter of a name is its principal. */
function start(limits: Partial<typeof LIMITS> = {}) {
	const queue = new FairQueue({ ...LIMITS, ...limits });
	const begun: string[] = [];
	const ends = new Map<string, () => void>();
	return {
		begun,
		ask(name: string, signal = new AbortController().signal): Promise<void> {
			const asked = queue.run(name.slice(0, 1), signal, () => {
				begun.push(name);
				return new Promise<void>((resolve) => ends.set(name, resolve));
			});
			asked.catch(() => {}); // a test that expects a failure says so
			return asked;
		},
		async end(name: string) {
			ends.get(name)?.();
			await new Promise((resolve) => setImmediate(resolve));
		},
	};
}
