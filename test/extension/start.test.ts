import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/core/config.ts";
import { createKotaSession } from "../../src/extension/kota-session.ts";
import { startAll } from "../../src/extension/system.ts";
import { tempDir } from "../support/temp.ts";

test("a system that fails to start does not keep the later ones off", async () => {
	const started: string[] = [];
	const system = (name: string, start: () => void | Promise<void>) => ({
		name,
		status: () => ({ on: true, why: "" }),
		start() {
			started.push(name);
			return start();
		},
	});
	const failures = await startAll(
		[
			system("first", () => Promise.reject(new Error("no disk"))),
			system("second", () => {
				throw new Error("at once");
			}),
			system("third", () => undefined),
		],
		{ ctx: {} as ExtensionContext, reason: "startup" },
	);
	expect(failures).toEqual([
		"first could not be started: no disk",
		"second could not be started: at once",
	]);
	expect(started).toEqual(["first", "second", "third"]);
});

test("code questions that could not be opened once are opened by the next question", async () => {
	const ctx = { cwd: tempDir() } as ExtensionContext;
	let calls = 0;
	const session = createKotaSession(() => {
		if (++calls === 1) throw new Error("no settings");
		return loadConfig({ agentDir: tempDir(), cwd: ctx.cwd });
	});
	await expect(session.open(ctx)).rejects.toThrow("no settings");
	expect((await session.open(ctx)).project.state).toBe("stopped");
	await session.close();
});
