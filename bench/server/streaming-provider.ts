import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A provider that speaks Anthropic's messages API and answers everything with the same number of short deltas. */
export async function startStreamingProvider(
	deltas: number,
): Promise<{ url: string; close(): void }> {
	const body = streamOf(deltas);
	const server = createServer((request, response) => {
		request.resume();
		request.on("end", () => {
			response.writeHead(200, { "content-type": "text/event-stream" });
			response.end(body);
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		close() {
			server.close();
			server.closeAllConnections();
		},
	};
}

function streamOf(deltas: number): string {
	const usage = { input_tokens: 10, output_tokens: 1 };
	const message = {
		id: "m",
		type: "message",
		role: "assistant",
		model: "bench",
		content: [],
		usage,
	};
	const delta = (index: number) => ({ type: "text_delta", text: ` word${index}` });
	return [
		{ type: "message_start", message },
		{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
		...Array.from({ length: deltas }, (_, index) => ({
			type: "content_block_delta",
			index: 0,
			delta: delta(index),
		})),
		{ type: "content_block_stop", index: 0 },
		{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: deltas } },
		{ type: "message_stop" },
	]
		.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
		.join("");
}
