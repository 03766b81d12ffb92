/** The end of a session leaves nothing open behind, whatever is under way or goes wrong. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createCodeSession } from "../../src/code/code-session.ts";
import { createPagingSystem } from "../../src/paging/system.ts";
import { stopAll } from "../../src/session/session.ts";
import { fakeSession } from "../support/fake-host.ts";
import { tempDir } from "../support/temp.ts";

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
	const view = fakeSession().view();
	const openEngine = vi.fn(async () => ({ status: async () => ({}), close: async () => {} }));
	const session = createCodeSession(openEngine as never);
	const { project } = await session.open(view);
	await project.status();
	await session.close();
	await expect(project.status()).rejects.toThrow("The session has ended");
	expect(openEngine).toHaveBeenCalledTimes(1);
	await (await session.open(view)).project.status();
	expect(openEngine).toHaveBeenCalledTimes(2);
	await session.close();
});

test("a page that is asked for while its session ends is not read", async () => {
	const cwd = tempDir();
	const view = fakeSession({ cwd }).view();
	writeFileSync(join(cwd, "notes.txt"), "some notes\n");
	const system = createPagingSystem();
	const call = { path: "page:;;;notes.txt", toolCallId: "1" };
	const plain = () => Promise.reject(new Error("not asked for"));
	const late = expect(system.read(call, view, plain)).rejects.toThrow("Operation aborted");
	await system.stop?.();
	await late;
	expect((await system.read(call, view, plain))?.content).toMatchObject([{ text: /some notes/ }]);
	await system.stop?.();
});
