import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { isAlive, openKota, openMissingKota } from "./open-kota.ts";

const FOUND = { json: { results: { code: [{ path: "src/cart.ts", match_count: 1 }] } } };

describe("starting", () => {
	test("nothing is started before the first question, and one process answers all", {
		tags: "slow",
	}, async () => {
		const { kota, starts } = openKota({ tools: { search: FOUND } });
		await delay(50);
		expect(starts()).toHaveLength(0);

		await kota.search({ query: "cart" });
		await kota.search({ query: "cart" });
		expect(starts().map(isAlive)).toEqual([true]);
	});

	test("a program that is not there is named, together with the setting", async () => {
		const { kota } = openMissingKota();
		await expect(kota.status()).rejects.toMatchObject({
			code: "failed",
			message: expect.stringMatching(/"no-such-bun" was not found.*kota\.command/),
		});
		await expect(kota.status()).rejects.toThrow("was not found");
	});

	test("a file that cannot be run is named too", async () => {
		const { kota } = openKota({}, { command: import.meta.filename, args: [] });
		await expect(kota.status()).rejects.toThrow(/cannot be run.*kota\.command/);
	});

	test("a project folder that is gone is not mistaken for a missing program", async () => {
		const { kota, root } = openKota();
		rmSync(root, { recursive: true });
		await expect(kota.status()).rejects.toThrow(`the project folder ${root} does not exist`);
	});

	test("a program that never answers is stopped after the time for a start", {
		tags: "slow",
	}, async () => {
		const { kota, starts } = openKota({ silent: true, stubborn: true }, { connectTimeoutMs: 1000 });
		await expect(kota.status()).rejects.toThrow("did not answer within 1 s");
		await kota.close();
		expect(starts().filter(isAlive)).toEqual([]);
	});

	test("a server of another protocol is told apart from a crash", async () => {
		const { kota, starts } = openKota({ version: "1066-10-14" });
		await expect(kota.status()).rejects.toThrow(/does not speak MCP as expected.*1066-10-14/);
		expect(starts()).toHaveLength(1);
	});

	test("greetings on standard output do no harm and are kept with the log", async () => {
		const { kota } = openKota({ stdout: "Welcome to bun!\n\n", stderr: "ready\n" });
		expect(await kota.status()).toMatchObject({ state: "ready" });
		expect(kota.stderr()).toEqual(expect.arrayContaining(["ready", "[stdout] Welcome to bun!"]));
	});
});

describe("what the process is given", () => {
	test("it works in the project with a small environment, in which no key of ours is", async () => {
		vi.stubEnv("ANTHROPIC_API_KEY", "sk-secret");
		const { kota, root, journal } = openKota();
		await kota.status();
		vi.unstubAllEnvs();
		const [start] = journal();
		if (start?.event !== "start") throw new Error("it was not started");
		expect(start.cwd).toBe(root);
		const names = Object.keys(start.env).filter((name) => !name.startsWith("__"));
		expect(names.toSorted()).toEqual(expect.arrayContaining(["HOME", "KOTADB_PATH", "PATH"]));
		expect(names.length).toBeLessThanOrEqual(4);
		expect(JSON.stringify(start.env)).not.toContain("sk-secret");
	});
});
