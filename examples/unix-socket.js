// Lists the sessions of a server on a Unix socket. The same transport does for a server that is a child process, with its
// stdout and stdin in place of the socket.
//
//   npx node examples/unix-socket.js ./strata.sock

import { createConnection } from "node:net";
import { createClient } from "./client.js";

const [path] = process.argv.slice(2);
if (path === undefined) {
	console.error("usage: node examples/unix-socket.js <path of the server's socket>");
	process.exit(2);
}

const client = createClient({ transport: socketTransport(path) });
client.onState((state) => {
	if (state.name === "waiting") console.error(`[${state.why}]`);
});
try {
	const { data } = await client.request("list_sessions", {}, { timeoutMs: 10_000 });
	for (const session of data.sessions) console.log(session.sessionId, session.cwd);
	console.log(`${data.sessions.length} sessions`);
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	client.close();
}

/**
 * One JSON object a line. Lines end with a line feed and nothing else: U+2028 may stand inside a frame.
 *
 * @param {string} socketPath
 * @returns {import("./client.js").Transport}
 */
function socketTransport(socketPath) {
	return {
		open: (listener) =>
			new Promise((resolve, reject) => {
				const socket = createConnection(socketPath).setEncoding("utf8");
				let rest = "";
				socket.on("data", (/** @type {string} */ chunk) => {
					const lines = (rest + chunk).split("\n");
					rest = lines.pop() ?? "";
					for (const line of lines) listener.message(line);
				});
				socket.on("error", reject); // of no effect once it is open; `close` follows
				socket.on("close", () => listener.closed({}));
				socket.on("connect", () =>
					resolve({
						send: (text) => socket.write(`${text}\n`),
						close: () => socket.destroy(),
					}),
				);
			}),
	};
}
