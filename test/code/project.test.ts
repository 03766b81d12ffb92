import { describe, expect, test } from "vitest";
import { CodeProject } from "../../src/code/project.ts";
import { CodeIndexError, type IndexProgress } from "../../src/codeindex/index.ts";
import { coverage, type FakeIndex, fakeIndex } from "./fake-index.ts";

const hits = { hits: [], total: 0, coverage: coverage() };
const answering = { search: async () => hits };
const query = { query: "x" };

function project(index: FakeIndex, confirmIndex = true) {
	const states: string[] = [];
	let opened = 0;
	const made: CodeProject = new CodeProject({
		root: "/project",
		confirmIndex,
		open: async () => {
			opened++;
			index.closed = false;
			return index;
		},
		onChange: (progress) =>
			states.push(progress ? progress.phase : `${made.state}/${made.indexed}`),
	});
	return { made, states, opened: () => opened };
}

describe("the first question of a project that was never indexed", () => {
	test("asks the user, indexes, and is answered", async () => {
		const index = fakeIndex(answering, "absent");
		const { made, states } = project(index);
		const progress: IndexProgress[] = [];
		const answer = await made.ask("search", query, {
			confirm: async ({ state }) => state === "absent",
			onProgress: (step) => progress.push(step),
		});
		expect(answer).toBe(hits);
		expect(index.calls).toEqual(["search", "status", "build", "search"]);
		expect(progress).toEqual([{ phase: "parsing", done: 60, total: 120 }]);
		expect(states).toEqual([
			"starting/unknown",
			"running/unknown",
			"running/absent",
			"parsing",
			"running/ready",
			"running/ready",
		]);
	});

	test("is answered from the skeleton of the index, which an explicit build goes on with", async () => {
		const wanted: unknown[] = [];
		let explicit: Promise<unknown> | undefined;
		const index = fakeIndex(
			{
				...answering,
				async build(options) {
					wanted.push(options?.skeletonFirst);
					explicit ??= made.build();
					index.state = "ready";
					return { coverage: coverage(), added: 1, changed: 0, removed: 0, seconds: 1 };
				},
			},
			"absent",
		);
		const { made } = project(index, false);
		await made.ask("search", query);
		await explicit;
		expect(wanted).toEqual([true, false]);
	});

	test("is asked once for calls side by side", async () => {
		const { made } = project(fakeIndex(answering, "absent"));
		let asked = 0;
		const confirm = async () => {
			asked++;
			await new Promise((resolve) => setTimeout(resolve, 5));
			return true;
		};
		await Promise.all([1, 2, 3].map(() => made.ask("search", query, { confirm })));
		expect(asked).toBe(1);
	});

	test("declined, fails, and the user is not asked again until they index themselves", async () => {
		const index = fakeIndex(answering, "absent");
		const { made } = project(index);
		let asked = 0;
		const confirm = async () => {
			asked++;
			return false;
		};
		for (let time = 1; time <= 3; time++) {
			await expect(made.ask("search", query, { confirm })).rejects.toThrow(
				/does not want.*\/kota index/,
			);
		}
		expect(asked).toBe(1);
		expect(index.calls).not.toContain("build");
		await made.build({}, "given");
		expect(await made.ask("search", query)).toBe(hits);
	});

	test("without a user fails with the setting and the command to use", async () => {
		const index = fakeIndex(answering, "absent");
		await expect(project(index).made.ask("search", query)).rejects.toThrow(
			/\/project is not indexed.*`strata index`.*kota\.confirmIndex/,
		);
		expect(index.calls).not.toContain("build");
	});

	test("without a user indexes if the setting says that nobody need be asked", async () => {
		expect(await project(fakeIndex(answering, "absent"), false).made.ask("search", query)).toBe(
			hits,
		);
	});

	test("aborted while the user is asked is no refusal", async () => {
		const index = fakeIndex(answering, "absent");
		const { made } = project(index);
		const abort = new AbortController();
		const confirm = async () => {
			abort.abort();
			return false;
		};
		await expect(made.ask("search", query, { confirm, signal: abort.signal })).rejects.toThrow(
			"aborted",
		);
		expect(await made.ask("search", query, { confirm: async () => true })).toBe(hits);
	});
});

describe("indexing that several wait for", () => {
	/** An index whose building goes on until it is let or told to end. */
	function slowIndex() {
		const gate = Promise.withResolvers<void>();
		const begun = Promise.withResolvers<void>();
		const signals: (AbortSignal | undefined)[] = [];
		const index: FakeIndex = fakeIndex(
			{
				...answering,
				async build(options) {
					signals.push(options?.signal);
					const told = new Promise<never>((_, reject) =>
						options?.signal?.addEventListener("abort", () =>
							reject(new CodeIndexError("aborted", "told to stop")),
						),
					);
					begun.resolve();
					await Promise.race([gate.promise, told]);
					options?.onProgress?.({ phase: "storing", done: 1 });
					index.state = "ready";
					return { coverage: coverage(), added: 1, changed: 0, removed: 0, seconds: 1 };
				},
			},
			"absent",
		);
		return { index, begun: begun.promise, finish: gate.resolve, signals };
	}

	test("goes on for the others when one of them leaves", async () => {
		const { index, begun, finish, signals } = slowIndex();
		const { made } = project(index, false);
		const abort = new AbortController();
		const first = made.build({ signal: abort.signal });
		const progress: IndexProgress[] = [];
		const second = made.build({ onProgress: (step) => progress.push(step) });
		await begun;
		abort.abort();
		await expect(first).rejects.toMatchObject({ code: "aborted" });
		finish();
		expect(await second).toMatchObject({ added: 1 });
		expect(progress).toEqual([{ phase: "storing", done: 1 }]);
		expect(signals).toHaveLength(1);
	});

	test("is told to stop when the last has left, and begins anew for the next", async () => {
		const { index, begun, finish, signals } = slowIndex();
		const { made } = project(index, false);
		const aborts = [new AbortController(), new AbortController()];
		const builds = aborts.map(({ signal }) => made.build({ signal }));
		await begun;
		for (const abort of aborts) abort.abort();
		for (const build of builds) await expect(build).rejects.toMatchObject({ code: "aborted" });
		expect(signals[0]?.aborted).toBe(true);
		const again = made.build();
		finish();
		expect(await again).toMatchObject({ added: 1 });
		expect(signals).toHaveLength(2);
	});

	test("is not begun for one that has left already", async () => {
		const { index } = slowIndex();
		const signal = AbortSignal.abort();
		const build = project(index).made.build({ signal }, "given");
		await expect(build).rejects.toMatchObject({ code: "aborted" });
		expect(index.calls).not.toContain("build");
	});

	test("needs no consent of those who come while it runs", async () => {
		const { index, begun, finish } = slowIndex();
		const { made } = project(index);
		const given = made.build({}, "given");
		await begun;
		const joined = made.build();
		finish();
		expect(await joined).toBe(await given);
	});

	test("is not refused to a user who asks for it by a no to another call", async () => {
		const { index, finish } = slowIndex();
		const { made } = project(index);
		finish();
		const asked = made.build({ confirm: async () => false });
		const given = made.build({}, "given");
		expect(await given).toMatchObject({ added: 1 });
		await asked.catch(() => {});
	});

	test("asks again for the others when the call that had asked is aborted", async () => {
		const { index, finish } = slowIndex();
		const { made } = project(index);
		finish();
		const abort = new AbortController();
		const dialog = Promise.withResolvers<boolean>();
		const first = made.build({ confirm: () => dialog.promise, signal: abort.signal });
		const second = made.build({ confirm: async () => true });
		await new Promise((resolve) => setTimeout(resolve, 5));
		abort.abort();
		dialog.resolve(false);
		await expect(first).rejects.toThrow("aborted");
		expect(await second).toMatchObject({ added: 1 });
	});

	test("leaves a call that waits for another's dialog when it is aborted", async () => {
		const { index, finish } = slowIndex();
		const { made } = project(index);
		finish();
		const dialog = Promise.withResolvers<boolean>();
		const first = made.build({ confirm: () => dialog.promise });
		const abort = new AbortController();
		const second = made.build({ confirm: async () => true, signal: abort.signal });
		await new Promise((resolve) => setTimeout(resolve, 5));
		abort.abort();
		await expect(second).rejects.toMatchObject({ code: "aborted" });
		dialog.resolve(true);
		expect(await first).toMatchObject({ added: 1 });
	});
});

test("an interrupted indexing was consented to and goes on without a question", async () => {
	const index = fakeIndex(answering, "partial");
	const { made } = project(index);
	await made.build();
	expect(index.calls).toEqual(["status", "build"]);
	expect(made.indexed).toBe("ready");
});

test("an answer from a half-built index makes the state known", async () => {
	const partial = { ...hits, coverage: coverage({ complete: false }) };
	const { made } = project(fakeIndex({ search: async () => partial }, "partial"));
	await made.ask("search", query);
	expect(made.indexed).toBe("partial");
});

test("the signal reaches the engine", async () => {
	const abort = new AbortController();
	let seen: AbortSignal | undefined;
	const index = fakeIndex({
		search: async (_query, options) => {
			seen = options?.signal;
			return hits;
		},
	});
	await project(index).made.ask("search", query, { signal: abort.signal });
	expect(seen).toBe(abort.signal);
});

test("a question tells of progress only where much has changed", async () => {
	const index = fakeIndex({
		search: async (_query, options) => {
			options?.onProgress?.({ phase: "scanning", done: 5000 });
			options?.onProgress?.({ phase: "parsing", done: 1, total: 2 });
			options?.onProgress?.({ phase: "parsing", done: 100, total: 900 });
			return hits;
		},
	});
	const { made, states } = project(index);
	const progress: IndexProgress[] = [];
	await made.ask("search", query, { onProgress: (step) => progress.push(step) });
	expect(progress).toEqual([{ phase: "parsing", done: 100, total: 900 }]);
	expect(states.slice(-3)).toEqual(["parsing", "running/ready", "running/ready"]);
});

describe("the engine", () => {
	test("is opened by the first question and not before", async () => {
		const { made, opened } = project(fakeIndex(answering));
		expect([made.state, opened()]).toEqual(["stopped", 0]);
		await Promise.all([made.ask("search", query), made.ask("search", query)]);
		expect([made.state, opened()]).toEqual(["running", 1]);
	});

	test("that has died is replaced for the next question", async () => {
		const index = fakeIndex(answering);
		const { made, opened } = project(index);
		await made.ask("search", query);
		index.closed = true;
		await expect(made.ask("search", query)).rejects.toMatchObject({ code: "unavailable" });
		expect(made.state).toBe("stopped");
		expect(await made.ask("search", query)).toBe(hits);
		expect(opened()).toBe(2);
	});

	test("that fails at one question is kept", async () => {
		const { made, opened } = project(
			fakeIndex({ search: () => Promise.reject(new CodeIndexError("bad-query", "no words")) }),
		);
		await expect(made.ask("search", query)).rejects.toThrow("no words");
		await expect(made.ask("search", query)).rejects.toThrow("no words");
		expect([made.state, opened()]).toEqual(["running", 1]);
	});

	test("that could not be opened is tried again", async () => {
		let fails = true;
		const made = new CodeProject({
			root: "/project",
			confirmIndex: true,
			open: async () => {
				if (fails) throw new Error("no such program");
				return fakeIndex(answering);
			},
		});
		await expect(made.ask("search", query)).rejects.toThrow("no such program");
		expect(made.state).toBe("stopped");
		fails = false;
		expect(await made.ask("search", query)).toBe(hits);
	});

	test("is closed once, and again is no fault", async () => {
		const index = fakeIndex(answering);
		const { made } = project(index);
		await made.close();
		await made.ask("search", query);
		await Promise.all([made.close(), made.close()]);
		expect(index.calls.filter((call) => call === "close")).toHaveLength(1);
		expect(made.state).toBe("stopped");
	});
});
