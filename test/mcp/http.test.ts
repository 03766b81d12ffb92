import { request } from "node:http";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, test } from "vitest";
import { type HttpOptions, serveHttp } from "../../src/mcp/index.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { writeProject } from "./connect.ts";

async function serve(options: Partial<HttpOptions> = {}) {
	const served = await serveHttp({
		...{ agentDir: tempDir("agent"), cwd: writeProject(), version: "1.2.3", port: 0 },
		refuse: ({ authorization }) =>
			authorization === "Bearer right" ? undefined : { status: 401, why: "send a token" },
		...options,
	});
	atEnd(() => served.close());
	return served;
}

async function connect(url: string, token = "right") {
	const client = new Client({ name: "test", version: "1" });
	const headers = { authorization: `Bearer ${token}` };
	const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
	// The SDK declares optional callbacks in two ways.
	await client.connect(transport as Parameters<typeof client.connect>[0]);
	atEnd(() => client.close());
	return { client, transport };
}

const INITIALIZE = {
	...{ jsonrpc: "2.0", id: 1, method: "initialize" },
	params: {
		...{ protocolVersion: "2025-06-18", capabilities: {} },
		clientInfo: { name: "test", version: "1" },
	},
};

function post(url: string, body: string, headers: Record<string, string> = {}) {
	return fetch(url, {
		method: "POST",
		body,
		headers: {
			...{ "content-type": "application/json", authorization: "Bearer right" },
			...{ accept: "application/json, text/event-stream", ...headers },
		},
	});
}

test("several clients call tools at the same time", async () => {
	const { url } = await serve();
	const clients = await Promise.all([connect(url), connect(url), connect(url)]);
	const answers = await Promise.all(
		clients.map(({ client }) =>
			client.callTool({ name: "read_page", arguments: { uri: "src/price.ts" } }),
		),
	);
	for (const { content } of answers) {
		expect(content).toMatchObject([{ text: expect.stringContaining("function price") }]);
	}
});

test("a client without a stream of its own is asked on that of its call", async () => {
	const { url } = await serve();
	const folder = writeProject({ "own.txt": "of the client" });
	const { protocolVersion, clientInfo } = INITIALIZE.params;
	const params = { protocolVersion, clientInfo, capabilities: { roots: {} } };
	const begun = await post(url, JSON.stringify({ ...INITIALIZE, params }));
	await begun.text();
	const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
	const call = { name: "read_page", arguments: { uri: "own.txt" } };
	const asked = await post(
		url,
		JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: call }),
		session,
	);
	let seen = "";
	for await (const chunk of asked.body ?? []) {
		seen += Buffer.from(chunk).toString();
		const id = /"method":"roots\/list".*?"id":(\d+)|"id":(\d+),"method":"roots\/list"/.exec(seen);
		if (!id || seen.includes("of the client")) continue;
		const result = { roots: [{ uri: pathToFileURL(folder).href }] };
		const answer = { jsonrpc: "2.0", id: Number(id[1] ?? id[2]), result };
		await post(url, JSON.stringify(answer), session);
	}
	expect(seen).toContain("of the client");
});

test("a wrong token is refused before anything is read", async () => {
	const { url } = await serve();
	await expect(connect(url, "wrong")).rejects.toThrow("send a token");
	const { status } = await post(url, "x".repeat(10), { authorization: "Bearer wrong" });
	expect(status).toBe(401);
});

test("what is not a request of the protocol is refused in words", async () => {
	const { url } = await serve({ limits: { maxBodyBytes: 1000 } });
	const statusOf = async (answer: Promise<Response>) => (await answer).status;
	expect(await statusOf(post(url, "{"))).toBe(400);
	expect(await statusOf(post(url, JSON.stringify("x".repeat(2000))))).toBe(413);
	expect(await statusOf(post(url.replace("/mcp", "/other"), "{}"))).toBe(404);
	const unknown = { "mcp-session-id": "none" };
	expect(await statusOf(post(url, JSON.stringify(INITIALIZE), unknown))).toBe(404);
	const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
	expect(await statusOf(post(url, list))).toBe(400);
	expect(await statusOf(post(url, JSON.stringify(INITIALIZE)))).toBe(200);
});

test("sessions are bounded: a new one takes the place of one that was idle long", async () => {
	const body = JSON.stringify(INITIALIZE);
	const busy = await serve({ limits: { maxSessions: 2 } });
	const statuses: number[] = [];
	for (let at = 0; at < 3; at++) statuses.push((await post(busy.url, body)).status);
	expect(statuses).toEqual([200, 200, 503]);
	const idle = await serve({ limits: { maxSessions: 2, idleMs: 0 } });
	const first = (await post(idle.url, body)).headers.get("mcp-session-id") ?? "";
	for (let at = 0; at < 2; at++) expect((await post(idle.url, body)).status).toBe(200);
	const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
	expect((await post(idle.url, ping, { "mcp-session-id": first })).status).toBe(404);
});

test("a session that its client ends is gone", async () => {
	const { url } = await serve();
	const { transport } = await connect(url);
	const headers = { "mcp-session-id": transport.sessionId ?? "" };
	await transport.terminateSession();
	const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
	expect((await post(url, ping, headers)).status).toBe(404);
});

test("closing ends streams that are open", async () => {
	const served = await serve();
	const begun = await post(served.url, JSON.stringify(INITIALIZE));
	await begun.text();
	const session = begun.headers.get("mcp-session-id") ?? "";
	const ended = new Promise<void>((resolve) => {
		const headers = {
			...{ authorization: "Bearer right", accept: "text/event-stream" },
			"mcp-session-id": session,
		};
		request(served.url, { headers }, (res) => res.resume().once("close", resolve))
			.once("error", () => resolve())
			.end();
	});
	await served.close();
	await ended;
	expect(session).not.toBe("");
});

test.each(["//", "//mcp", "/", "http://[", "/mcp/x", "/%"])(
	"another path is answered that the tools are elsewhere: %s",
	async (path) => {
		const { port } = new URL((await serve()).url);
		const headers = { authorization: "Bearer right" };
		const status = await new Promise((resolve, reject) => {
			request({ host: "127.0.0.1", port, path, headers, method: "GET" }, (answer) => {
				answer.resume();
				resolve(answer.statusCode);
			})
				.on("error", reject)
				.end();
		});
		expect(status).toBe(404);
	},
);
