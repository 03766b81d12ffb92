/**
 * A client of the pi-strata server, for browsers and Node; it loads no other package. The client keeps one
 * connection. If the connection is lost, it reconnects with backoff and jitter. It resends unanswered
 * commands under their ids, so that each runs once, and resumes streams without gaps or duplicates. A
 * command that fails rejects with a `ClientError`, which has a stable `code`.
 *
 * @example
 * Sends a prompt to a server and prints the answer as it streams. The argument is the address that
 * `strata serve` prints.
 * ```ts
 * import { ClientError, createClient } from "pi-strata/client";
 *
 * const client = createClient({ url: process.argv[2] ?? "http://127.0.0.1:3141/" });
 * try {
 * 	const { data } = await client.request("create_session");
 * 	const { sessionId } = data;
 * 	const stream = client.stream(sessionId, { after: 0 });
 * 	await client.request("prompt", { sessionId, message: "What is in this folder?" });
 * 	for await (const frame of stream) {
 * 		if (frame.type !== "event") continue;
 * 		const { event } = frame;
 * 		if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
 * 			process.stdout.write(event.assistantMessageEvent.delta);
 * 		}
 * 		if (event.type === "agent_settled") break;
 * 	}
 * 	await client.request("delete_session", { sessionId });
 * } catch (error) {
 * 	if (!(error instanceof ClientError)) throw error;
 * 	console.error(`${error.code}: ${error.message}`);
 * 	process.exitCode = 1;
 * } finally {
 * 	client.close();
 * }
 * ```
 */
export {
	CannotConnect,
	type Client,
	ClientError,
	type ClientOptions,
	type ClientState,
	type CommandOptions,
	type Connection,
	type ConnectionListener,
	createClient,
	type StreamFrame,
	type SubscribeOptions,
	type Subscription,
	type SuccessResponse,
	type Transport,
	webSocketTransport,
} from "../protocol/client.ts";
