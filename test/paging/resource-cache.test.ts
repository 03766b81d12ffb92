import { setImmediate } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { type Loader, ResourceCache } from "../../src/paging/resource-cache.ts";
import { fc, runs } from "../support/property.ts";

type Page = { text: string };

function setUp(limits: { ttlMs?: number; maxEntries?: number; maxBytes?: number } = {}) {
	const clock = { ms: 0 };
	const disposed: string[] = [];
	const cache = new ResourceCache<Page>({
		ttlMs: 1000,
		maxEntries: 3,
		maxBytes: 100,
		...limits,
		sizeOf: (page) => page.text.length,
		dispose: (page) => void disposed.push(page.text),
		now: () => clock.ms,
	});
	const read = (key: string, load: Loader<Page>) => cache.use({ key, load }, ({ text }) => text);
	/** Reads a page that is its key, as long as wanted. */
	const readKey = (key: string, length = 1) =>
		read(key, async () => ({ text: key.repeat(length) }));
	return { cache, clock, disposed, read, readKey };
}

const never: Loader<Page> = () => {
	throw new Error("must not be loaded");
};

describe("keeping", () => {
	test("a fresh value is not loaded again", async () => {
		const { cache, clock, readKey, read } = setUp();
		expect(await readKey("a")).toBe("a");
		clock.ms = 999;
		expect(await read("a", never)).toBe("a");
		expect(cache.stats()).toEqual({ entries: 1, bytes: 1, loading: 0 });
	});

	test("every use prolongs the time a value is fresh", async () => {
		const { clock, readKey, read } = setUp();
		await readKey("a");
		for (clock.ms = 900; clock.ms < 5000; clock.ms += 900) expect(await read("a", never)).toBe("a");
		clock.ms += 100;
		expect(await read("a", async ({ previous }) => ({ text: `${previous?.text}2` }))).toBe("a2");
	});

	test("an expired value is handed to the load, which may return it", async () => {
		const { cache, clock, disposed, readKey, read } = setUp();
		await readKey("a");
		clock.ms = 1000;
		expect(await read("a", async ({ previous }) => previous ?? { text: "?" })).toBe("a");
		expect(await read("a", never)).toBe("a");
		clock.ms = 2000;
		expect(await read("a", async () => ({ text: "new" }))).toBe("new");
		expect(disposed).toEqual(["a"]);
		expect(cache.stats()).toMatchObject({ entries: 1, bytes: 3 });
	});

	test("a fresh value is checked when the caller wants that", async () => {
		const { cache, readKey } = setUp();
		await readKey("a");
		const load: Loader<Page> = async ({ previous }) => ({ text: `${previous?.text}!` });
		const text = await cache.use({ key: "a", load, revalidate: true }, (page) => page.text);
		expect(text).toBe("a!");
	});

	test("the least recently used goes when there are too many", async () => {
		const { disposed, read, readKey } = setUp();
		for (const key of ["a", "b", "c"]) await readKey(key);
		await read("a", never);
		await readKey("d");
		expect(disposed).toEqual(["b"]);
		await read("a", never);
		await read("c", never);
	});

	test("the least recently used go until the bytes fit", async () => {
		const { cache, disposed, readKey } = setUp();
		await readKey("a", 40);
		await readKey("b", 40);
		await readKey("c", 90);
		expect(disposed.map((text) => text[0])).toEqual(["a", "b"]);
		expect(cache.stats()).toMatchObject({ entries: 1, bytes: 90 });
	});

	test("a value larger than the cache is kept, and nothing else is pushed out for it", async () => {
		const { cache, disposed, read, readKey } = setUp();
		await readKey("a");
		expect(await readKey("b", 101)).toHaveLength(101);
		expect(await read("b", never)).toHaveLength(101);
		expect(await read("a", never)).toBe("a");
		expect(await read("b", never)).toHaveLength(101);
		expect(disposed).toEqual([]);
		expect(cache.stats()).toMatchObject({ entries: 2, bytes: 1 });
	});

	test("only one value larger than the cache is kept, and only while it is among the last used", async () => {
		const { cache, disposed, readKey } = setUp();
		await readKey("a");
		await readKey("b", 101);
		await readKey("c", 102);
		expect(disposed.map((text) => text.length)).toEqual([101]);
		for (const key of ["d", "e", "f"]) await readKey(key);
		expect(disposed.map((text) => text.length)).toEqual([101, 1, 102]);
		expect(cache.stats()).toMatchObject({ entries: 3, bytes: 3 });
	});

	test("a value that outgrows the cache while it is used takes the place of another such", async () => {
		const { cache, disposed, readKey } = setUp();
		await readKey("a", 60);
		const grow = (length: number) =>
			cache.use({ key: "b", load: async () => ({ text: "b" }) }, (page) => {
				page.text = "b".repeat(length);
				expect(disposed).not.toContain(page.text);
			});
		await grow(40);
		expect(cache.stats()).toMatchObject({ entries: 2, bytes: 100 });
		await grow(41);
		expect(cache.stats()).toMatchObject({ entries: 1, bytes: 41 });
		await grow(101);
		expect(cache.stats()).toMatchObject({ entries: 1, bytes: 0 });
		expect(disposed.map((text) => text.length)).toEqual([60]);
		await readKey("c", 102);
		expect(disposed.map((text) => text.length)).toEqual([60, 101]);
	});

	test("a failed load keeps nothing, not even the outdated value", async () => {
		const { cache, clock, disposed, read, readKey } = setUp();
		await readKey("a");
		clock.ms = 1000;
		const fail: Loader<Page> = async () => {
			throw new Error("no route");
		};
		await expect(read("a", fail)).rejects.toThrow("no route");
		expect(disposed).toEqual(["a"]);
		expect(cache.stats()).toMatchObject({ entries: 0, bytes: 0, loading: 0 });
		await expect(read("a", never)).rejects.toThrow("must not be loaded");
		expect(await readKey("a")).toBe("a");
	});

	test("what the work throws reaches the caller, and the value stays", async () => {
		const { cache, read, readKey } = setUp();
		await readKey("a");
		const work = () => {
			throw new Error("bad page");
		};
		await expect(cache.use({ key: "a", load: never }, work)).rejects.toThrow("bad page");
		expect(await read("a", never)).toBe("a");
	});
});

describe("sharing", () => {
	test("simultaneous uses load once", async () => {
		const { cache, read } = setUp();
		const { promise, resolve } = Promise.withResolvers<Page>();
		const load = vi.fn(() => promise);
		const uses = [1, 2, 3].map(() => read("a", load));
		expect(cache.stats()).toMatchObject({ loading: 1 });
		expect(load).toHaveBeenCalledOnce();
		resolve({ text: "a" });
		expect(await Promise.all(uses)).toEqual(["a", "a", "a"]);
	});

	test("a failed load fails for all who wait, and the next one is another", async () => {
		const { read, readKey } = setUp();
		const { promise, reject } = Promise.withResolvers<Page>();
		const uses = Promise.allSettled([1, 2].map(() => read("a", () => promise)));
		reject(new Error("no route"));
		expect((await uses).map((use) => use.status)).toEqual(["rejected", "rejected"]);
		expect(await readKey("a")).toBe("a");
	});

	test("who gives up does not take the value from the others", async () => {
		const { cache } = setUp();
		const { promise, resolve } = Promise.withResolvers<Page>();
		const impatient = new AbortController();
		let loading: AbortSignal | undefined;
		const load: Loader<Page> = ({ signal }) => {
			loading = signal;
			return promise;
		};
		const first = cache.use({ key: "a", load, signal: impatient.signal }, (page) => page.text);
		const second = cache.use({ key: "a", load }, (page) => page.text);
		impatient.abort("enough");
		await expect(first).rejects.toMatchObject({ code: "aborted", cause: "enough" });
		expect(loading?.aborted).toBe(false);
		resolve({ text: "a" });
		expect(await second).toBe("a");
	});

	test("when all have given up the load is told, and the next caller begins anew", async () => {
		const { cache, disposed, read, readKey } = setUp();
		const { promise, resolve } = Promise.withResolvers<Page>();
		const controllers = [new AbortController(), new AbortController()];
		let loading: AbortSignal | undefined;
		const load: Loader<Page> = ({ signal }) => {
			loading = signal;
			return promise;
		};
		const uses = controllers.map(({ signal }) =>
			cache.use({ key: "a", load, signal }, (page) => page.text),
		);
		for (const controller of controllers) controller.abort();
		for (const use of uses) await expect(use).rejects.toMatchObject({ code: "aborted" });
		expect(loading?.aborted).toBe(true);
		expect(await readKey("a")).toBe("a");

		// A load that does not listen: what it brings is not taken for the newer value.
		resolve({ text: "late" });
		await setImmediate();
		expect(disposed).toEqual(["late"]);
		expect(await read("a", never)).toBe("a");
	});

	test("who has given up beforehand loads nothing", async () => {
		const { cache } = setUp();
		const use = cache.use({ key: "a", load: never, signal: AbortSignal.abort() }, () => "?");
		await expect(use).rejects.toMatchObject({ code: "aborted" });
	});

	test("after a clear a load under way is served but not kept", async () => {
		const { cache, disposed, read, readKey } = setUp();
		const { promise, resolve } = Promise.withResolvers<Page>();
		const use = read("a", () => promise);
		cache.clear();
		expect(await readKey("a", 2)).toBe("aa");
		resolve({ text: "old" });
		expect(await use).toBe("old");
		expect(disposed).toEqual(["old"]);
		expect(await read("a", never)).toBe("aa");
	});
});

describe("disposing", () => {
	test("waits for the last use to end", async () => {
		const { cache, disposed, readKey } = setUp();
		await readKey("a");
		const works = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		const uses = works.map(({ promise }) => cache.use({ key: "a", load: never }, () => promise));
		cache.clear();
		works[0]?.resolve();
		await uses[0];
		expect(disposed).toEqual([]);
		works[1]?.resolve();
		await uses[1];
		expect(disposed).toEqual(["a"]);
	});

	test("waits for a load that may still return the outdated value", async () => {
		const { clock, disposed, read, readKey } = setUp({ maxEntries: 1 });
		await readKey("a");
		clock.ms = 1000;
		const { promise, resolve } = Promise.withResolvers<void>();
		const use = read("a", async ({ previous }) => {
			await promise;
			return previous ?? { text: "?" };
		});
		await readKey("b");
		expect(disposed).toEqual([]);
		resolve();
		expect(await use).toBe("a");
		expect(disposed).toEqual(["b"]);
		expect(await read("a", never)).toBe("a");
	});
});

describe("whatever happens in whatever order", () => {
	const which = fc.nat(9);
	const step = fc.oneof(
		{
			weight: 4,
			arbitrary: fc.record({
				kind: fc.constant("use" as const),
				key: fc.constantFrom("a", "b", "c", "d"),
				revalidate: fc.boolean(),
			}),
		},
		{
			weight: 4,
			arbitrary: fc.record({
				kind: fc.constant("land" as const),
				which,
				result: fc.constantFrom("new" as const, "previous" as const, "failure" as const),
				size: fc.integer({ min: 0, max: 120 }),
			}),
		},
		{ weight: 3, arbitrary: fc.record({ kind: fc.constant("finish" as const), which }) },
		{ weight: 2, arbitrary: fc.record({ kind: fc.constant("abort" as const), which }) },
		{ weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(1500) }) },
		{ weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
	);

	test("limits hold, a key loads once at a time, a value is disposed of once, after its last use", {
		tags: "slow",
	}, async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
				const world = createWorld();
				const { cache, loads, works, uses } = world;
				let cleared = false;
				for (const action of steps) {
					if (action.kind === "use") world.use(action.key, action.revalidate);
					if (action.kind === "land") world.land(action.which, action.result, action.size);
					if (action.kind === "finish") take(works, action.which)?.resolve();
					if (action.kind === "abort") uses[action.which % uses.length]?.controller.abort();
					if (action.kind === "wait") world.clock.ms += action.ms;
					if (action.kind === "clear") cache.clear();
					cleared ||= action.kind === "clear";
					await setImmediate();

					expect(world.faults).toEqual([]);
					const { entries, bytes } = cache.stats();
					expect(entries).toBeLessThanOrEqual(3);
					expect(bytes).toBeLessThanOrEqual(100);
					const waited = uses.filter(({ state }) => state === "waiting").map(({ key }) => key);
					const wanted = loads.filter(({ signal }) => !signal.aborted).map(({ key }) => key);
					expect(new Set(wanted)).toEqual(new Set(waited));
					// A clear lets a second load of the same key begin beside the one that is under way.
					if (!cleared) expect(new Set(wanted).size).toBe(wanted.length);
				}

				cache.clear();
				while (loads.length > 0 || works.length > 0) {
					world.land(0, "new", 1);
					take(works, 0)?.resolve();
					await setImmediate();
				}
				cache.clear();
				expect(world.faults).toEqual([]);
				expect(uses.every(({ state }) => state === "over")).toBe(true);
				expect(world.resources.every(({ disposed }) => disposed)).toBe(true);
				expect(cache.stats()).toMatchObject({ entries: 0, bytes: 0, loading: 0 });
			}),
			{ numRuns: runs(200) },
		);
	});
});

type Resource = { key: string; size: number; users: number; disposed: boolean };
type Load = {
	key: string;
	previous: Resource | undefined;
	signal: AbortSignal;
	end: PromiseWithResolvers<Resource>;
};
type Use = { key: string; controller: AbortController; state: "waiting" | "working" | "over" };

/** A cache whose loads and uses last until told, and that notes what should not happen: a throw would be caught. */
function createWorld() {
	const clock = { ms: 0 };
	const resources: Resource[] = [];
	const loads: Load[] = [];
	const works: PromiseWithResolvers<void>[] = [];
	const uses: Use[] = [];
	const faults: string[] = [];
	const cache = new ResourceCache<Resource>({
		ttlMs: 1000,
		maxEntries: 3,
		maxBytes: 100,
		sizeOf: (resource) => resource.size,
		dispose(resource) {
			if (resource.users > 0) faults.push("disposed of while in use");
			if (resource.disposed) faults.push("disposed of twice");
			resource.disposed = true;
		},
		now: () => clock.ms,
	});

	function use(key: string, revalidate: boolean): void {
		const one: Use = { key, controller: new AbortController(), state: "waiting" };
		uses.push(one);
		const load: Loader<Resource> = ({ previous, signal }) => {
			if (previous?.disposed) faults.push("revalidated after it was disposed of");
			const end = Promise.withResolvers<Resource>();
			loads.push({ key, previous, signal, end });
			return end.promise;
		};
		const request = { key, load, revalidate, signal: one.controller.signal };
		const done = cache.use(request, async (resource) => {
			if (resource.key !== key) faults.push("the value of another key");
			if (resource.disposed) faults.push("used after it was disposed of");
			one.state = "working";
			resource.users++;
			const work = Promise.withResolvers<void>();
			works.push(work);
			await work.promise;
			resource.users--;
		});
		const end = () => {
			one.state = "over";
		};
		done.then(end, end);
	}

	function land(which: number, result: "new" | "previous" | "failure", size: number): void {
		const load = take(loads, which);
		if (!load) return;
		const { key, previous, end } = load;
		if (previous?.disposed) faults.push("disposed of during its revalidation");
		if (result === "failure") {
			end.reject(new Error("no route"));
		} else if (result === "previous" && previous) {
			end.resolve(previous);
		} else {
			const resource = { key, size, users: 0, disposed: false };
			resources.push(resource);
			end.resolve(resource);
		}
	}

	return { cache, clock, resources, loads, works, uses, faults, use, land };
}

function take<Item>(items: Item[], which: number): Item | undefined {
	return items.splice(which % Math.max(1, items.length), 1)[0];
}
