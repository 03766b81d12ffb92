import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { atEnd } from "../support/temp.ts";
import {
	ask,
	askRaw,
	bodyOf,
	rawConnection,
	sha256,
	startTestProxy,
	startUpstream,
} from "./harness.ts";

/** An upstream below HTTP: each connection is handled as it comes. */
async function startRawUpstream(handle: (socket: Socket) => void): Promise<string> {
	const sockets = new Set<Socket>();
	const server = createServer({ allowHalfOpen: true }, (socket) => {
		sockets.add(socket.on("error", () => {}));
		handle(socket);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	atEnd(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("clients that misbehave", () => {
	test("a head that never ends delays no other, and is ended", { tags: "slow" }, async () => {
		const { url } = await startUpstream((_request, response) => void response.end("ok"));
		const { port } = await startTestProxy(url, { limits: { idleMs: 1_000 } });
		const slow = await Promise.all(Array.from({ length: 100 }, () => rawConnection(port)));
		const closed = slow.map((socket) => once(socket.resume(), "close"));
		for (const socket of slow) socket.on("error", () => {}).write("POST /test/ HTTP/1.1\r\nX-A: ");
		expect(String((await ask(port, "/test/")).body)).toBe("ok");
		await Promise.all(closed);
	});

	test("more headers than Node counts by default arrive, in both directions", async () => {
		let seen: string[] = [];
		const many = Array.from({ length: 2_100 }, () => ["X", "1"]).flat();
		const { server, url } = await startUpstream((request, response) => {
			seen = request.rawHeaders.filter((name) => name === "X");
			response.writeHead(200, many).end();
		});
		server.maxHeadersCount = 0;
		const { port } = await startTestProxy(url);
		const lines = "X: 1\r\n".repeat(2_100);
		const head = `GET /test/ HTTP/1.1\r\nHost: localhost:${port}\r\n${lines}Connection: close\r\n\r\n`;
		const answer = await askRaw(port, head);
		expect(seen).toHaveLength(2_100);
		expect(answer.match(/^X: 1\r$/gm)).toHaveLength(2_100);
	});

	test("a client that ends its side before the answer is gone for the upstream too", async () => {
		const asked = Promise.withResolvers<void>();
		const gone = Promise.withResolvers<void>();
		const { url } = await startUpstream((_request, response) => {
			response.on("close", () => gone.resolve());
			asked.resolve();
		});
		const { port, exchanges } = await startTestProxy(url);
		const socket = await rawConnection(port);
		const closed = once(socket.resume(), "close");
		socket.write(`GET /test/ HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
		await asked.promise;
		socket.end();
		await Promise.all([gone.promise, closed]);
		await expect.poll(() => exchanges.map(({ end }) => end)).toEqual(["client-gone"]);
	});

	test("a declared length that never comes holds no copy after its client is gone", async () => {
		const { url } = await startUpstream(async (request, response) => {
			const body = await bodyOf(request).catch(() => undefined);
			if (body) response.end(`${body.length}`);
		});
		const limits = { maxBodyBytes: 1_000_000, maxCopyBytes: 1_500_000 };
		const { port, exchanges } = await startTestProxy(url, { limits });
		const liar = await rawConnection(port);
		liar.write(
			`POST /test/ HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 1000000\r\n\r\nx`,
		);
		liar.destroy();
		await expect.poll(() => exchanges.length).toBe(1);
		const body = randomBytes(900_000);
		await ask(port, "/test/", { method: "POST", body });
		await expect.poll(() => exchanges.length).toBe(2);
		expect(sha256(exchanges[1]?.requestBody)).toBe(sha256(body));
	});

	test("large bodies at once all pass, and only as many as fit are copied", {
		tags: "slow",
	}, async () => {
		const { url } = await startUpstream(async (request, response) => {
			response.end(sha256(await bodyOf(request)));
		});
		const limits = { maxCopyBytes: 40_000_000 };
		const { port, exchanges } = await startTestProxy(url, { limits });
		const body = randomBytes(16_000_000);
		const asked = Array.from({ length: 6 }, () => ask(port, "/test/", { method: "POST", body }));
		for (const answer of await Promise.all(asked)) expect(String(answer.body)).toBe(sha256(body));
		await expect.poll(() => exchanges.length).toBe(6);
		const copied = exchanges.filter(({ requestBody }) => requestBody);
		expect(copied.length).toBeGreaterThan(0);
		for (const { requestBody } of copied) expect(sha256(requestBody)).toBe(sha256(body));
	});
});

describe("upstreams that misbehave", () => {
	test("one that reads nothing is a 504, and holds the client back", { tags: "slow" }, async () => {
		const url = await startRawUpstream((socket) => socket.pause());
		const { port, exchanges } = await startTestProxy(url, { limits: { idleMs: 300 } });
		const socket = await rawConnection(port);
		let answer = "";
		socket
			.on("error", () => {})
			.on("data", (chunk) => {
				answer += chunk;
			});
		socket.write(
			`POST /test/ HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 60000000\r\n\r\n`,
		);
		socket.write(Buffer.alloc(60_000_000));
		await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 504 /);
		socket.destroy();
		await expect.poll(() => exchanges[0]?.end).toBe("upstream-failed");
	});

	test("an answer that ends with its connection is whole", async () => {
		const url = await startRawUpstream((socket) => {
			socket.once("data", () =>
				socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end"),
			);
		});
		const { port, exchanges } = await startTestProxy(url);
		const answer = await ask(port, "/test/");
		expect(answer).toMatchObject({ status: 200, isCut: false });
		expect(String(answer.body)).toBe("until the end");
		await expect.poll(() => exchanges[0]?.end).toBe("complete");
	});

	test.each([
		["no HTTP", "SSH-2.0-OpenSSH\r\n"],
		["a head without an end", `HTTP/1.1 200 OK\r\nX-A: ${"y".repeat(200_000)}`],
		["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
	])("%s is a 502", async (_name, bytes) => {
		const url = await startRawUpstream((socket) => {
			socket.once("data", () => socket.write(bytes));
		});
		const { port } = await startTestProxy(url);
		const answer = await ask(port, "/test/");
		expect(answer.status).toBe(502);
		expect(answer.headers["x-strata-proxy"]).toBe("upstream-failed");
	});
});
