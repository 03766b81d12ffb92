// Loses its connection again and again while a session works, and still sees every event once and in order.
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
	// Sent again under the same id after every loss, and carried out once.
	await client.request("prompt", { sessionId, message: "Count from one to twenty in words." });
	let last = 0;
	for await (const frame of stream) {
		if (frame.type !== "event" || frame.seq === undefined) continue;
		// A server may send several deltas as one to a client that lags: `fromSeq` is the first of them.
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
 * Hangs up after every seventh message.
 *
 * @param {import("./client.js").Transport} transport
 * @returns {import("./client.js").Transport}
 */
function unsteady({ open }) {
	return {
		async open(listener) {
			let messages = 0;
			const wire = await open({
				...listener,
				message(text) {
					listener.message(text);
					if (++messages === 7) wire.close();
				},
			});
			return wire;
		},
	};
}
