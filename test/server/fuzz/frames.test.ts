import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { connectClient } from "../support/ws-client.ts";
import { sendSpoiledFrames } from "./frames-run.ts";
import {
	frameOf,
	type HostileServer,
	hungUp,
	rawWebSocket,
	startHostileServer,
} from "./hostile-server.ts";

const MEGABYTE = 2 ** 20;
const seed = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
let server: HostileServer;

beforeAll(async () => {
	server = await startHostileServer();
});
afterAll(() => server.stop());
afterEach(() => server.bystanderGoesOn());

test(`spoiled frames get one answer each, or a close for what is no text (seed ${seed})`, {
	tags: "slow",
}, async () => {
	const { answered, closed } = await sendSpoiledFrames(server, { seed, count: 600 });
	expect(answered).toBeGreaterThan(400);
	expect(closed).toBeGreaterThan(10);
});

describe("messages in fragments", () => {
	test("are one command, wherever they are cut", async () => {
		const client = await connectClient(server.url);
		const text = Buffer.from('{"type":"list_sessions","id":"é🙂"}');
		for (let at = 1; at < text.length; at++) {
			client.socket.send(text.subarray(0, at), { fin: false, binary: false });
			client.socket.send(text.subarray(at), { fin: true, binary: false });
		}
		for (const byte of text.subarray(0, -1)) {
			client.socket.send(Buffer.from([byte]), { fin: false, binary: false });
		}
		client.socket.send("}", { fin: true });
		const isAnswer = (message: { type: string }) => message.type === "response";
		while (client.received.filter(isAnswer).length < text.length) await pause();
		for (const message of client.received.filter(isAnswer)) {
			expect(message).toMatchObject({ success: true, id: "é🙂" });
		}
	});

	test("without end take no more memory than a message may have", { tags: "slow" }, async () => {
		const before = await server.heldBytes();
		const socket = await rawWebSocket(server.port);
		socket.write(frameOf(Buffer.from("{"), { isLast: false }));
		const piece = frameOf(Buffer.from(" "), { opcode: 0, isLast: false });
		const pieces = Buffer.concat(Array.from({ length: 10_000 }, () => piece));
		const isOver = hungUp(socket);
		let isOpen = true;
		void isOver.then(() => {
			isOpen = false;
		});
		while (isOpen) {
			if (!socket.write(pieces)) await Promise.race([drained(socket), isOver]);
			await pause();
		}
		expect((await server.heldBytes()) - before).toBeLessThan(30 * MEGABYTE);
	});

	test("of a message that becomes too long end the connection", async () => {
		const client = await connectClient(server.url);
		client.socket.on("error", () => {});
		const piece = Buffer.alloc(MEGABYTE, 0x20);
		for (let i = 0; i < 12; i++) client.socket.send(piece, { fin: false, binary: false });
		expect((await client.closed).code).toBe(1009);
	});
});

describe("what never ends", () => {
	test("frames that trickle in a byte at a time disturb nobody", { tags: "slow" }, async () => {
		const before = await server.heldBytes();
		const sockets = await Promise.all(Array.from({ length: 50 }, () => rawWebSocket(server.port)));
		const frame = frameOf(Buffer.from('{"type":"health_check","id":"slow"}'));
		for (const byte of frame.subarray(0, -1)) {
			for (const socket of sockets) socket.write(Buffer.from([byte]));
			await server.bystanderGoesOn();
		}
		expect((await server.heldBytes()) - before).toBeLessThan(20 * MEGABYTE);
		for (const socket of sockets) socket.destroy();
	});

	test("connections that come and vanish in the middle of everything leave nothing behind", {
		tags: "slow",
	}, async () => {
		const before = await server.heldBytes();
		for (let round = 0; round < 40; round++) {
			const sockets = await Promise.all(Array.from({ length: 5 }, () => rawWebSocket(server.port)));
			for (const [index, socket] of sockets.entries()) {
				const payload = Buffer.from('{"type":"list_sessions"}');
				const whole = index % 2 === 0 ? frameOf(payload) : randomBytes(60);
				socket.write(whole.subarray(0, (whole.length * (index + 1)) / 5));
				socket.destroy();
			}
		}
		await server.bystanderGoesOn();
		expect((await server.heldBytes()) - before).toBeLessThan(20 * MEGABYTE);
	});
});

function drained(socket: NodeJS.EventEmitter): Promise<void> {
	return new Promise((resolve) => socket.once("drain", () => resolve()));
}

function pause(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, 1));
}
