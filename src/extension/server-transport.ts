import { createConnection } from "node:net";
import type { ServerAddress } from "../core/server-address.ts";
import { loadTokens } from "../core/token-file.ts";
import type { Connection, ConnectionListener, Transport } from "../protocol/client.ts";

const SUBPROTOCOL = "strata.v1";

/** Opens connections that `signal` ends at once, in any state: pi must not wait for a server that does not answer. */
export function endableTransport(address: ServerAddress, signal: AbortSignal): Transport {
	const { url, socket } = address;
	return {
		async open(listener) {
			signal.throwIfAborted();
			if (url !== undefined) return await openWebSocket(address, url, listener, signal);
			if (socket !== undefined) return await openSocket(socket, listener, signal);
			throw new Error("the server has neither a port nor a socket");
		},
	};
}

async function openWebSocket(
	{ tokenFile }: ServerAddress,
	url: string,
	listener: ConnectionListener,
	signal: AbortSignal,
): Promise<Connection> {
	const token = tokenFile === undefined ? undefined : (await loadTokens(tokenFile)).first.token;
	const { WebSocket } = await import("ws");
	signal.throwIfAborted();
	const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
	// Node's own WebSocket cannot be ended while it connects.
	const socket = new WebSocket(url.replace(/^http/, "ws"), SUBPROTOCOL, { headers });
	const end = () => socket.terminate();
	signal.addEventListener("abort", end, { once: true });
	return await new Promise((resolve, reject) => {
		socket.on("error", reject); // no effect once open; `close` follows
		socket.on("close", (code, reason) => listener.closed({ code, reason: String(reason) }));
		socket.on("message", (data) => listener.message(String(data)));
		socket.on("open", () => resolve({ send: (text) => socket.send(text), close: end }));
	});
}

/** One JSON object per line. */
function openSocket(
	path: string,
	listener: ConnectionListener,
	signal: AbortSignal,
): Promise<Connection> {
	const socket = createConnection(path).setEncoding("utf8");
	const end = () => void socket.destroy();
	signal.addEventListener("abort", end, { once: true });
	let rest = "";
	socket.on("data", (chunk: unknown) => {
		const lines = (rest + String(chunk)).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) listener.message(line);
	});
	return new Promise((resolve, reject) => {
		socket.on("error", reject);
		socket.on("close", () => listener.closed({}));
		socket.on("connect", () => {
			resolve({ send: (text) => void socket.write(`${text}\n`), close: end });
		});
	});
}
