import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, test } from "vitest";
import { writeProject } from "../mcp/connect.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
const envOf = (agentDir: string) => ({
	...{ PATH: process.env.PATH ?? "", HOME: agentDir, PI_CODING_AGENT_DIR: agentDir },
});

test("strata mcp answers in the folder where it is started, and ends with its client", {
	tags: "slow",
}, async () => {
	const transport = new StdioClientTransport({
		...{ command: process.execPath, args: [STRATA, "mcp"] },
		...{ cwd: writeProject(), env: envOf(tempDir("agent")), stderr: "inherit" },
	});
	const client = new Client({ name: "test", version: "1" });
	await client.connect(transport);
	expect(client.getServerVersion()?.name).toBe("strata");
	const read = { name: "read_page", arguments: { uri: "src/price.ts" } };
	const { content } = await client.callTool(read);
	expect(content).toMatchObject([{ text: expect.stringContaining("function price") }]);
	await client.close();
	await expect.poll(() => transport.pid).toBe(null);
});

test("strata mcp --http wants the token that it wrote, and refuses pages", {
	tags: "slow",
}, async () => {
	const words = [STRATA, "mcp", "--http", "--port", "0", "--json"];
	const server = spawn(process.execPath, words, {
		...{ cwd: writeProject(), env: envOf(tempDir("agent")) },
		stdio: ["ignore", "pipe", "inherit"],
	});
	const exited = once(server, "exit");
	atEnd(() => server.kill("SIGKILL"));
	const [line] = (await once(createInterface(server.stdout), "line")) as [string];
	const { url, tokenFile } = JSON.parse(line) as { url: string; tokenFile: string };
	const token = /^local:(\S+)$/m.exec(readFileSync(tokenFile, "utf8"))?.[1];
	const headers = { authorization: `Bearer ${token}` };
	const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
	const client = new Client({ name: "test", version: "1" });
	// The SDK declares optional callbacks in two ways.
	await client.connect(transport as Parameters<typeof client.connect>[0]);
	expect((await client.listTools()).tools.length).toBeGreaterThan(5);
	await client.close();
	expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
	const page = { ...headers, origin: "https://example.org" };
	expect((await fetch(url, { method: "POST", headers: page, body: "{}" })).status).toBe(403);
	server.kill("SIGTERM");
	expect(await exited).toEqual([0, null]);
});
