import { once } from "node:events";
import { chmod, lstat, mkdir, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { type Readable, Writable } from "node:stream";
import { describeError, errnoOf } from "../../core/errno.ts";
import type { Message } from "../engine/message.ts";
import type { Connections } from "./connections.ts";
import { stoppable } from "./http.ts";
import { writeParts } from "./outbox.ts";
import type { Encoded } from "./outbox-queue.ts";

export interface Stdio {
	readonly input: Readable;
	readonly output: Writable;
}

type StdioOptions = Omit<LineConnectionOptions, "outlivesInput" | "hangUp">;

export function serveStdio(options: StdioOptions): void {
	const hangUp = () => void options.input.destroy();
	openLineConnection({ ...options, outlivesInput: true, hangUp });
}

/** Reserves stdout for the protocol. An extension's `console.log` then goes to stderr. */
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

interface UnixSocketOptions {
	readonly path: string;
	readonly connections: Promise<Connections>;
	readonly maxFrameBytes: number;
	readonly maxConnections: number;
}

/** Maximum length of a socket path on macOS. Linux allows four bytes more. */
const MAX_PATH_BYTES = 103;

/** Only the owner can use the socket, as principal `local`. Replaces a dead process's socket. */
export async function listenUnixSocket(options: UnixSocketOptions) {
	const { path, maxFrameBytes } = options;
	const bytes = Buffer.byteLength(path);
	if (bytes > MAX_PATH_BYTES) {
		throw new Error(
			`the socket path ${path} has ${bytes} bytes, the maximum is ${MAX_PATH_BYTES}; choose a shorter one`,
		);
	}
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	await removeStale(path);
	const open = new Set<Socket>();
	// A client may end its input and still wait for answers.
	const server = createServer({ allowHalfOpen: true }, async (socket) => {
		open.add(socket);
		socket.on("close", () => open.delete(socket));
		socket.on("error", () => socket.destroy());
		const connections = await options.connections.catch(() => undefined);
		if (socket.destroyed) return;
		if (!connections || connections.refusal("local") !== undefined) {
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
	});
	server.maxConnections = options.maxConnections;
	await listen(server, path);
	await chmod(path, 0o600);
	return stoppable(server, () => {
		for (const socket of open) socket.destroy();
	});
}

async function removeStale(path: string): Promise<void> {
	const stats = await lstat(path).catch(() => undefined); // `listen` reports the error
	if (!stats) return;
	if (!stats.isSocket()) {
		throw new Error(`${path} exists and is not a socket; choose another path or remove it`);
	}
	if (await isAlive(path)) {
		throw new Error(`another process listens on ${path}; stop it or choose another path`);
	}
	await unlink(path);
}

async function isAlive(path: string): Promise<boolean> {
	const probe = connect(path);
	try {
		await once(probe, "connect");
		return true;
	} catch (error) {
		if (errnoOf(error) === "ECONNREFUSED" || errnoOf(error) === "ENOENT") return false;
		throw new Error(`cannot use ${path}: ${describeError(error)}`, { cause: error });
	} finally {
		probe.destroy();
	}
}

function listen(server: Server, path: string): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", (error) => {
			reject(new Error(`cannot listen on ${path}: ${describeError(error)}`, { cause: error }));
		});
		// Other users must never have access, not even between `listen` and a later chmod.
		const before = process.umask(0o177);
		try {
			server.listen(path, resolve);
		} finally {
			process.umask(before);
		}
	});
}

interface LineConnectionOptions extends Stdio {
	readonly connections: Pick<Connections, "open">;
	readonly maxFrameBytes: number;
	readonly outlivesInput: boolean;
	/** Called when the input or the whole connection has ended, perhaps once for each. */
	onEnd(): void;
	hangUp(): void;
}

/** Serves a client of the same user, as principal `local`: one JSON object per line in both directions. */
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
		terminate: end,
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
		connection.holdUnfinished(splitter.held);
	});
	input.on("end", () => {
		receive(splitter.end());
		if (options.outlivesInput) onEnd();
		else void connection.whenAnswered().then(hangUp);
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

export type Line = { kind: "line"; bytes: Uint8Array } | { kind: "too_long" };

const LF = 10;
const CR = 13;

/** Splits at LF only, because JSON may contain U+2028. Drops empty lines. Reports an overlong line once. */
export function createLineSplitter(maxBytes: number) {
	// One buffer that doubles its size, so that single-byte chunks do not cost an object each.
	let buffer = Buffer.alloc(0);
	let held = 0;
	let isSkipping = false;

	function add(part: Uint8Array, found: Line[]): void {
		if (isSkipping || part.length === 0) return;
		// Allows one more byte for a CR, which does not count.
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

	/** The receiver of a line owns its buffer, so the next line gets a new one. */
	function clear(): void {
		buffer = Buffer.alloc(0);
		held = 0;
	}

	return {
		push(chunk: Uint8Array): Line[] {
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
		/** Returns the unfinished last line, if any. */
		end: () => finish([]),
		get held(): number {
			return buffer.length;
		},
	};
}
