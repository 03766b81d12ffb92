import { chmod, lstat, mkdir, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { describeError, errnoOf } from "../../core/errno.ts";
import type { Connections } from "./connections.ts";
import { openLineConnection } from "./line-connection.ts";

export interface UnixSocketTransport {
	stopListening(): void;
	close(): Promise<void>;
}

export interface UnixSocketOptions {
	path: string;
	/** Clients wait until the server is ready to have connections. */
	connections: Promise<Connections>;
	maxFrameBytes: number;
	maxConnections: number;
}

/** What the address of a Unix socket can hold, on macOS; Linux takes four bytes more. */
const MAX_PATH_BYTES = 103;

/**
 * Listens on a socket that only its owner can open, who is the principal `local`. A socket that a dead process left
 * behind is replaced; one that somebody listens on is an error.
 */
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
	// A client may have said all it has to say and still wait for the answers.
	const server = createServer({ allowHalfOpen: true }, (socket) => {
		open.add(socket);
		socket.on("close", () => open.delete(socket));
		socket.on("error", () => socket.destroy());
		void options.connections.then(
			(connections) => {
				if (socket.destroyed) return;
				if (!connections.admit("local").ok) {
					socket.destroy();
					return;
				}
				openLineConnection({
					input: socket,
					output: socket,
					principal: "local",
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
