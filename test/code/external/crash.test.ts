import { describe, expect, test, vi } from "vitest";
import { EngineProcess } from "../../../src/code/external/engine-process.ts";
import { createLogTail } from "../../../src/code/external/log-tail.ts";
import { CodeProject } from "../../../src/code/index.ts";
import { PATIENCE } from "../../support/patience.ts";
import { tempDir } from "../../support/temp.ts";
import { isAlive, openKota } from "./open-kota.ts";

const FOUND = { json: { results: { code: [{ path: "src/cart.ts", match_count: 1 }] } } };

describe("crashes", () => {
	test("input that breaks before the exit is noticed is a crash, with its last words", async () => {
		const log = createLogTail();
		const sh = { command: "/bin/sh", args: ["-c", "echo no such package >&2; exit 3"], env: {} };
		const run = new EngineProcess({ ...sh, cwd: tempDir(), log }, () => {});
		await run.start();
		// The process ends while the event loop is blocked.
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
		await expect(run.send({})).rejects.toThrow();
		expect(run.exit).toEqual({ reason: "crashed", detail: "exit status 3" });
		expect(log.lines()).toContain("no such package");
	});

	test("a program that crashes at first is started again until it stays", {
		tags: "slow",
	}, async () => {
		const { kota, starts } = openKota({ crashingStarts: 2 });
		expect(await kota.status()).toMatchObject({ state: "ready" });
		expect(starts()).toHaveLength(3);
	});

	test("a program that always crashes is given up with its last words", {
		tags: "slow",
	}, async () => {
		const { kota, starts } = openKota({ crashingStarts: 5, stderr: "error: no such package\n" });
		await expect(kota.status()).rejects.toMatchObject({
			code: "failed",
			message: expect.stringMatching(/4 times in a row.*no such package.*\/kota restart/),
		});
		await expect(kota.status()).rejects.toThrow("4 times in a row");
		expect(starts()).toHaveLength(4);
	});

	test("a program that was given up is tried again when the project closes it", {
		tags: "slow",
	}, async () => {
		const { open, root, starts } = openKota({ crashingStarts: 5 });
		const project = new CodeProject({ root, confirmIndex: false, open: async () => open() });
		for (let round = 0; round < 2; round++) {
			await expect(project.status()).rejects.toThrow("4 times in a row");
		}
		expect(starts()).toHaveLength(4);

		// As `/kota restart` does.
		await project.close();
		expect(project.state).toBe("stopped");
		expect(await project.status()).toMatchObject({ state: "ready" });
		expect(project.state).toBe("running");
		expect(starts()).toHaveLength(6);
	});

	test("a question that it crashed over is asked once more", { tags: "slow" }, async () => {
		const { kota, calls, starts } = openKota({
			tools: { search: { crash: true, times: 1, ...FOUND } },
		});
		const { hits } = await kota.search({ query: "cart" });
		expect(hits.map(({ path }) => path)).toEqual(["src/cart.ts"]);
		expect(calls("search")).toHaveLength(2);
		expect(starts()).toHaveLength(2);
	});

	test("a question that it crashes over every time fails, and others are still answered", {
		tags: "slow",
	}, async () => {
		const { kota, calls, starts } = openKota({ tools: { search: { crash: true } } });
		await expect(kota.search({ query: "cart" })).rejects.toThrow(
			/exited \(exit status 7\) while running search.*Segmentation fault/,
		);
		expect(calls("search")).toHaveLength(2);
		expect(starts().map(isAlive)).toEqual([false, false]);
		expect(await kota.status()).toMatchObject({ files: 4 });
	});

	test("indexing that it crashed over is not repeated", { tags: "slow" }, async () => {
		const { kota, calls } = openKota({ tools: { index_repository: { crash: true } } });
		await expect(kota.build()).rejects.toThrow(/while running index_repository/);
		expect(calls("index_repository")).toHaveLength(1);
	});

	test("a process that somebody else has ended is replaced by the next question", {
		tags: "slow",
	}, async () => {
		const { kota, starts } = openKota();
		await kota.status();
		process.kill(starts()[0] ?? 0, "SIGKILL");
		const ended = "[KotaDB exited: signal SIGKILL]";
		await vi.waitFor(() => expect(kota.stderr()).toContain(ended), PATIENCE);
		await kota.status();
		expect(starts()).toHaveLength(2);
	});
});
