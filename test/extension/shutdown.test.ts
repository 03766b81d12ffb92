/** The end of a session leaves nothing open behind, whatever is under way or goes wrong. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { expect, test, vi } from "vitest";
import { loadConfig } from "../../src/core/config.ts";
import { createKotaSession } from "../../src/extension/kota-session.ts";
import { createPagingSystem } from "../../src/extension/paging.ts";
import { stopAll } from "../../src/extension/system.ts";
import { tempDir } from "../support/temp.ts";

function sessionIn(cwd: string) {
	const ctx = { cwd, hasUI: false, ui: { setStatus: () => {} } } as unknown as ExtensionContext;
	const loaded = loadConfig({ agentDir: tempDir(), cwd });
	return { ctx, loaded };
}

test("a system that fails to stop does not keep the others from it", async () => {
	const stopped: string[] = [];
	const system = (name: string, fails: boolean) => ({
		name,
		status: () => ({ on: true, why: "" }),
		async stop() {
			stopped.push(name);
			if (fails) throw new Error(`${name} is stuck`);
		},
	});
	const systems = [system("first", false), system("second", true), system("third", true)];
	expect(await stopAll(systems)).toEqual([
		"third could not be stopped: third is stuck",
		"second could not be stopped: second is stuck",
	]);
	expect(stopped).toEqual(["third", "second", "first"]);
	const hasty = {
		...system("hasty", false),
		stop: () => {
			throw new Error("at once");
		},
	};
	expect(await stopAll([hasty])).toEqual(["hasty could not be stopped: at once"]);
});

test("a question after the end of its session does not open the code index again", async () => {
	const { ctx, loaded } = sessionIn(tempDir());
	const openEngine = vi.fn(async () => ({ status: async () => ({}), close: async () => {} }));
	const session = createKotaSession(() => loaded, openEngine as never);
	const { project } = await session.open(ctx);
	await project.status();
	await session.close();
	await expect(project.status()).rejects.toThrow("The session has ended");
	expect(openEngine).toHaveBeenCalledTimes(1);
	await (await session.open(ctx)).project.status();
	expect(openEngine).toHaveBeenCalledTimes(2);
	await session.close();
});

test("a page that is asked for while its session ends is not read", async () => {
	const cwd = tempDir();
	const { ctx, loaded } = sessionIn(cwd);
	writeFileSync(join(cwd, "notes.txt"), "some notes\n");
	const system = createPagingSystem(() => loaded);
	const call = { path: "page:;;;notes.txt", toolCallId: "1" };
	const step = { call, ctx, plain: () => Promise.reject(new Error("not asked for")) };
	const late = expect(system.read(step)).rejects.toThrow("Operation aborted");
	await system.stop?.();
	await late;
	expect((await system.read(step))?.content).toMatchObject([{ text: /some notes/ }]);
	await system.stop?.();
});
