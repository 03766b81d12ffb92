// @module-tag slow
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runningServer } from "../../src/core/server-address.ts";
import { startServe } from "../server/support/serve-process.ts";
import { tempDir } from "../support/temp.ts";

const DEMO = ["--demo", "always", "--port", "0", "--json"];

test("a running server is found by its data folder, a dead one is not", async () => {
	const server = startServe(DEMO);
	const { url, tokenFile, pid } = await server.ready();
	const { dataDir } = server;
	const file = join(dataDir, "lock.json");
	expect(await runningServer(dataDir)).toMatchObject({ pid, url, tokenFile });
	expect(readFileSync(file, "utf8")).not.toContain(server.token());
	if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
	server.child.kill("SIGKILL");
	await server.exited;
	expect(await runningServer(dataDir)).toBeUndefined();

	// A server without an address yet, next to the file of a dead one.
	const next = startServe(DEMO, { agentDir: server.agentDir });
	const { pid: nextPid } = await next.ready();
	expect(await runningServer(dataDir)).toMatchObject({ pid: nextPid });
	next.child.kill("SIGTERM");
	await next.exited;
	expect(await runningServer(dataDir)).toBeUndefined();
	expect(await runningServer(tempDir("none"))).toBeUndefined();
});

test("a server stops by itself when it had no client for the time that it waits", async () => {
	const server = startServe([...DEMO, "--stop-when-idle", "1"]);
	await server.ready();
	expect(await server.exited).toEqual({ code: 0, signal: null });
	const wrong = startServe([...DEMO, "--stop-when-idle", "soon"]);
	expect((await wrong.exited).code).toBe(2);
	expect(wrong.err()).toContain('--stop-when-idle must be a number of seconds, got "soon"');
});
