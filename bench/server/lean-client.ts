import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/** A WebSocket client that does as little as possible, so that the server is measured. */
export interface LeanClient {
	/** Sends texts of up to 65,535 bytes, all in one write. */
	send(texts: readonly string[]): void;
	close(): void;
}

/** A message: the bytes from `start` to `end`. They are valid only during the call. */
export type OnMessage = (bytes: Buffer, start: number, end: number) => void;

/** Connects. `onBatch` is called after the messages of one read, when it is time to send in return. */
export async function connectLean(
	port: number,
	{ onMessage, onBatch }: { onMessage: OnMessage; onBatch?: () => void },
): Promise<LeanClient> {
	const socket = connect(port, "127.0.0.1");
	socket.setNoDelay(true);
	const rest = await upgrade(socket, port);
	let pending = rest;
	const take = (chunk: Buffer) => {
		const bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
		pending = bytes.subarray(eachMessage(bytes, onMessage));
		onBatch?.();
	};
	socket.on("data", take);
	if (rest.length > 0) {
		pending = Buffer.alloc(0);
		take(rest);
	}
	return {
		send: (texts) => void socket.write(Buffer.concat(texts.map(frameOf))),
		close: () => void socket.destroy(),
	};
}

/** Whether a message of the server is a response: its id comes first if it has one, else its type. */
export function isResponse(bytes: Buffer, start: number): boolean {
	if (bytes[start + 2] === 0x69) return true; // {"id"
	return bytes[start + TYPE_AT] === 0x72; // {"type":"response
}

/** Whether it is an event of a session, rather than the lifecycle of a command. */
export function isSessionEvent(bytes: Buffer, start: number): boolean {
	return bytes[start + TYPE_AT] === 0x65; // {"type":"event
}

/** Where the type is in `{"type":"…`. */
const TYPE_AT = 9;

/** Resolves with the bytes after the response head. */
function upgrade(socket: Socket, port: number): Promise<Buffer> {
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
	return new Promise((resolve, reject) => {
		let head = Buffer.alloc(0);
		const hear = (chunk: Buffer) => {
			head = Buffer.concat([head, chunk]);
			const end = head.indexOf("\r\n\r\n");
			if (end < 0) return;
			socket.off("data", hear);
			socket.off("error", reject);
			if (head.toString("latin1", 0, 12) === "HTTP/1.1 101") resolve(head.subarray(end + 4));
			else reject(new Error(`no WebSocket: ${head}`));
		};
		socket.on("data", hear);
		socket.once("error", reject);
	});
}

/** Calls back for each whole message. Returns where the rest begins. */
function eachMessage(bytes: Buffer, onMessage: OnMessage): number {
	let at = 0;
	for (;;) {
		if (at + 2 > bytes.length) return at;
		const short = (bytes[at + 1] as number) & 0x7f;
		const header = short < 126 ? 2 : short === 126 ? 4 : 10;
		if (at + header > bytes.length) return at;
		const length =
			short < 126
				? short
				: short === 126
					? bytes.readUInt16BE(at + 2)
					: Number(bytes.readBigUInt64BE(at + 2));
		const end = at + header + length;
		if (end > bytes.length) return at;
		const isText = ((bytes[at] as number) & 0x0f) === 1;
		if (isText) onMessage(bytes, at + header, end);
		at = end;
	}
}

/** Masked, as a client's frames must be, with a mask that changes nothing. */
function frameOf(text: string): Buffer {
	const length = Buffer.byteLength(text);
	const header = length < 126 ? 6 : 8;
	const frame = Buffer.alloc(header + length);
	frame[0] = 0x81;
	if (length < 126) {
		frame[1] = 0x80 | length;
	} else {
		frame[1] = 0x80 | 126;
		frame.writeUInt16BE(length, 2);
	}
	frame.write(text, header);
	return frame;
}
