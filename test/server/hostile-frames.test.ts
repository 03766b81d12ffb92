import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Data } from "../../src/protocol/index.ts";
import { fc } from "../support/property.ts";
import { atEnd } from "../support/temp.ts";
import {
	type Holdings,
	INSPECTABLE,
	inspect,
	withoutInspector,
} from "./support/inspected-server.ts";
import { type ServeProcess, startServe } from "./support/serve-process.ts";
import { connectClient, type TestClient } from "./support/ws-client.ts";

const MEGABYTE = 2 ** 20;
let server: ServeProcess;
let holdings: () => Promise<Holdings>;
let port: number;
let url: string;
/** Somebody who does nothing wrong, and whom the others must not disturb. */
let honest: TestClient;
let asked = 0;

beforeAll(async () => {
	server = startServe(["--port", "0", "--auth", "none", "--json"], { env: INSPECTABLE });
	({ port = 0 } = await server.ready());
	holdings = await inspect(server);
	url = `ws://127.0.0.1:${port}`;
	honest = await connectClient(url);
	honest.socket.send('{"type":"subscribe","id":"quiet","lifecycle":"none"}');
	await honest.next(isResponse("quiet"));
});

afterAll(async () => {
	honest.socket.close();
	server.child.kill("SIGTERM");
	expect((await server.exited).code).toBe(0);
	expect(withoutInspector(server.err())).toBe("");
});

describe("frames that are no commands get one failure each, and the connection stays", () => {
	test.each([
		["null", "unknown"],
		["42", "unknown"],
		['"text"', "unknown"],
		["[]", "unknown"],
		['[{"type":"list_sessions"}]', "unknown"],
		["{", "unknown"],
		["", "unknown"],
		["\u0000", "unknown"],
		["{}", "unknown"],
		['{"type":42}', "unknown"],
		['{"type":"__proto__"}', "__proto__"],
		['{"type":"constructor"}', "constructor"],
		['{"type":"toString","id":"a"}', "toString"],
		['{"type":"list_sessions","id":7}', "list_sessions"],
		['{"type":"list_sessions","dependsOn":"x"}', "list_sessions"],
		['{"type":"get_state"}', "get_state"],
		['{"type":"get_state","sessionId":".."}', "get_state"],
		['{"type":"get_state","sessionId":"__proto__"}', "get_state"],
		[`{"type":"x","x":${"[".repeat(200_000)}`, "unknown"],
	])("%.60s", async (frame, command) => {
		const client = await connectClient(url);
		client.socket.send(frame);
		expect(await client.next(isAnyResponse)).toMatchObject({ success: false, command });
		await stillAnswers(client);
	});

	test("nesting of any depth", { tags: "slow" }, async () => {
		const client = await connectClient(url);
		for (const depth of [100, 10_000, 1_000_000]) {
			const id = `deep${depth}`;
			client.socket.send(
				`{"type":"get_metrics","id":"${id}","x":${"[".repeat(depth)}${"]".repeat(depth)}}`,
			);
			expect(typeof (await client.next(isResponse(id))).success).toBe("boolean");
		}
		await stillAnswers(client);
	});

	test("prototype names as ids, keys and fields are ordinary words", async () => {
		const client = await connectClient(url);
		for (const id of ["__proto__", "constructor", "hasOwnProperty", "toString"]) {
			client.socket.send(`{"type":"list_sessions","id":"${id}","idempotencyKey":"${id}"}`);
			expect(await client.next(isResponse(id))).toMatchObject({ success: true });
		}
		client.socket.send('{"type":"list_sessions","id":"p","__proto__":{"success":false}}');
		await client.next(isResponse("p"));
		client.socket.send('{"type":"nothing","type":"list_sessions","id":"twice"}');
		expect(await client.next(isResponse("twice"))).toMatchObject({ command: "list_sessions" });
		await stillAnswers(client);
	});

	test("random values in place of a command", { tags: "slow" }, async () => {
		const client = await connectClient(url);
		client.socket.send('{"type":"subscribe","id":"quiet","lifecycle":"none"}');
		await client.next(isResponse("quiet"));
		const type = fc.constantFrom("list_sessions", "get_state", "prompt", "subscribe", "fork", "");
		const anything = fc.oneof(
			fc.json(),
			fc.string(),
			fc
				.record({ type: fc.oneof(type, fc.jsonValue()), sessionId: fc.jsonValue() })
				.map((value) => JSON.stringify(value)),
			fc
				.record({ type, id: fc.jsonValue(), dependsOn: fc.jsonValue(), extra: fc.jsonValue() })
				.map((value) => JSON.stringify(value)),
		);
		let responses = client.received.filter(isAnyResponse).length;
		for (const frame of fc.sample(anything, 300)) {
			client.socket.send(frame);
			responses++;
			await until(() => client.received.filter(isAnyResponse).length >= responses);
		}
		expect(client.received.filter(isAnyResponse)).toHaveLength(responses);
		await stillAnswers(client);
	});

	test("random bytes in binary frames", async () => {
		const client = await connectClient(url);
		for (let i = 1; i <= 50; i++) client.socket.send(randomBytes(i * 20));
		await until(() => client.received.filter(isAnyResponse).length === 50);
		for (const message of client.received.filter(isAnyResponse)) {
			expect(message).toMatchObject({ success: false, command: "unknown" });
		}
		await stillAnswers(client);
	});
});

describe("what is no WebSocket conversation ends, for its sender only", () => {
	test("a frame above the limit", async () => {
		const client = await connectClient(url);
		client.socket.on("error", () => {});
		client.socket.send(Buffer.alloc(11 * MEGABYTE, 0x20));
		expect((await client.closed).code).toBe(1009);
		await othersGoOn();
	});

	test.each([
		["an unmasked frame", Buffer.from([0x81, 0x02, 0x7b, 0x7d])],
		["a reserved opcode", Buffer.from([0x83, 0x80, 0, 0, 0, 0])],
		["a length of 2^63", Buffer.from([0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
		["a fragmented ping", Buffer.from([0x09, 0x80, 0, 0, 0, 0])],
		["a continuation of nothing", Buffer.from([0x80, 0x80, 0, 0, 0, 0])],
		["random bytes", randomBytes(1_000)],
	])("%s", async (_name, bytes) => {
		const socket = await upgraded();
		const closed = new Promise((resolve) => socket.on("close", resolve));
		socket.write(bytes);
		// Random bytes may look like the beginning of a long frame.
		setTimeout(() => socket.end(), 200);
		await closed;
		await othersGoOn();
	});

	test("half a frame that never goes on, and a client that vanishes in the middle", {
		tags: "slow",
	}, async () => {
		const before = await heldBytes();
		const sockets = await Promise.all(Array.from({ length: 20 }, upgraded));
		for (const socket of sockets) {
			// It announces nine megabytes and sends one kilobyte.
			const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x90, 0, 0, 1, 2, 3, 4]);
			socket.write(Buffer.concat([head, Buffer.alloc(1024)]));
		}
		await othersGoOn();
		expect((await heldBytes()) - before).toBeLessThan(10 * MEGABYTE);
		for (const socket of sockets) socket.destroy();
		await othersGoOn();
	});

	test("pings without end from a client that reads nothing", { tags: "slow" }, async () => {
		const before = await heldBytes();
		const socket = await upgraded();
		socket.pause();
		const ping = Buffer.concat([Buffer.from([0x89, 0xfd, 0, 0, 0, 0]), Buffer.alloc(125)]);
		const pings = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
		for (let i = 0; i < 200; i++) {
			if (socket.write(pings)) continue;
			await othersGoOn();
		}
		expect((await heldBytes()) - before).toBeLessThan(10 * MEGABYTE);
		await othersGoOn();
	});

	test("headers a byte at a time", async () => {
		const sockets = Array.from({ length: 50 }, () => rawSocket());
		for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ");
		for (let i = 0; i < 20; i++) {
			for (const socket of sockets) socket.write("x");
			await othersGoOn();
		}
	});

	test("commands without end from a client that reads no answer", { tags: "slow" }, async () => {
		const before = await heldBytes();
		const socket = await upgraded();
		socket.pause();
		const frames = Buffer.concat(Array.from({ length: 2_000 }, () => masked('{"type":"x"}')));
		for (let i = 0; i < 50; i++) {
			socket.write(frames);
			await othersGoOn();
		}
		expect((await heldBytes()) - before).toBeLessThan(40 * MEGABYTE);
	});

	test("very long texts in valid frames", { tags: "slow" }, async () => {
		const before = await heldBytes();
		const client = await connectClient(url);
		for (let i = 0; i < 10; i++) {
			client.socket.send(`{"type":"list_sessions","id":"${"x".repeat(9 * MEGABYTE)}"}`);
		}
		await until(() => client.received.filter(isAnyResponse).length === 10);
		for (const message of client.received.filter(isAnyResponse)) {
			expect(message.success).toBe(false);
			expect(JSON.stringify(message).length).toBeLessThan(2_000);
		}
		await othersGoOn();
		expect((await heldBytes()) - before).toBeLessThan(40 * MEGABYTE);
	});
});

async function othersGoOn(): Promise<void> {
	const id = `honest${++asked}`;
	honest.socket.send(`{"type":"list_sessions","id":"${id}"}`);
	expect(await honest.next(isResponse(id))).toMatchObject({ success: true });
	honest.received.length = 0;
}

async function stillAnswers(client: TestClient): Promise<void> {
	client.socket.send('{"type":"list_sessions","id":"still"}');
	expect(await client.next(isResponse("still"))).toMatchObject({ success: true });
	await othersGoOn();
}

async function heldBytes(): Promise<number> {
	return (await holdings()).heldBytes;
}

function rawSocket(): Socket {
	const socket = connect(port, "127.0.0.1");
	socket.on("error", () => {});
	atEnd(() => socket.destroy());
	return socket;
}

/** A WebSocket whose frames we write ourselves. */
async function upgraded(): Promise<Socket> {
	const socket = rawSocket();
	socket.write(
		[
			"GET / HTTP/1.1",
			`Host: 127.0.0.1:${port}`,
			"Connection: Upgrade",
			"Upgrade: websocket",
			"Sec-WebSocket-Version: 13",
			`Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
			"\r\n",
		].join("\r\n"),
	);
	const head = await new Promise((resolve) => socket.once("data", resolve));
	expect(String(head)).toContain("101 Switching Protocols");
	return socket;
}

function masked(text: string): Buffer {
	const payload = Buffer.from(text);
	return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

type Answer = Extract<Data<"ServerMessage">, { type: "response" }>;

function isAnyResponse(message: Data<"ServerMessage">): message is Answer {
	return message.type === "response";
}

function isResponse(id: string) {
	return (message: Data<"ServerMessage">): message is Answer =>
		isAnyResponse(message) && message.id === id;
}

async function until(isTrue: () => boolean): Promise<void> {
	while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 2));
}
