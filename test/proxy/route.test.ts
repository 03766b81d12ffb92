import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { upstreamsFrom } from "../../src/proxy/index.ts";
import { routeOf } from "../../src/proxy/route.ts";
import { fc } from "../support/property.ts";
import { selfSigned } from "../support/self-signed.ts";
import { atEnd } from "../support/temp.ts";
import { ask, askRaw, startTestProxy, startUpstream } from "./harness.ts";

const upstreams = upstreamsFrom({ corp: "https://gateway.example/llm/" });
const options = { port: 4000, upstreams };
const headers = { host: "127.0.0.1:4000" };

describe("a route", () => {
	test.each([
		["/anthropic/v1/messages?beta=true", "https://api.anthropic.com", "/v1/messages?beta=true"],
		["/openai/v1/responses", "https://api.openai.com", "/v1/responses"],
		["/chatgpt/responses", "https://chatgpt.com", "/backend-api/codex/responses"],
		["/corp/v1/x", "https://gateway.example", "/llm/v1/x"],
		["/corp", "https://gateway.example", "/llm/"],
		["/gemini/v1beta/models/m:streamGenerateContent?alt=sse&key=a/../b", undefined, undefined],
	])("%s", (url, origin, target) => {
		expect(routeOf({ url, headers }, options)).toMatchObject({
			...(origin && { upstream: { origin } }),
			target: target ?? "/v1beta/models/m:streamGenerateContent?alt=sse&key=a/../b",
		});
	});

	test("has a path without query and secret", () => {
		const url = "/s3cret/gemini/v1beta/models/m:generateContent?key=k";
		expect(routeOf({ url, headers }, { ...options, secret: "s3cret" })).toMatchObject({
			path: "/v1beta/models/m:generateContent",
		});
	});

	test("of a ChatGPT login goes to ChatGPT, unless the user named another address", () => {
		const login = {
			headers: { ...headers, "chatgpt-account-id": "a" },
			url: "/openai/v1/responses",
		};
		expect(routeOf(login, options)).toMatchObject({
			upstream: { name: "chatgpt" },
			path: "/responses",
			target: "/backend-api/codex/responses",
		});
		const own = upstreamsFrom({ openai: "https://gateway.example" });
		expect(routeOf(login, { ...options, upstreams: own })).toMatchObject({
			upstream: { name: "openai" },
			path: "/v1/responses",
		});
	});

	test.each([
		"//evil.example/anthropic",
		"/anthropic//evil.example/x",
		"/corp/../x",
		"/corp/a/%2e%2E/x",
		"/corp/a/..%2f..%2fx",
		"/corp/..\\x",
		"/corp/.",
		"http://evil.example/anthropic/v1",
		"anthropic/v1",
		"*",
		"",
		"/__proto__/x",
		"/nothing",
	])("is refused for %j", (url) => {
		expect(routeOf({ url, headers }, options)).toMatchObject({ status: 404 });
	});

	test("never leaves its upstream's prefix", () => {
		const part = fc.constantFrom(
			"..",
			".",
			"%2e",
			"%2F",
			"/",
			"\\",
			"%5c",
			"a",
			"corp",
			"?",
			"#",
			"@",
			":",
		);
		fc.assert(
			fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
				const route = routeOf({ url: `/corp/${parts.join("")}`, headers }, options);
				if ("status" in route) return;
				const resolved = new URL(route.target, route.upstream.origin);
				expect(resolved.origin).toBe("https://gateway.example");
				expect(resolved.pathname).toMatch(/^\/llm\//);
			}),
		);
	});

	test.each([
		[{ host: "evil.example:4000" }],
		[{ host: "127.0.0.1:4001" }],
		[{ host: "127.0.0.1" }],
		[{ host: "127.0.0.1.evil.example:4000" }],
		[{ host: "localhost:4000@evil.example" }],
		[{}],
		[{ ...headers, origin: "https://evil.example" }],
		[{ ...headers, origin: "null" }],
		[{ ...headers, origin: "http://localhost.evil.example" }],
		[{ ...headers, "sec-fetch-site": "cross-site" }],
	])("is forbidden with %j", (hostile) => {
		const head = { url: "/anthropic/v1/messages", headers: hostile };
		expect(routeOf(head, options)).toMatchObject({ status: 403 });
	});

	test.each([
		[{ host: "localhost:4000" }],
		[{ host: "[::1]:4000" }],
		[{ host: "LOCALHOST:4000", origin: "http://localhost:5173" }],
	])("is allowed with %j", (own) => {
		const head = { url: "/anthropic/v1/messages", headers: own };
		expect(routeOf(head, options)).toMatchObject({ path: "/v1/messages" });
	});
});

describe("refusals over the wire", () => {
	test.each([
		[
			"anthropic",
			{ type: "error", error: { type: "not_found_error", message: expect.any(String) } },
		],
		["openai", { error: { message: expect.any(String), type: "not_found_error", code: "path" } }],
		["gemini", { error: { code: 404, message: expect.any(String), status: "NOT_FOUND" } }],
	])("have the shape of %s", async (name, shape) => {
		const { port, exchanges } = await startTestProxy("http://127.0.0.1:1");
		const answer = await ask(port, `/${name}//evil`);
		expect(answer.status).toBe(404);
		expect(answer.headers["x-strata-proxy"]).toBe("path");
		expect(JSON.parse(String(answer.body))).toEqual(shape);
		expect(exchanges).toEqual([]);
	});

	test("a wrong secret reaches no upstream and learns nothing", async () => {
		let asked = 0;
		const { url } = await startUpstream((_request, response) => {
			asked++;
			response.end("ok");
		});
		const { proxy, port } = await startTestProxy(url, { secret: "right" });
		for (const path of [
			"/wrong/test/",
			"/test/",
			"/",
			"//test/",
			"/righ/test/",
			"/right%20/test/",
		]) {
			const answer = await ask(port, path);
			expect(answer.status).toBe(404);
			expect(String(answer.body)).not.toMatch(/right|anthropic/);
		}
		expect(asked).toBe(0);
		expect((await ask(port, new URL(`${proxy.baseUrl("test")}/x`).pathname)).status).toBe(200);
	});

	test("a foreign Host, an absolute-form target and CONNECT reach no upstream", async () => {
		let asked = 0;
		const { url } = await startUpstream((_request, response) => {
			asked++;
			response.end();
		});
		const { port } = await startTestProxy(url);
		const closing = "Connection: close\r\n\r\n";
		const own = `Host: 127.0.0.1:${port}\r\n`;
		const heads: [string, RegExp][] = [
			[`GET /test/ HTTP/1.1\r\nHost: evil.example\r\n${closing}`, /^HTTP\/1\.1 403 /],
			[`GET http://evil.example/test/ HTTP/1.1\r\n${own}${closing}`, /^HTTP\/1\.1 404 /],
			[`CONNECT evil.example:443 HTTP/1.1\r\n${own}\r\n`, /^$/],
			[`GET /test/ HTTP/1.1\r\n${closing}`, /^HTTP\/1\.1 400 /],
			[`GET /test/ HTTP/1.1\r\n${own}X: ${"y".repeat(70_000)}\r\n${closing}`, /^HTTP\/1\.1 431 /],
			[
				`POST /test/ HTTP/1.1\r\n${own}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n${closing}`,
				/^HTTP\/1\.1 400 /,
			],
			[
				`GET /test/ HTTP/1.1\r\nHost: evil.example\r\nUpgrade: h2c\r\nConnection: upgrade, close\r\n\r\n`,
				/^HTTP\/1\.1 403 /,
			],
			["\x00\x01nonsense\r\n\r\n", /^HTTP\/1\.1 400 /],
		];
		for (const [head, expected] of heads) expect(await askRaw(port, head)).toMatch(expected);
		expect(asked).toBe(0);
	});
});

test("it listens on both loopback addresses, where the machine has them", async () => {
	const { url } = await startUpstream((_request, response) => void response.end("ok"));
	const { port } = await startTestProxy(url);
	const isLocal = ({ address }: { address: string }) => address === "::1";
	const hasIPv6 = Object.values(networkInterfaces())
		.flat()
		.some((one) => one && isLocal(one));
	for (const host of hasIPv6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"]) {
		expect((await ask(port, "/test/", { host })).status).toBe(200);
	}
});

test("a request does not reach an upstream with a certificate that is not valid", async () => {
	let asked = 0;
	const server = createServer(selfSigned(), (_request, response) => {
		asked++;
		response.end("ok");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	atEnd(() => server.close());
	const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const { port } = await startTestProxy(url);
	const answer = await ask(port, "/test/", { method: "POST", body: "secret" });
	expect(answer.status).toBe(502);
	expect(asked).toBe(0);
});

test("no exchange holds a credential", async () => {
	const { url } = await startUpstream((_request, response) => void response.end("ok"));
	const { port, exchanges } = await startTestProxy(url, { secret: "path-sentinel" });
	const names =
		"Authorization X-Api-Key Cookie Proxy-Authorization ChatGPT-Account-Id X-Goog-Api-Key api-key X-Auth-Token OpenAI-Secret";
	const secret = Object.fromEntries(names.split(" ").map((name) => [name, `sentinel-${name}`]));
	await ask(port, "/path-sentinel/test/v1/x?key=query-sentinel", {
		headers: { ...secret, "X-Claude-Code-Session-Id": "s", "User-Agent": "claude-cli/2" },
	});
	await expect.poll(() => exchanges.length).toBe(1);
	expect(JSON.stringify(exchanges)).not.toContain("sentinel");
	expect(exchanges[0]?.requestHeaders).toEqual({
		"x-claude-code-session-id": "s",
		"user-agent": "claude-cli/2",
	});
});
