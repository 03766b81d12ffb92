// Opens a session, sends one prompt, and prints the answer as it streams.
//
//   npx node examples/prompt-and-stream.js 'http://127.0.0.1:3141/#token=…' 'What is in this folder?'

import { createClient } from "./client.js";

const [address, message = "What is in this folder? Answer in two sentences."] =
	process.argv.slice(2);
if (address === undefined) {
	console.error("usage: node examples/prompt-and-stream.js <address of the server> [prompt]");
	process.exit(2);
}

const client = createClient({ url: address });
client.onState((state) => {
	if (state.name === "waiting")
		console.error(`[${state.why}; next attempt in ${state.retryMs} ms]`);
});

try {
	// Without `cwd`, it starts in the server's working directory, or in the sample project of the demo.
	const opened = await client.request("create_session");
	const { sessionId } = opened.data;
	// From the first event on, so that none is missed before the prompt is sent.
	const stream = client.stream(sessionId, { after: 0 });
	await client.request("prompt", { sessionId, message });
	for await (const frame of stream) {
		if (frame.type === "gap") console.error(`[events ${frame.fromSeq}–${frame.toSeq} are gone]`);
		if (frame.type !== "event") continue;
		const { event } = frame;
		if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
			process.stdout.write(event.assistantMessageEvent.delta);
		}
		if (event.type === "tool_execution_start") console.log(`\n[${event.toolName}]`);
		if (event.type === "agent_settled") break;
	}
	console.log();
	await client.request("delete_session", { sessionId });
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	client.close();
}
