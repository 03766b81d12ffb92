import { chmod, lstat, mkdir, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { type Readable, Writable } from "node:stream";
import { describeError, errnoOf } from "../../core/errno.ts";
import type { Message } from "../engine/message.ts";
import type { Connections } from "./connections.ts";
import { writeParts } from "./outbox.ts";
import type { Encoded } from "./outbox-queue.ts";

/** Input and output of one client. */
export interface Stdio {
	input: Readable;
	output: Writable;
}

export interface StdioOptions extends Stdio {
	connections: Connections;
	maxFrameBytes: number;
	/** The client is gone, or its input has ended. */
	onEnd(): void;
}

/** Serves the process that started this one. */
export function serveStdio(options: StdioOptions): void {
	openLineConnection({
		...options,
		outlivesInput: true,
		hangUp: () => void options.input.destroy(),
	});
}

/**
 * Takes standard output for the protocol: what else prints there from now on (`console.log` of an extension) goes to
 * standard error. The returned stream reports a reader that goes away.
 */
export function claimStdio(): Stdio {
	const { stdin, stdout, stderr } = process;
	const write = stdout.write.bind(stdout);
	const output = new Writable({
		write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
		writev: (chunks, done) =>
			void write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
	});
	stdout.removeAllListeners("error");
	stdout.on("error", (error) => output.destroy(error));
	stdout.write = stderr.write.bind(stderr);
	return { input: stdin, output };
}

export interface UnixSocketTransport {
	stopListening(): void;
	close(): Promise<void>;
}

export interface UnixSocketOptions {
	path: string;
	/** Clients wait for it. */
	connections: Promise<Connections>;
	maxFrameBytes: number;
	maxConnections: number;
}

/** On macOS; Linux takes four bytes more. */
const MAX_PATH_BYTES = 103;

/** Listens on a socket that only its owner can open, the principal `local`. Replaces the socket of a dead process. */
export async function listenUnixSocket(options: UnixSocketOptions): Promise<UnixSocketTransport> {
	const { path, maxFrameBytes } = options;
	const bytes = Buffer.byteLength(path);
	if (bytes > MAX_PATH_BYTES) {
		throw new Error(
			`the path of a socket may have ${MAX_PATH_BYTES} bytes, ${path} has ${bytes}; choose a shorter one`,
		);
	}
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	await removeStale(path);
	const open = new Set<Socket>();
	// A client may end its input and still wait for answers.
	const server = createServer({ allowHalfOpen: true }, (socket) => {
		open.add(socket);
		socket.on("close", () => open.delete(socket));
		socket.on("error", () => socket.destroy());
		void options.connections.then(
			(connections) => {
				if (socket.destroyed) return;
				if (connections.refusal("local") !== undefined) {
					socket.destroy();
					return;
				}
				openLineConnection({
					input: socket,
					output: socket,
					connections,
					maxFrameBytes,
					outlivesInput: false,
					onEnd() {},
					hangUp: () => void socket.destroySoon(),
				});
			},
			() => socket.destroy(),
		);
	});
	server.maxConnections = options.maxConnections;
	await listen(server, path);
	await chmod(path, 0o600);
	return {
		stopListening: () => void server.close(),
		async close() {
			const closed = new Promise<void>((resolve) => {
				server.close(() => resolve());
			});
			for (const socket of open) socket.destroy();
			await closed;
		},
	};
}

async function removeStale(path: string): Promise<void> {
	const stats = await lstat(path).catch(() => undefined); // listening will say what is wrong
	if (!stats) return;
	if (!stats.isSocket()) {
		throw new Error(`${path} is there and is no socket; choose another path or remove it`);
	}
	if (await isAlive(path)) {
		throw new Error(`somebody listens on ${path} already; stop that server or choose another path`);
	}
	await unlink(path);
}

function isAlive(path: string): Promise<boolean> {
	return new Promise((resolve, reject) => {
		const probe = connect(path);
		probe.once("connect", () => {
			probe.destroy();
			resolve(true);
		});
		probe.once("error", (error) => {
			const isDead = errnoOf(error) === "ECONNREFUSED" || errnoOf(error) === "ENOENT";
			if (isDead) resolve(false);
			else reject(new Error(`cannot use ${path}: ${error.message}`, { cause: error }));
		});
	});
}

function listen(server: Server, path: string): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", (error) => {
			reject(new Error(`cannot listen on ${path}: ${describeError(error)}`, { cause: error }));
		});
		// The file is made within this call, and must never be open to others, not even until chmod.
		const before = process.umask(0o177);
		try {
			server.listen(path, resolve);
		} finally {
			process.umask(before);
		}
	});
}

export interface LineConnectionOptions extends Stdio {
	connections: Connections;
	maxFrameBytes: number;
	/** Whether the client still wants answers when its input has ended. */
	outlivesInput: boolean;
	/** The input, or the connection as a whole, has ended. May be called for both. */
	onEnd(): void;
	/** Ends the connection after its output is sent. */
	hangUp(): void;
}

/** A client of the same user, the principal `local`, that sends and gets one JSON object a line. */
export function openLineConnection(options: LineConnectionOptions): void {
	const { input, output, connections, maxFrameBytes, onEnd, hangUp } = options;
	const splitter = createLineSplitter(maxFrameBytes);
	let isOver = false;
	const end = () => {
		over();
		hangUp();
	};
	const connection = connections.open("local", {
		encode: line,
		write(parts, done) {
			if (output.writable) writeParts(output, parts, done);
		},
		pause(isPaused) {
			if (isPaused) input.pause();
			else input.resume();
		},
		close: end,
		cut: end,
	});

	function receive(lines: Line[]): void {
		for (const found of lines) {
			if (found.kind === "line") connection.receive(found.bytes);
			else connection.refuseTooLarge();
		}
	}

	function over(): void {
		if (isOver) return;
		isOver = true;
		connection.end();
		onEnd();
	}

	const inputOver = options.outlivesInput ? onEnd : over;
	input.on("data", (chunk: Buffer) => {
		if (isOver) return;
		receive(splitter.push(chunk));
		connection.holds(splitter.held);
	});
	input.on("end", () => {
		receive(splitter.end());
		if (options.outlivesInput) onEnd();
		else void connection.settled().then(hangUp);
	});
	input.on("error", inputOver);
	input.on("close", inputOver);
	output.on("error", over);
	output.on("close", over);
}

const END = Buffer.from("}\n");

function line(message: Message): Encoded {
	const { shared } = message;
	if (shared === undefined) return [Buffer.from(`${message.json()}\n`)];
	return [Buffer.from(shared.head), shared.written.bytes, END];
}

/** A line without its end, or one that was too long to keep. */
export type Line = { kind: "line"; bytes: Uint8Array } | { kind: "too_long" };

/** Cuts a stream of bytes into lines. */
export interface LineSplitter {
	/** The lines that end in this chunk. */
	push(chunk: Uint8Array): Line[];
	/** The stream is over: what came after the last line feed. */
	end(): Line[];
	/** Bytes of the unfinished line. */
	readonly held: number;
}

const LF = 10;
const CR = 13;

/**
 * Splits at LF only: U+2028 and U+2029 are ordinary characters of JSON strings. A CR before the LF and empty lines are
 * dropped. A line of more than `maxBytes` is reported once, as soon as it is that long, and the rest of it is skipped.
 */
export function createLineSplitter(maxBytes: number): LineSplitter {
	// One buffer that doubles: a sender of single bytes must not make us keep an object for each.
	let buffer = Buffer.alloc(0);
	let held = 0;
	let isSkipping = false;

	function add(part: Uint8Array, found: Line[]): void {
		if (isSkipping || part.length === 0) return;
		// One more for the CR that does not count.
		if (held + part.length > maxBytes + 1) {
			isSkipping = true;
			clear();
			found.push({ kind: "too_long" });
			return;
		}
		if (held + part.length > buffer.length) {
			const larger = Buffer.alloc(Math.max(held + part.length, 2 * buffer.length));
			buffer.copy(larger, 0, 0, held);
			buffer = larger;
		}
		buffer.set(part, held);
		held += part.length;
	}

	function finish(found: Line[]): Line[] {
		const end = buffer[held - 1] === CR ? held - 1 : held;
		if (end > maxBytes) found.push({ kind: "too_long" });
		else if (end > 0) found.push({ kind: "line", bytes: buffer.subarray(0, end) });
		clear();
		isSkipping = false;
		return found;
	}

	/** The next line gets a new buffer: the last one belongs to the receiver of the line. */
	function clear(): void {
		buffer = Buffer.alloc(0);
		held = 0;
	}

	return {
		push(chunk) {
			const found: Line[] = [];
			let start = 0;
			for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
				add(chunk.subarray(start, end), found);
				finish(found);
				start = end + 1;
			}
			add(chunk.subarray(start), found);
			return found;
		},
		end: () => finish([]),
		get held() {
			return buffer.length;
		},
	};
}
