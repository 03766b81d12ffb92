// Two clients share a session: both see its events, and of two concurrent changes one is refused.
//
//   npx node examples/two-clients.js 'http://127.0.0.1:3141/#token=…'

import { ClientError, createClient } from "./client.js";

const [address] = process.argv.slice(2);
if (address === undefined) {
	console.error("usage: node examples/two-clients.js <address of the server>");
	process.exit(2);
}

const ann = createClient({ url: address });
const bob = createClient({ url: address });

try {
	const opened = await ann.request("create_session");
	const { sessionId } = opened.data;
	const ifSessionVersion = opened.sessionVersion ?? 0;
	const seen = bob.stream(sessionId, { after: 0 });

	// Both have read the same version. The server accepts one change and rejects the other with `version_mismatch`.
	const outcomes = await Promise.allSettled([
		ann.request("set_session_name", { sessionId, name: "Ann's" }, { ifSessionVersion }),
		bob.request("set_session_name", { sessionId, name: "Bob's" }, { ifSessionVersion }),
	]);
	for (const outcome of outcomes) {
		if (outcome.status === "fulfilled") {
			console.log(`taken: the session is at version ${outcome.value.sessionVersion}`);
		} else if (outcome.reason instanceof ClientError) {
			console.log(`refused (${outcome.reason.code}): ${outcome.reason.message}`);
		}
	}

	// Each client sees the other's changes.
	const { data: state } = await bob.request("get_state", { sessionId });
	console.log(`Bob sees the name ${JSON.stringify(state.sessionName)}`);
	for await (const frame of seen) {
		// A pending dialog is repeated to every new subscriber, without a number.
		if (frame.type !== "event" || frame.seq === undefined) continue;
		console.log(`Bob sees event ${frame.seq}: ${frame.event.type}`);
		if (frame.event.type === "session_info_changed") break;
	}
	await ann.request("delete_session", { sessionId });
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	ann.close();
	bob.close();
}
