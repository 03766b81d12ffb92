// Lists the sessions of a server on a Unix socket. The same transport works for a server in a child process, with its
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
 * One JSON object per line. Only a line feed ends a line: U+2028 may occur inside a frame.
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
				socket.on("error", reject); // no effect once open; `close` follows
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
