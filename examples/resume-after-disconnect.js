// Loses its connection repeatedly during a run, and still sees every event once and in order.
//
//   npx node examples/resume-after-disconnect.js 'http://127.0.0.1:3141/#token=…'

import { createClient, webSocketTransport } from "./client.js";

const [address] = process.argv.slice(2);
if (address === undefined) {
	console.error("usage: node examples/resume-after-disconnect.js <address of the server>");
	process.exit(2);
}

const client = createClient({
	transport: unsteady(webSocketTransport(address)),
	firstRetryMs: 10,
	lastRetryMs: 50,
});
let connections = 0;
client.onState((state) => {
	if (state.name === "open") connections++;
});

try {
	const opened = await client.request("create_session");
	const { sessionId } = opened.data;
	const stream = client.stream(sessionId, { after: 0 });
	// Resent under the same id after every loss; it runs once.
	await client.request("prompt", { sessionId, message: "Count from one to twenty in words." });
	let last = 0;
	for await (const frame of stream) {
		if (frame.type !== "event" || frame.seq === undefined) continue;
		// The server may merge deltas for a slow client: `fromSeq` is the first of them.
		if ((frame.fromSeq ?? frame.seq) !== last + 1) console.log(`hole after ${last}`);
		last = frame.seq;
		if (frame.event.type === "agent_settled") break;
	}
	console.log(`${last} events without a hole, over ${connections} connections`);
	await client.request("delete_session", { sessionId });
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	client.close();
}

/**
 * Closes each connection after its seventh message.
 *
 * @param {import("./client.js").Transport} transport
 * @returns {import("./client.js").Transport}
 */
function unsteady({ open }) {
	return {
		async open(listener) {
			let messages = 0;
			const connection = await open({
				...listener,
				message(text) {
					listener.message(text);
					if (++messages === 7) connection.close();
				},
			});
			return connection;
		},
	};
}
