import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/** Connections that keep a server busy with reads. Answers are counted and thrown away: they are large. */
export interface ReadFlood {
	/** Responses so far, and bytes of everything. */
	answers(): number;
	bytes(): number;
	/** How many connections the server has closed. */
	cutOff(): number;
	/** Resolves when nothing is in flight any more; only without `keepsUp`. */
	readonly over: Promise<void>;
	close(): void;
}

export interface ReadFloodOptions {
	port: number;
	token: string;
	connections: number;
	/** Reads in flight on each. */
	depth: number;
	/** The text of a read; `number` is another each time. */
	read(number: number): string;
	/** Each answer is followed by another read. */
	keepsUp?: boolean;
	/** Connections that take a chunk, then nothing for so many milliseconds, and so on. */
	slow?: { connections: number; pauseMs: number };
	onAnswer?(): void;
}

export async function startReadFlood(options: ReadFloodOptions): Promise<ReadFlood> {
	const { connections, depth, read, keepsUp = false, slow } = options;
	const sockets: Socket[] = [];
	const over = Promise.withResolvers<void>();
	let number = 0;
	let answers = 0;
	let bytes = 0;
	let inFlight = 0;
	let cutOff = 0;
	let isClosed = false;

	function send(socket: Socket, count: number): void {
		inFlight += count;
		socket.write(Buffer.concat(Array.from({ length: count }, () => frameOf(read(number++)))));
	}

	function answered(socket: Socket): void {
		answers++;
		inFlight--;
		options.onAnswer?.();
		if (keepsUp) send(socket, 1);
		else if (inFlight === 0) over.resolve();
	}

	for (let index = 0; index < connections; index++) {
		const { socket, rest } = await upgrade(options.port, options.token);
		const take = createCounter(() => answered(socket));
		socket.on("data", (chunk: Buffer) => {
			bytes += chunk.length;
			take(chunk);
			if (!slow || index >= slow.connections) return;
			socket.pause();
			setTimeout(() => socket.resume(), slow.pauseMs);
		});
		socket.on("error", () => {}); // `close` follows
		socket.on("close", () => {
			if (isClosed) return;
			cutOff++;
			over.resolve();
		});
		take(rest);
		socket.resume();
		sockets.push(socket);
	}
	for (const socket of sockets) send(socket, depth);
	return {
		answers: () => answers,
		bytes: () => bytes,
		cutOff: () => cutOff,
		over: over.promise,
		close() {
			isClosed = true;
			for (const socket of sockets) socket.destroy();
		},
	};
}

/** Bytes of a message that tell whether it is a response: `{"id"` or `{"type":"response`. */
const TELLING = 10;

/** Takes chunks of WebSocket frames and calls for each response, without holding more than the beginning of a frame. */
function createCounter(onResponse: () => void): (chunk: Buffer) => void {
	let begun: Buffer = Buffer.alloc(0);
	/** What is still to come of the frame whose beginning was seen. */
	let left = 0;
	return (chunk) => {
		let at = 0;
		while (at < chunk.length) {
			if (left > 0) {
				const skipped = Math.min(left, chunk.length - at);
				left -= skipped;
				at += skipped;
				continue;
			}
			const head = Buffer.concat([begun, chunk.subarray(at, at + 10 + TELLING)]);
			const frame = frameAt(head);
			if (frame === undefined) {
				begun = head;
				return;
			}
			at -= begun.length;
			begun = Buffer.alloc(0);
			left = frame.header + frame.length;
			if (isResponse(head, frame.header)) onResponse();
		}
	};
}

function frameAt(head: Buffer): { header: number; length: number } | undefined {
	const short = (head[1] ?? 0) & 0x7f;
	const header = short < 126 ? 2 : short === 126 ? 4 : 10;
	if (head.length < header) return undefined;
	const length =
		short < 126 ? short : short === 126 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
	return head.length < header + Math.min(length, TELLING) ? undefined : { header, length };
}

function isResponse(bytes: Buffer, start: number): boolean {
	return bytes[start + 2] === 0x69 || bytes[start + 9] === 0x72;
}

async function upgrade(port: number, token: string): Promise<{ socket: Socket; rest: Buffer }> {
	const socket = connect(port, "127.0.0.1");
	socket.setNoDelay(true);
	socket.write(
		[
			"GET / HTTP/1.1",
			`Host: 127.0.0.1:${port}`,
			"Connection: Upgrade",
			"Upgrade: websocket",
			"Sec-WebSocket-Version: 13",
			`Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
			`Authorization: Bearer ${token}`,
			"\r\n",
		].join("\r\n"),
	);
	let head = Buffer.alloc(0);
	for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
		head = Buffer.concat([head, chunk]);
		const end = head.indexOf("\r\n\r\n");
		if (end < 0) continue;
		if (head.toString("latin1", 0, 12) !== "HTTP/1.1 101") throw new Error(`no WebSocket: ${head}`);
		return { socket, rest: head.subarray(end + 4) };
	}
	throw new Error("the connection ended before it was a WebSocket");
}

/** Masked, as a client's frames must be, with a mask that changes nothing. */
function frameOf(text: string): Buffer {
	const length = Buffer.byteLength(text);
	const header = length < 126 ? 6 : 8;
	const frame = Buffer.alloc(header + length);
	frame[0] = 0x81;
	frame[1] = 0x80 | Math.min(length, 126);
	if (header === 8) frame.writeUInt16BE(length, 2);
	frame.write(text, header);
	return frame;
}
