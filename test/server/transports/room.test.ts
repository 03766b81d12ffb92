import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Response } from "../../../src/protocol/index.ts";
import { Message, WrittenData } from "../../../src/server/engine/message.ts";
import { responseMessage, writtenOutcome } from "../../../src/server/engine/outcome.ts";
import { DEFAULT_LIMITS } from "../../../src/server/limits.ts";
import { Connections } from "../../../src/server/transports/connections.ts";
import { openLineConnection } from "../../../src/server/transports/line-transports.ts";
import { textFrame } from "../../../src/server/transports/websocket.ts";

const limits = { ...DEFAULT_LIMITS, hardQueueBytes: 10_000, maxQueueBytesInAll: 100_000 };
const engine = { connect() {}, receive() {}, whenAnswered: async () => undefined, disconnect() {} };

/** Connections whose other side takes nothing until it is told to. */
function setUp() {
	const connections = new Connections({ engine, limits });
	onTestFinished(() => connections.close(0));
	return {
		connections,
		open(principal: string) {
			const held: (() => void)[] = [];
			let closed: string | undefined;
			const connection = connections.open(principal, {
				encode: textFrame,
				write: (_parts, done) => void held.push(done),
				pause() {},
				close(_cause, why) {
					closed = why;
				},
				terminate() {},
			});
			return {
				client: connection,
				gone: () => connection.end(),
				closed: () => closed,
				async send(bytes: number) {
					connection.send(filler(bytes));
					await turn();
				},
				/** The other side takes what was written so far. */
				async take() {
					for (const done of held.splice(0)) done();
					await turn();
				},
			};
		},
	};
}

describe("a connection", () => {
	test("has room for answers until much waits, and again when half of that has left", async () => {
		const { open } = setUp();
		const one = open("ann");
		await one.send(9_000);
		expect(one.client.hasRoom).toBe(true);
		await one.send(2_000);
		expect(one.client.hasRoom).toBe(false);
		let told = false;
		const waiting = one.client.whenRoom?.().then(() => {
			told = true;
		});
		await turn();
		expect(told).toBe(false);
		await one.take();
		await waiting;
		expect(one.client.hasRoom).toBe(true);
	});

	test("that is gone has room: what waits for it may end", async () => {
		const { open } = setUp();
		const one = open("ann");
		await one.send(20_000);
		const waiting = one.client.whenRoom?.();
		one.gone();
		await waiting;
		expect(one.client.hasRoom).toBe(true);
	});
});

describe("the connections of a principal", () => {
	test("have room for half of what may wait in all, which leaves room for others, and are not closed", async () => {
		const { open } = setUp();
		const own = Array.from({ length: 30 }, () => open("ann"));
		let filled = 0;
		for (const one of own) {
			if (!one.client.hasRoom) continue;
			await one.send(9_000);
			filled++;
		}
		expect(filled).toBe(6);
		const other = open("bob");
		expect(other.client.hasRoom).toBe(true);
		await other.send(9_000);
		expect(own.map((one) => one.closed())).toEqual(own.map(() => undefined));

		let told = 0;
		const idle = own.at(-1);
		const waiting = idle?.client.whenRoom?.().then(() => told++);
		await turn();
		expect(told).toBe(0);
		await own[0]?.take();
		await own[1]?.take();
		await waiting;
		expect(idle?.client.hasRoom).toBe(true);
	});

	test("have room when others hold everything, if they hold nothing", async () => {
		const { open } = setUp();
		for (let n = 0; n < 11; n++) await open("ann").send(9_000);
		const other = open("bob");
		expect(other.client.hasRoom).toBe(true);
	});
});

describe("data that was written before", () => {
	const data = { text: "é".repeat(20_000) };
	const written = new WrittenData(JSON.stringify(data));
	const done: Response = { type: "response", command: "get_messages", success: true };
	const shared = () => responseMessage(writtenOutcome(done, written, data), "m");
	const plain = () => new Message({ id: "m", ...done, data });

	test("goes out over WebSockets as the same bytes for all, and as any other message", () => {
		const parts = textFrame(shared());
		const again = textFrame(shared());
		expect(parts[1]).toBe(again[1]);
		expect(Buffer.concat(parts).equals(Buffer.concat(textFrame(plain())))).toBe(true);
		expect(shared().json()).toBe(plain().json());
	});

	test("goes out over lines as any other message, in order", async () => {
		const { connections } = setUp();
		const output = new PassThrough({ encoding: "utf8" });
		let client: { send(message: Message): void } | undefined;
		openLineConnection({
			input: new PassThrough(),
			output,
			connections: {
				open(principal, peer) {
					const connection = connections.open(principal, peer);
					client = connection;
					return connection;
				},
			},
			maxFrameBytes: 1_000,
			outlivesInput: true,
			onEnd() {},
			hangUp() {},
		});
		client?.send(filler(10));
		client?.send(shared());
		client?.send(filler(20));
		let text = "";
		for await (const chunk of output) {
			text += chunk;
			if (text.split("\n").length === 4) break;
		}
		expect(text).toBe([filler(10), plain(), filler(20)].map((one) => `${one.json()}\n`).join(""));
	});
});

function filler(bytes: number): Message {
	return new Message({ type: "response", command: "x".repeat(bytes), success: true });
}

function turn(): Promise<void> {
	return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
