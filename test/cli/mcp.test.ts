import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
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

test("strata mcp --demo serves a sample project whatever the client's roots are, and deletes it", {
	tags: "slow",
}, async () => {
	const temporary = tempDir("demo");
	const transport = new StdioClientTransport({
		...{ command: process.execPath, args: [STRATA, "mcp", "--demo"], cwd: writeProject() },
		...{ env: { ...envOf(tempDir("agent")), TMPDIR: temporary }, stderr: "inherit" },
	});
	const capabilities = { roots: {} };
	const client = new Client({ name: "test", version: "1" }, { capabilities });
	const roots = [{ uri: pathToFileURL(writeProject()).href }];
	client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
	await client.connect(transport);
	const call = { name: "kota_usages", arguments: { symbol: "discountOf" } };
	const { content } = await client.callTool(call);
	expect(content).toMatchObject([{ text: expect.stringContaining("src/discount.ts") }]);
	expect(readdirSync(temporary)).toHaveLength(1);
	await client.close();
	await expect.poll(() => readdirSync(temporary)).toEqual([]);
});

test("strata mcp --demo that is ended by a signal leaves neither its project nor its index", {
	tags: "slow",
}, async () => {
	const [temporary, cache] = [tempDir("demo"), tempDir("cache")];
	const env = { ...envOf(tempDir("agent")), TMPDIR: temporary, XDG_CACHE_HOME: cache };
	const server = spawn(process.execPath, [STRATA, "mcp", "--demo"], {
		...{ cwd: tempDir(), env, stdio: ["pipe", "pipe", "inherit"] },
	});
	atEnd(() => server.kill("SIGKILL"));
	const exited = once(server, "exit");
	server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
	await once(createInterface(server.stdout), "line");
	const indexes = () =>
		readdirSync(join(cache, "pi-strata", "codeindex")).filter((name) => name.startsWith("shop"));
	expect(indexes()).toHaveLength(1);
	server.kill("SIGINT");
	expect(await exited).toEqual([0, null]);
	expect(indexes()).toEqual([]);
	expect(readdirSync(temporary)).toEqual([]);
});

test("strata mcp --demo at a terminal calls every tool and prints the answers", {
	tags: "slow",
}, async () => {
	const lines: string[] = [];
	const print = (line: string) => void lines.push(line);
	const around = { cwd: tempDir(), env: { PI_CODING_AGENT_DIR: tempDir("agent") } };
	const terminal = { ...around, print, printError: print, write: print };
	expect(await main(["mcp", "--demo"], terminal)).toBe(0);
	const text = lines.join("\n");
	const called = [...text.matchAll(/^(kota_\w+|read_page|strata_recall) \{/gm)].map(
		([, name]) => name,
	);
	expect(called).toEqual([
		...["kota_search", "kota_deps", "kota_usages", "kota_impact", "kota_task_context"],
		...["kota_index", "read_page", "strata_recall"],
	]);
	expect(text).toContain("function at src/money.ts");
	expect(text).toContain("Handbook of the sample shop, page 1");
	expect(text).not.toContain("names no stored text");
	expect(await main(["mcp", "--demo", "--http"], terminal)).toBe(2);
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
	const refused = await fetch(url, { method: "POST", headers: page, body: "{}" });
	expect(refused.status).toBe(403);
	expect(await refused.text()).toContain("pages of a browser may not"); // there is no option for it
	server.kill("SIGTERM");
	expect(await exited).toEqual([0, null]);
});
