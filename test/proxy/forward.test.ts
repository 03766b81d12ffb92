import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate } from "node:timers/promises";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { fc, runs } from "../support/property.ts";
import { atEnd } from "../support/temp.ts";
import {
	ask,
	bodyOf,
	rawConnection,
	readAnswer,
	sha256,
	startTestProxy,
	startUpstream,
} from "./harness.ts";

const TEXT = Buffer.from(JSON.stringify({ model: "m", messages: ["grüße ", "x".repeat(5_000)] }));
const MIB = 1024 * 1024;

/** Answers with the hash of the request's body in a header, and with `answer` as its body. */
async function startEcho(answer: Buffer, headers: Record<string, string> = {}) {
	const seen: IncomingMessage[] = [];
	const { url } = await startUpstream(async (request, response) => {
		seen.push(request);
		const hash = sha256(await bodyOf(request));
		response.writeHead(200, { "x-hash": hash, ...headers });
		response.end(answer);
	});
	return { ...(await startTestProxy(url)), url, seen };
}

describe("bytes arrive as they were sent", () => {
	test.each([
		["plain", TEXT, undefined],
		["gzip", gzipSync(TEXT), "gzip"],
		["br", brotliCompressSync(TEXT), "br"],
		["zstd", zstdCompressSync(TEXT), "zstd"],
		["random", randomBytes(300_000), undefined],
	])("%s, in both directions and in the exchange", async (_name, bytes, encoding) => {
		const own: Record<string, string> = encoding ? { "content-encoding": encoding } : {};
		const { port, exchanges } = await startEcho(bytes, own);
		for (const chunkBytes of [undefined, 1_000]) {
			const question = { method: "POST", body: bytes, headers: own };
			const answer = await ask(port, "/test/v1/messages?beta=true", {
				...question,
				...(chunkBytes && { chunkBytes }),
			});
			expect(answer.headers["x-hash"]).toBe(sha256(bytes));
			expect(answer.headers["content-encoding"]).toBe(encoding);
			expect(sha256(answer.body)).toBe(sha256(bytes));
		}
		await expect.poll(() => exchanges.length).toBe(2);
		for (const exchange of exchanges) {
			expect(sha256(exchange.requestBody)).toBe(sha256(bytes));
			expect(sha256(exchange.answerBody)).toBe(sha256(bytes));
			expect(exchange.requestEncoding).toBe(encoding);
			expect(exchange.answerEncoding).toBe(encoding);
			expect(exchange).toMatchObject({
				upstream: "test",
				method: "POST",
				path: "/v1/messages",
				status: 200,
				end: "complete",
			});
		}
	});

	test("however the bytes are cut into writes, in both directions", { tags: "slow" }, async () => {
		let answers: readonly Uint8Array[] = [];
		const { url } = await startUpstream(async (request, response) => {
			response.setHeader("x-hash", sha256(await bodyOf(request)));
			for (const part of answers) {
				response.write(part);
				if (part.length % 2 === 0) await setImmediate();
			}
			response.end();
		});
		const { port, exchanges } = await startTestProxy(url);
		const parts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 9_000, size: "max" }), {
			maxLength: 12,
		});
		await fc.assert(
			fc.asyncProperty(
				parts,
				parts,
				fc.integer({ min: 1, max: 9_000 }),
				async (sent, given, size) => {
					answers = given;
					exchanges.length = 0;
					const body = Buffer.concat(sent);
					const answer = await ask(port, "/test/", { method: "POST", body, chunkBytes: size });
					expect(answer.headers["x-hash"]).toBe(sha256(body));
					expect(sha256(answer.body)).toBe(sha256(Buffer.concat(given)));
					await expect.poll(() => exchanges.length, { interval: 1 }).toBe(1);
					expect(sha256(exchanges[0]?.requestBody)).toBe(sha256(body));
					expect(sha256(exchanges[0]?.answerBody)).toBe(sha256(answer.body));
				},
			),
			{ numRuns: runs(50) },
		);
	});

	test("a body of 64 MB passes and is in the exchange", { tags: "slow" }, async () => {
		const bytes = randomBytes(64 * 1_000_000);
		const { port, exchanges } = await startEcho(bytes);
		const answer = await ask(port, "/test/x", { method: "POST", body: bytes });
		expect(answer.headers["x-hash"]).toBe(sha256(bytes));
		expect(sha256(answer.body)).toBe(sha256(bytes));
		await expect.poll(() => exchanges.length).toBe(1);
		expect(sha256(exchanges[0]?.requestBody)).toBe(sha256(bytes));
		expect(sha256(exchanges[0]?.answerBody)).toBe(sha256(bytes));
	});

	test("events leave as they come, pings included", async () => {
		const events = ["event: ping\ndata: {}\n\n", ": comment\n\n", "data: [DONE]\n\n"];
		const gates = events.map(() => Promise.withResolvers<void>());
		const { url } = await startUpstream(async (_request, response) => {
			response.writeHead(200, { "content-type": "text/event-stream" });
			response.flushHeaders();
			for (const [index, event] of events.entries()) {
				await gates[index]?.promise;
				response.write(event);
			}
			response.end();
		});
		const { port, exchanges } = await startTestProxy(url);
		const request = httpRequest({ port, host: "127.0.0.1", path: "/test/", method: "POST" }).end(
			"{}",
		);
		// The head arrives before any event is sent.
		const [response] = (await once(request, "response")) as [IncomingMessage];
		expect(response.headers["content-type"]).toBe("text/event-stream");
		let arrived = "";
		response.on("data", (chunk) => {
			arrived += chunk;
		});
		for (const index of events.keys()) {
			gates[index]?.resolve();
			await expect.poll(() => arrived).toBe(events.slice(0, index + 1).join(""));
		}
		await expect.poll(() => exchanges.length).toBe(1);
		expect(String(Buffer.from(exchanges[0]?.answerBody ?? []))).toBe(events.join(""));
		expect(exchanges[0]?.answerType).toBe("text/event-stream");
	});

	test("a reason phrase that Node would not send, without it", async () => {
		const server = createServer((socket) => {
			socket.once("data", () => {
				socket.end(
					Buffer.from("HTTP/1.1 200 \u00e9t\u00e9\r\ncontent-length: 2\r\n\r\nok", "latin1"),
				);
			});
		}).listen(0, "127.0.0.1");
		await once(server, "listening");
		atEnd(() => void server.close());
		const { port } = await startTestProxy(
			`http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		);
		const answer = await ask(port, "/test/v1/messages", { method: "POST", body: TEXT });
		expect(answer).toMatchObject({ status: 200, body: Buffer.from("ok") });
	});

	test.each([400, 401, 404, 429, 500, 529])("an error %i of the upstream", async (status) => {
		const error = `{"type":"error",  "error":{"type":"overloaded_error"},"n":1.0}\n`;
		const { url } = await startUpstream((request, response) => {
			request.resume();
			response.writeHead(status, "Its Own Words", { "Retry-After": "7", "X-Request-Id": "r" });
			response.end(error);
		});
		const { port, exchanges } = await startTestProxy(url);
		const answer = await ask(port, "/test/v1/messages", { method: "POST", body: "{}" });
		expect(answer).toMatchObject({ status, message: "Its Own Words" });
		expect(String(answer.body)).toBe(error);
		expect(answer.headers["retry-after"]).toBe("7");
		expect(answer.headers["x-strata-proxy"]).toBeUndefined();
		await expect.poll(() => exchanges[0]?.status).toBe(status);
	});

	test("a redirect is passed on, not followed", async () => {
		const { url } = await startUpstream((_request, response) => {
			response.writeHead(307, { location: "http://127.0.0.1:1/elsewhere" }).end();
		});
		const { port } = await startTestProxy(url);
		const answer = await ask(port, "/test/");
		expect(answer.status).toBe(307);
		expect(answer.headers.location).toBe("http://127.0.0.1:1/elsewhere");
	});

	test("headers keep their case, order and repetition; those of the connection do not pass", async () => {
		let sent: string[] = [];
		const { url } = await startUpstream((request, response) => {
			sent = request.rawHeaders;
			response.sendDate = false;
			response.writeHead(200, ["X-B", "1", "x-a", "2", "Set-Cookie", "a=1", "Set-Cookie", "b=2"]);
			response.end("ok");
		});
		const { port } = await startTestProxy(url);
		const socket = await rawConnection(port);
		socket.write(
			`GET /test/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Zeta: 1\r\nanthropic-BETA: a\r\nx-alpha: 2\r\n` +
				"anthropic-BETA: b\r\nConnection: close, X-Private\r\nX-Private: p\r\nProxy-Authorization: q\r\nTE: trailers\r\n\r\n",
		);
		const [chunk] = await once(socket, "data");
		const [head = ""] = String(chunk).split("\r\n\r\n");
		expect(head.split("\r\n").slice(0, 5)).toEqual([
			"HTTP/1.1 200 OK",
			"X-B: 1",
			"x-a: 2",
			"Set-Cookie: a=1",
			"Set-Cookie: b=2",
		]);
		const own = sent.filter((_, at) => !/^(?:host|connection)$/i.test(sent[at - (at % 2)] ?? ""));
		expect(own).toEqual([
			"X-Zeta",
			"1",
			"anthropic-BETA",
			"a",
			"x-alpha",
			"2",
			"anthropic-BETA",
			"b",
		]);
		expect(sent[sent.findIndex((name) => /^host$/i.test(name)) + 1]).toBe(
			url.slice("http://".length),
		);
	});

	test("a HEAD and a GET get no body, and an answer to HEAD keeps its length", async () => {
		const heads: NodeJS.Dict<string | string[]>[] = [];
		const { url } = await startUpstream((request, response) => {
			heads.push(request.headers);
			response
				.writeHead(200, { "content-length": "1234" })
				.end(request.method === "HEAD" ? "" : "x".repeat(1234));
		});
		const { port, exchanges } = await startTestProxy(url);
		const head = await ask(port, "/test/api/hello", { method: "HEAD" });
		expect(head).toMatchObject({ status: 200, isCut: false });
		expect(head.headers["content-length"]).toBe("1234");
		expect(head.body).toHaveLength(0);
		expect((await ask(port, "/test/v1/models")).body).toHaveLength(1234);
		for (const sent of heads) {
			expect(sent["content-length"]).toBeUndefined();
			expect(sent["transfer-encoding"]).toBeUndefined();
		}
		await expect.poll(() => exchanges.map(({ end }) => end)).toEqual(["complete", "complete"]);
	});

	test("trailers and early hints of the upstream reach the client", async () => {
		const { url } = await startUpstream((_request, response) => {
			response.writeEarlyHints({ link: "</a.css>; rel=preload" });
			response.writeHead(200, { "content-type": "text/plain" });
			response.write("body");
			response.addTrailers({ "X-Sum": "42" });
			response.end();
		});
		const { port } = await startTestProxy(url);
		const request = httpRequest({ host: "127.0.0.1", port, path: "/test/" }).end();
		const [[hints], [response]] = (await Promise.all([
			once(request, "information"),
			once(request, "response"),
		])) as [[{ statusCode: number; headers: Record<string, string> }], [IncomingMessage]];
		expect(hints).toMatchObject({ statusCode: 103, headers: { link: "</a.css>; rel=preload" } });
		const answer = await readAnswer(response);
		expect(answer.trailers).toEqual({ "x-sum": "42" });
	});

	test("a client that expects 100-continue is asked to go on", async () => {
		const { port } = await startEcho(Buffer.from("ok"));
		const headers = { expect: "100-continue", "content-length": "5" };
		const request = httpRequest({
			host: "127.0.0.1",
			port,
			path: "/test/",
			method: "POST",
			headers,
		});
		request.flushHeaders();
		await once(request, "continue");
		request.end("hello");
		const [response] = (await once(request, "response")) as [IncomingMessage];
		expect(response.headers["x-hash"]).toBe(sha256(Buffer.from("hello")));
		response.resume();
	});

	test("a request that offers another protocol is forwarded without the offer", async () => {
		const { port, seen, exchanges } = await startEcho(Buffer.from("ok"));
		const socket = await rawConnection(port);
		const answers: string[] = [];
		socket.on("data", (chunk) => answers.push(String(chunk)));
		const offer =
			`POST /test/v1/messages?b='1' HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-A: \u00e9\r\nConnection: Upgrade, HTTP2-Settings\r\n` +
			"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: 10\r\n\r\n";
		for (const count of [1, 2]) {
			socket.write(`${offer}01234`, "latin1");
			await setImmediate();
			socket.write("56789");
			await expect.poll(() => answers.join("").match(/ok$/gm)?.length).toBe(count);
		}
		expect(answers.join("")).toContain(sha256(Buffer.from("0123456789")));
		expect(seen[1]?.url).toBe("/v1/messages?b='1'");
		expect(seen[1]?.headers).toMatchObject({ "x-a": "\u00e9", "content-length": "10" });
		expect(seen[1]?.headers).not.toHaveProperty("upgrade");
		expect(seen[1]?.headers).not.toHaveProperty("http2-settings");
		await expect.poll(() => exchanges.map(({ end }) => end)).toEqual(["complete", "complete"]);
	});

	test("1,000 requests go over one connection of the client and few of the upstream", {
		tags: "slow",
	}, async () => {
		let connections = 0;
		const { server, url } = await startUpstream(async (request, response) => {
			response.end(await bodyOf(request));
		});
		server.on("connection", () => connections++);
		const { proxy, port, exchanges } = await startTestProxy(url);
		const agent = new Agent({ keepAlive: true, maxSockets: 1 });
		atEnd(() => agent.destroy());
		for (let index = 0; index < 1_000; index++) {
			const answer = await ask(port, "/test/", { method: "POST", body: `n${index}`, agent });
			expect(String(answer.body)).toBe(`n${index}`);
		}
		await expect.poll(() => exchanges.length).toBe(1_000);
		expect(connections).toBeLessThan(10);
		expect(proxy.counters.requests).toBe(1_000);
	});
});

describe("one side that ends, ends the other", () => {
	test("a client that leaves aborts the upstream at once", async () => {
		const gone = Promise.withResolvers<void>();
		const { url } = await startUpstream((_request, response) => {
			response.on("close", () => gone.resolve());
			response.write("first");
		});
		const { port, exchanges } = await startTestProxy(url);
		const request = httpRequest({ host: "127.0.0.1", port, path: "/test/", method: "POST" }).end(
			"{}",
		);
		request.on("error", () => {});
		const [response] = (await once(request, "response")) as [IncomingMessage];
		response.on("error", () => {});
		await once(response, "data");
		request.destroy();
		await gone.promise;
		await expect.poll(() => exchanges[0]?.end).toBe("client-gone");
		expect(String(Buffer.from(exchanges[0]?.answerBody ?? []))).toBe("first");
	});

	test("a client that leaves before the answer, or during its request, aborts the upstream", async () => {
		const states: string[] = [];
		const { url } = await startUpstream((request, response) => {
			states.push("asked");
			request.on("error", () => {});
			request.resume();
			response.on("close", () => states.push("gone"));
		});
		const { port, exchanges } = await startTestProxy(url);
		for (const isWhole of [true, false]) {
			states.length = 0;
			const headers = { "content-length": "10" };
			const request = httpRequest({
				host: "127.0.0.1",
				port,
				path: "/test/",
				method: "POST",
				headers,
			});
			request.on("error", () => {});
			request.write(isWhole ? "0123456789" : "01234");
			await expect.poll(() => states, { interval: 5 }).toEqual(["asked"]);
			request.destroy();
			await expect.poll(() => states, { interval: 5 }).toEqual(["asked", "gone"]);
		}
		await expect
			.poll(() => exchanges.map(({ end }) => end))
			.toEqual(["client-gone", "client-gone"]);
		expect(exchanges[1]?.requestBody).toBeUndefined();
	});

	test.each([
		["chunked", {}],
		["with a length", { "content-length": "1000" }],
	])("a stream that the upstream cuts is cut for the client, %s", async (_name, headers) => {
		const sent = Promise.withResolvers<void>();
		const { url } = await startUpstream(async (_request, response) => {
			response.writeHead(200, headers);
			response.write("data: half");
			await sent.promise;
			response.destroy();
		});
		const { port, exchanges } = await startTestProxy(url);
		const request = httpRequest({ host: "127.0.0.1", port, path: "/test/", method: "POST" }).end(
			"{}",
		);
		const [response] = (await once(request, "response")) as [IncomingMessage];
		const answer = readAnswer(response);
		sent.resolve();
		expect(await answer).toMatchObject({ status: 200, isCut: true });
		expect(String((await answer).body)).toBe("data: half");
		await expect.poll(() => exchanges[0]?.end).toBe("upstream-cut");
		expect(String(Buffer.from(exchanges[0]?.answerBody ?? []))).toBe("data: half");
	});

	test("an upstream that breaks off before its answer is a 502 that names the proxy", async () => {
		const { url } = await startUpstream((request) => request.socket.destroy());
		const { port, exchanges } = await startTestProxy(url);
		const answer = await ask(port, "/test/v1/responses", { method: "POST", body: "{}" });
		expect(answer.status).toBe(502);
		expect(answer.headers["x-strata-proxy"]).toBe("upstream-failed");
		expect(JSON.parse(String(answer.body))).toEqual({
			error: {
				message: expect.stringContaining("test cannot be reached"),
				type: "api_error",
				code: "upstream-failed",
			},
		});
		await expect.poll(() => exchanges[0]?.end).toBe("upstream-failed");
		expect(exchanges[0]?.status).toBeUndefined();
	});

	test("a silence is a 504 before the answer, and a cut after it began", {
		tags: "slow",
	}, async () => {
		const { url } = await startUpstream((request, response) => {
			if (request.url === "/late") response.write("begun");
		});
		const { port, exchanges } = await startTestProxy(url, { limits: { idleMs: 300 } });
		const silent = await ask(port, "/test/never", { method: "POST", body: "{}" });
		expect(silent.status).toBe(504);
		expect(silent.headers["x-strata-proxy"]).toBe("upstream-timeout");
		const late = await ask(port, "/test/late", { method: "POST", body: "{}" });
		expect(late).toMatchObject({ status: 200, isCut: true });
		expect(String(late.body)).toBe("begun");
		await expect
			.poll(() => exchanges.map(({ end }) => end))
			.toEqual(["upstream-failed", "upstream-cut"]);
	});

	test("an answer that comes before the end of the request reaches the client", async () => {
		const { url } = await startUpstream((_request, response) => {
			response.writeHead(413, { connection: "close", "content-length": "9" });
			response.end("too large");
		});
		const { port } = await startTestProxy(url);
		const request = httpRequest({ host: "127.0.0.1", port, path: "/test/", method: "POST" });
		request.on("error", () => {});
		request.write(randomBytes(100_000));
		const [response] = (await once(request, "response")) as [IncomingMessage];
		const answer = await readAnswer(response);
		expect(answer).toMatchObject({ status: 413, isCut: false });
		expect(String(answer.body)).toBe("too large");
		request.destroy();
	});

	test("closing waits for a stream in flight, and refuses new connections", async () => {
		const gate = Promise.withResolvers<void>();
		const { url } = await startUpstream(async (_request, response) => {
			response.write("one ");
			await gate.promise;
			response.end("two");
		});
		const { proxy, port, exchanges } = await startTestProxy(url, { limits: { drainMs: 600_000 } });
		const request = httpRequest({ host: "127.0.0.1", port, path: "/test/" }).end();
		const [response] = (await once(request, "response")) as [IncomingMessage];
		const answer = readAnswer(response);
		const closed = proxy.close();
		await expect(ask(port, "/test/")).rejects.toThrow("ECONNREFUSED");
		gate.resolve();
		expect(String((await answer).body)).toBe("one two");
		await closed;
		expect(exchanges).toHaveLength(1);
	});

	test("closing ends a stream that takes too long", async () => {
		const { url } = await startUpstream((_request, response) => void response.write("for ever"));
		const { proxy, port, exchanges } = await startTestProxy(url);
		const request = httpRequest({ host: "127.0.0.1", port, path: "/test/" }).end();
		const [response] = (await once(request, "response")) as [IncomingMessage];
		const answer = readAnswer(response);
		await proxy.close();
		expect((await answer).isCut).toBe(true);
		expect(exchanges[0]?.end).toBe("client-gone");
	});
});

describe("memory is bounded", () => {
	test("a reader that stops, stops the upstream", { tags: "slow" }, async () => {
		let written = 0;
		const { url } = await startUpstream((_request, response) => {
			const chunk = Buffer.alloc(64 * 1024);
			const push = () => {
				while (written < 512 * MIB) {
					written += chunk.length;
					if (!response.write(chunk)) return void response.once("drain", push);
				}
			};
			push();
		});
		const { port } = await startTestProxy(url, { limits: { maxBodyBytes: MIB } });
		const socket = await rawConnection(port);
		socket.write(`GET /test/ HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
		await once(socket, "readable"); // and nothing is read
		let before = -1;
		await vi.waitFor(
			async () => {
				const isSame = written === before;
				before = written;
				await new Promise((resolve) => setTimeout(resolve, 300));
				expect(isSame && written === before).toBe(true);
			},
			{ timeout: 120_000 },
		);
		// What kernels and streams buffer, far from 512 MiB.
		expect(written).toBeLessThan(64 * MIB);
	});

	test("a body above the limit passes, and the exchange has none", async () => {
		const bytes = randomBytes(20_000);
		const { url } = await startUpstream(async (request, response) => {
			response.end(await bodyOf(request));
		});
		const { port, exchanges } = await startTestProxy(url, { limits: { maxBodyBytes: 19_999 } });
		const answer = await ask(port, "/test/", { method: "POST", body: bytes });
		expect(sha256(answer.body)).toBe(sha256(bytes));
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]).not.toHaveProperty("requestBody");
		expect(exchanges[0]).not.toHaveProperty("answerBody");
		expect(exchanges[0]?.end).toBe("complete");
	});

	test("all copies together are bounded, and room returns", async () => {
		const gate = Promise.withResolvers<void>();
		const { url } = await startUpstream(async (request, response) => {
			const body = await bodyOf(request);
			await gate.promise;
			response.end(`${body.length}`);
		});
		const limits = { maxCopyBytes: 50_000 };
		const { port, exchanges } = await startTestProxy(url, { limits });
		const body = randomBytes(20_000);
		const asked = Array.from({ length: 5 }, () => ask(port, "/test/", { method: "POST", body }));
		await setImmediate();
		gate.resolve();
		for (const answer of await Promise.all(asked)) expect(String(answer.body)).toBe("20000");
		await expect.poll(() => exchanges.length).toBe(5);
		const copied = exchanges.filter(({ requestBody }) => requestBody !== undefined);
		expect(copied.length).toBeGreaterThan(0);
		exchanges.length = 0;
		await ask(port, "/test/", { method: "POST", body });
		await expect.poll(() => exchanges[0]?.requestBody?.length).toBe(20_000);
	});

	test("an observer that throws disturbs nothing", async () => {
		const { url } = await startUpstream((_request, response) => void response.end("ok"));
		const { port } = await startTestProxy(url, {
			onExchange() {
				throw new Error("observer");
			},
		});
		for (let index = 0; index < 3; index++) {
			expect(String((await ask(port, "/test/")).body)).toBe("ok");
		}
	});
});
