import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { writeServerAddress } from "../../src/core/server-address.ts";
import { markDemo, markSession } from "../../src/core/session-marks.ts";
import { loadTokens } from "../../src/core/token-file.ts";
import { lockDataFolder } from "../../src/server/data-folder.ts";
import { atEnd, tempDir } from "../support/temp.ts";

test("strata watch names the server that runs and the sessions in terminals; the token only at a terminal", async () => {
	const agentDir = tempDir();
	const file = join(tempDir(), "a.jsonl");
	writeFileSync(file, "{}\n");
	const mark = markSession(agentDir, file);
	atEnd(() => mark.remove());
	const server = createServer((_request, response) => response.end("ok"));
	await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
	atEnd(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	const dataDir = join(agentDir, "strata", "server");
	const tokenFile = join(tempDir(), "tokens");
	const { first } = await loadTokens(tokenFile);
	const url = `http://127.0.0.1:${port}/`;
	mkdirSync(dataDir, { recursive: true });
	const lock = await lockDataFolder(dataDir);
	atEnd(() => lock.release());
	await writeServerAddress(dataDir, { pid: process.pid, url, tokenFile });
	const watch = async (isTerminal: boolean, ...words: string[]) => {
		const out: string[] = [];
		const status = await main(["watch", ...words], {
			...{ cwd: tempDir(), env: { PI_CODING_AGENT_DIR: agentDir }, write: () => {} },
			print: (line) => void out.push(line),
			printError: (line) => void out.push(line),
			...(isTerminal && { confirm: async () => true }),
		});
		return { status, text: out.join("\n") };
	};
	await expect.poll(async () => (await watch(false)).text).toContain("1 session open in pi:");
	const piped = await watch(false);
	expect(piped.status).toBe(0);
	expect(piped.text).toContain(`process ${process.pid}`);
	expect(piped.text).toContain(`The server runs at ${url}`);
	expect(piped.text).not.toContain(first.token);
	expect((await watch(true)).text).toContain(`${url}#token=${first.token}`);
	const demoDir = tempDir("demo");
	const demo = markDemo(agentDir, demoDir);
	const inDemo = markSession(demoDir, file);
	atEnd(() => Promise.all([demo.remove(), inDemo.remove()]));
	await expect.poll(async () => (await watch(false)).text).toContain("2 sessions open in pi:");
	expect((await watch(false)).text).toContain(`process ${process.pid} (demo)  `);
	const json = JSON.parse((await watch(false, "--json")).text);
	expect(json).toMatchObject({
		url,
		pid: process.pid,
		sessions: [{ process: process.pid }, { isDemo: true }],
	});
});

test("strata watch refuses a wrong port before it says anything else", async () => {
	const out: string[] = [];
	const err: string[] = [];
	const status = await main(["watch", "--port", "abc"], {
		...{ cwd: tempDir(), env: { PI_CODING_AGENT_DIR: tempDir() }, write: () => {} },
		print: (line) => void out.push(line),
		printError: (line) => void err.push(line),
	});
	expect({ status, out }).toEqual({ status: 2, out: [] });
	expect(err[0]).toContain('--port must be a number from 0 to 65535, got "abc"');
});
