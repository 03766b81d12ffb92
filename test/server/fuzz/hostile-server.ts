import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { createClient } from "../../../src/protocol/client.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { atEnd } from "../../support/temp.ts";
import { INSPECTABLE, inspect, withoutInspector } from "../support/inspected-server.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";

/** A server under attack, and somebody who does nothing wrong and must not notice. */
export interface HostileServer {
	readonly process: ServeProcess;
	readonly url: string;
	readonly port: number;
	/** What the process holds, in bytes, without its garbage. */
	heldBytes(): Promise<number>;
	/** Round trips of the bystander so far. It goes on without pause. */
	readonly roundTrips: number;
	/** Resolves after the bystander's next round trip; rejects if one of them ever failed. */
	bystanderGoesOn(): Promise<void>;
	/** Stops it in order. Throws if it has complained about anything, or does not end well. */
	stop(): Promise<void>;
}

export async function startHostileServer(words: string[] = []): Promise<HostileServer> {
	const server = startServe(["--port", "0", "--auth", "none", "--json", ...words], {
		env: INSPECTABLE,
	});
	const { port = 0 } = await server.ready();
	const holdings = await inspect(server);
	const url = `ws://127.0.0.1:${port}`;
	const bystander = createClient({ url });
	let roundTrips = 0;
	let isOver = false;
	let next = Promise.withResolvers<void>();
	const going = goOn();

	async function goOn(): Promise<void> {
		while (!isOver) {
			await bystander.request("list_sessions", {}, { timeoutMs: PATIENCE_MS });
			roundTrips++;
			next.resolve();
			next = Promise.withResolvers();
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
	}
	going.catch(() => {}); // `bystanderGoesOn` and `stop` tell

	return {
		process: server,
		url,
		port,
		heldBytes: async () => (await holdings()).heldBytes,
		get roundTrips() {
			return roundTrips;
		},
		bystanderGoesOn: () => Promise.race([next.promise, going]),
		async stop() {
			isOver = true;
			await going;
			bystander.close();
			server.child.kill("SIGTERM");
			const { code } = await server.exited;
			const complaints = withoutInspector(server.err());
			if (code !== 0 || complaints !== "") {
				throw new Error(`the server ended with ${code}: ${complaints}`);
			}
		},
	};
}

/** A TCP connection that nobody minds breaking. */
export function rawSocket(port: number): Socket {
	const socket = connect(port, "127.0.0.1");
	socket.on("error", () => {}); // being cut off is what it is for
	atEnd(() => socket.destroy());
	return socket;
}

/** A WebSocket whose bytes are written by hand. What the server sends is read and dropped. */
export async function rawWebSocket(port: number): Promise<Socket> {
	const socket = rawSocket(port);
	const head = new Promise((resolve) => socket.once("data", resolve));
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
	if (!String(await head).includes(" 101 ")) throw new Error(`no WebSocket: ${await head}`);
	socket.resume();
	return socket;
}

/** A frame of a client, masked with zeros. `opcode`: 0 goes on, 1 text, 2 binary, 8 close, 9 ping. */
export function frameOf(
	payload: Uint8Array,
	{ opcode = 1, isLast = true }: { opcode?: number; isLast?: boolean } = {},
): Buffer {
	const { length } = payload;
	const first = (isLast ? 0x80 : 0) | opcode;
	const mask = [0, 0, 0, 0];
	const size =
		length < 126
			? [0x80 | length]
			: length < 65_536
				? [0x80 | 126, length >> 8, length & 0xff]
				: [
						0x80 | 127,
						0,
						0,
						0,
						0,
						length >>> 24,
						(length >> 16) & 255,
						(length >> 8) & 255,
						length & 255,
					];
	return Buffer.concat([Buffer.from([first, ...size, ...mask]), payload]);
}

/** Resolves when the other side has ended the connection. */
export function hungUp(socket: Socket): Promise<void> {
	return new Promise((resolve) => {
		if (socket.destroyed) resolve();
		else socket.once("close", () => resolve());
	});
}
