import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { ProxyOptions } from "../../src/proxy/index.ts";
import { type Exchange, framesIn } from "../../src/wire/exchange.ts";
import { atEnd } from "../support/temp.ts";
import { ask, askRaw, rawConnection, startTestProxy, startUpstream } from "./harness.ts";

/** An upstream that speaks WebSocket, behind a proxy. */
async function startBridge(
	serve: (socket: WebSocket, request: IncomingMessage) => void,
	options: Partial<ProxyOptions> = {},
) {
	const http = createServer();
	const server = new WebSocketServer({
		server: http,
		perMessageDeflate: true,
		handleProtocols: (offered) => (offered.has("second") ? "second" : false),
	});
	server.on("headers", (lines) => lines.push("X-Codex-Turn-State: abc"));
	server.on("connection", (socket, request) => {
		socket.on("error", () => {});
		serve(socket, request);
	});
	http.listen(0, "127.0.0.1");
	await once(http, "listening");
	atEnd(() => {
		for (const socket of server.clients) socket.terminate();
		http.close();
	});
	const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
	const started = await startTestProxy(url, options);
	const open = async (protocols: string[] = [], perMessageDeflate = true) => {
		const address = `ws://127.0.0.1:${started.port}/test/v1/responses`;
		const headers = { Authorization: "Bearer sentinel", "X-Session-Id": "s1" };
		const client = new WebSocket(address, protocols, { headers, perMessageDeflate });
		atEnd(() => client.terminate());
		const upgraded = once(client, "upgrade") as Promise<[IncomingMessage]>;
		await once(client, "open");
		return { client, answer: (await upgraded)[0] };
	};
	return { ...started, open };
}

const create = (text: string) => JSON.stringify({ type: "response.create", input: text });

describe("a WebSocket through the proxy", () => {
	test("messages arrive as they are, text and binary, fragmented and compressed, both ways", async () => {
		const { open } = await startBridge((socket) =>
			socket.on("message", (data, binary) => socket.send(data, { binary })),
		);
		for (const isCompressed of [true, false]) {
			const { client, answer } = await open(["first", "second"], isCompressed);
			expect(client.protocol).toBe("second");
			expect(client.extensions.includes("permessage-deflate")).toBe(isCompressed);
			expect(answer.headers["x-codex-turn-state"]).toBe("abc");
			const large = randomBytes(300_000);
			for (const message of ["", "grüße", "x".repeat(200_000), large, Buffer.alloc(0)]) {
				client.send(message);
				const [data, isBinary] = (await once(client, "message")) as [Buffer, boolean];
				expect(isBinary).toBe(typeof message !== "string");
				expect(data.equals(Buffer.from(message))).toBe(true);
			}
			client.send("in ", { fin: false });
			client.send("three ", { fin: false });
			client.send("parts", { fin: true });
			const [whole] = await once(client, "message");
			expect(String(whole)).toBe("in three parts");
		}
	});

	test("handshake headers pass, those of the connection do not", async () => {
		const seen = Promise.withResolvers<IncomingMessage>();
		const { open, port } = await startBridge((_socket, request) => seen.resolve(request));
		await open();
		const { headers, url } = await seen.promise;
		expect(url).toBe("/v1/responses");
		expect(headers).toMatchObject({ authorization: "Bearer sentinel", "x-session-id": "s1" });
		expect(headers.host).not.toContain(String(port));
	});

	test("the request line arrives as it was sent", async () => {
		const seen = Promise.withResolvers<string>();
		const { port } = await startBridge((_socket, request) => seen.resolve(request.url ?? ""));
		const target = "/v1/responses?q='a'|{b}&c=%7e%7E#d";
		const socket = await rawConnection(port);
		socket.write(handshake(port).replace("/v1/responses", target));
		expect(await seen.promise).toBe(target);
	});

	test.each([
		[1000, "done"],
		[1008, "policy"],
		[4001, "own code"],
		[1005, ""],
	])("the close code %i of either side reaches the other", async (code, reason) => {
		const close = (socket: WebSocket) =>
			code === 1005 ? socket.close() : socket.close(code, reason);
		const closed = Promise.withResolvers<[number, string]>();
		const { open } = await startBridge((socket) => {
			socket.on("message", () => close(socket));
			socket.on("close", (given, why) => closed.resolve([given, String(why)]));
		});
		const first = await open();
		close(first.client);
		expect(await closed.promise).toEqual([code, reason]);
		const second = await open();
		second.client.send("close");
		const [given, why] = await once(second.client, "close");
		expect([given, String(why)]).toEqual([code, reason]);
	});

	test("pings are answered on each side", async () => {
		const ponged = Promise.withResolvers<void>();
		const { open } = await startBridge((socket) => {
			socket.on("pong", () => ponged.resolve());
			socket.ping("up");
		});
		const { client } = await open();
		await ponged.promise;
		client.ping("down");
		const [data] = await once(client, "pong");
		expect(String(data)).toBe("down");
	});

	test("a side that vanishes is cut for the other", async () => {
		const gone = Promise.withResolvers<number>();
		const { open } = await startBridge((socket) => {
			socket.on("message", () => socket.terminate());
			socket.on("close", (code) => gone.resolve(code));
		});
		const first = await open();
		first.client.terminate();
		expect(await gone.promise).toBe(1006);
		const second = await open();
		second.client.send("vanish");
		const [code] = await once(second.client, "close");
		expect(code).toBe(1006);
	});

	test.each([401, 426, 503])(
		"a refusal %i of the upstream arrives with its body",
		async (status) => {
			const body = `{"error":{"message":"no"}}`;
			const { server, url } = await startUpstream(() => {});
			server.on("upgrade", (_request, socket) => {
				socket.end(
					`HTTP/1.1 ${status} Own Words\r\nX-Request-Id: r\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
				);
			});
			const { port, exchanges } = await startTestProxy(url);
			const answer = await askRaw(port, handshake(port));
			expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} Own Words\r\n`));
			expect(answer).toContain("X-Request-Id: r\r\n");
			expect(answer.endsWith(`\r\n\r\n${body}`)).toBe(true);
			await expect.poll(() => exchanges).toHaveLength(1);
			expect(exchanges[0]).toMatchObject({ status, end: "complete" });
		},
	);

	test("an upstream that cannot be reached is a 502", async () => {
		const { port, exchanges } = await startTestProxy("http://127.0.0.1:1");
		const answer = await askRaw(port, handshake(port));
		expect(answer).toMatch(/^HTTP\/1\.1 502 /);
		expect(answer).toContain("x-strata-proxy: upstream-failed");
		await expect.poll(() => exchanges.map(({ end }) => end)).toEqual(["upstream-failed"]);
	});

	test("with the setting `refuse` it is answered 426", async () => {
		const { port } = await startBridge(() => {}, { websocket: "refuse" });
		expect(await askRaw(port, handshake(port))).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
	});

	test("behind a proxy of the network it is answered 426, and loopback is reached directly", async () => {
		const { url } = await startUpstream((_request, response) => void response.end("ok"));
		const env = { HTTP_PROXY: "http://127.0.0.1:1", HTTPS_PROXY: "http://127.0.0.1:1" };
		const { port } = await startTestProxy(url, { env });
		expect(await askRaw(port, handshake(port))).toMatch(/^HTTP\/1\.1 426 /);
		expect(String((await ask(port, "/test/")).body)).toBe("ok");
	});

	test("a foreign origin is refused", async () => {
		const { port } = await startBridge(() => {});
		const head = handshake(port).replace("\r\n\r\n", "\r\nOrigin: https://evil.example\r\n\r\n");
		expect(await askRaw(port, head)).toMatch(/^HTTP\/1\.1 403 /);
	});

	test("a client that leaves during the handshake is forgotten", async () => {
		const asked = Promise.withResolvers<void>();
		const gone = Promise.withResolvers<void>();
		const { server, url } = await startUpstream(() => {});
		server.on("upgrade", (_request, socket) => {
			socket.on("error", () => {});
			socket.on("end", () => gone.resolve()).resume();
			asked.resolve();
		});
		const { proxy, port } = await startTestProxy(url);
		const socket = await rawConnection(port);
		socket.write(handshake(port));
		await asked.promise;
		socket.destroy();
		await gone.promise;
		await proxy.close();
	});

	test("a reader that stops, stops the other side", { tags: "slow" }, async () => {
		let written = 0;
		const { open } = await startBridge((socket) => {
			const message = Buffer.alloc(256 * 1024);
			const push = () => {
				if (socket.readyState !== socket.OPEN || written > 256 * 1024 * 1024) return;
				written += message.length;
				socket.send(message, () => setImmediate(push));
			};
			push();
		});
		const { client } = await open([], false);
		client.pause();
		let before = -1;
		await vi.waitFor(
			async () => {
				before = written;
				await new Promise((resolve) => setTimeout(resolve, 300));
				expect(written).toBe(before);
			},
			{ timeout: 120_000 },
		);
		expect(written).toBeLessThan(64 * 1024 * 1024);
	});
});

describe("exchanges of a WebSocket", () => {
	test("are one for each response.create, with the frames of its answer", async () => {
		const frames = (name: string) => [
			JSON.stringify({ type: "response.created", name }),
			JSON.stringify({ type: "response.output_text.delta", delta: `"response.completed" ${name}` }),
			JSON.stringify({ sequence: 3, type: "response.completed", name }),
		];
		const { open, exchanges } = await startBridge((socket) =>
			socket.on("message", (data) => {
				const { input } = JSON.parse(String(data));
				for (const frame of frames(input)) socket.send(frame);
			}),
		);
		const { client } = await open();
		const requests = [create("one"), `{"input":"two",  "type" : "response.create"}`];
		for (const request of requests) client.send(request);
		client.send(JSON.stringify({ type: "response.cancel" }));
		await expect.poll(() => exchanges.length).toBe(2);
		expect(exchanges.map(framesSeen)).toEqual([frames("one"), frames("two")]);
		expect(exchanges.map(({ requestBody }) => String(Buffer.from(requestBody ?? [])))).toEqual(
			requests,
		);
		expect(exchanges[0]).toMatchObject({
			upstream: "test",
			method: "GET",
			path: "/v1/responses",
			status: 101,
			requestHeaders: { "x-session-id": "s1" },
			end: "complete",
		});
		expect(JSON.stringify(exchanges)).not.toContain("sentinel");
	});

	test("have no key that a client sends as a subprotocol", async () => {
		const { open, exchanges } = await startBridge((socket) =>
			socket.on("message", () => socket.send(`{"type":"response.completed"}`)),
		);
		const { client } = await open(["second", "openai-insecure-api-key.sentinel"]);
		client.send(create("x"));
		await expect.poll(() => exchanges.length).toBe(1);
		expect(JSON.stringify(exchanges)).not.toContain("sentinel");
		expect(Object.keys(exchanges[0]?.requestHeaders ?? {}).sort()).toEqual(["x-session-id"]);
	});

	test.each([
		["client-gone", (client: WebSocket) => client.terminate()],
		["upstream-cut", (client: WebSocket) => client.send("cut")],
	])("without an end are handed over as %s", async (end, cut) => {
		const { open, exchanges } = await startBridge((socket) =>
			socket.on("message", (data) => {
				if (String(data) === "cut") socket.terminate();
				else socket.send(`{"type":"response.created"}`);
			}),
		);
		const { client } = await open();
		client.send(create("x"));
		await once(client, "message");
		cut(client);
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]?.end).toBe(end);
		expect(exchanges.map(framesSeen)).toEqual([[`{"type":"response.created"}`]]);
	});

	test("above the limits have no frames, and the connection goes on", async () => {
		const { open, exchanges } = await startBridge(
			(socket) =>
				socket.on("message", () => {
					socket.send(JSON.stringify({ type: "response.delta", x: "y".repeat(5_000) }));
					socket.send(`{"type":"response.completed"}`);
				}),
			{ limits: { maxBodyBytes: 4_000 } },
		);
		const { client } = await open();
		for (let index = 1; index <= 3; index++) {
			client.send(create("x"));
			await expect.poll(() => exchanges.length).toBe(index);
			expect(exchanges[index - 1]?.frames).toBeUndefined();
			expect(exchanges[index - 1]?.end).toBe("complete");
		}
	});

	test("belong to the message's own type, wherever it stands", async () => {
		const item = { type: "error", text: `"type":"response.completed"` };
		const frames = [
			JSON.stringify({ item, list: [item], type: "response.output_item.done" }),
			JSON.stringify({ response: { type: "error" }, note: "type", type: "response.completed" }),
		];
		const { open, exchanges } = await startBridge((socket) =>
			socket.on("message", () => {
				for (const frame of frames) socket.send(frame);
			}),
		);
		const { client } = await open();
		client.send(JSON.stringify({ input: [{ type: "response.create" }], type: "other" }));
		client.send(JSON.stringify({ input: [{ type: "other" }], type: "response.create" }));
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]?.end).toBe("complete");
		expect(exchanges.map(framesSeen)).toEqual([frames]);
	});

	test("end where the answer to the next request begins, if their own end was not understood", async () => {
		const created = (name: string) => JSON.stringify({ type: "response.created", name });
		const { open, exchanges } = await startBridge((socket) =>
			socket.on("message", (data) => {
				const { input } = JSON.parse(String(data));
				socket.send(created(input));
				socket.send(`{"type":"response.${input === "one" ? "new_kind_of_end" : "completed"}"}`);
			}),
		);
		const { client } = await open();
		client.send(create("one"));
		client.send(create("two"));
		await expect.poll(() => exchanges.length).toBe(2);
		expect(exchanges.map((exchange) => [exchange.end, framesSeen(exchange)])).toEqual([
			["upstream-cut", [created("one"), `{"type":"response.new_kind_of_end"}`]],
			["complete", [created("two"), `{"type":"response.completed"}`]],
		]);
	});

	test("that are in flight when the proxy ends are handed over before it has ended", async () => {
		const { open, proxy, exchanges } = await startBridge((socket) =>
			socket.on("message", () => socket.send(`{"type":"response.created"}`)),
		);
		const { client } = await open();
		client.send(create("x"));
		await once(client, "message");
		await proxy.close();
		expect(exchanges).toMatchObject([{ end: "client-gone" }]);
		expect(exchanges.map(framesSeen)).toEqual([[`{"type":"response.created"}`]]);
	});

	test("closing the proxy ends an idle connection, and waits for an answer in flight", async () => {
		const gate = Promise.withResolvers<void>();
		const { open, proxy, exchanges } = await startBridge(
			(socket) =>
				socket.on("message", async () => {
					socket.send(`{"type":"response.created"}`);
					await gate.promise;
					socket.send(`{"type":"response.completed"}`);
				}),
			{ limits: { drainMs: 600_000 } },
		);
		const idle = (await open()).client;
		const busy = (await open()).client;
		busy.send(create("x"));
		await once(busy, "message");
		const ended = once(idle, "close");
		const over = once(busy, "close");
		const closed = proxy.close();
		expect((await ended)[0]).toBe(1001);
		expect(busy.readyState).toBe(busy.OPEN);
		gate.resolve();
		expect((await over)[0]).toBe(1001);
		await closed;
		expect(exchanges.map(({ end }) => end)).toEqual(["complete"]);
	});
});

function framesSeen({ frames }: Exchange): string[] | undefined {
	return frames && framesIn(frames);
}

function handshake(port: number): string {
	return (
		`GET /test/v1/responses HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	);
}
