/** A provider in a process of its own: it reads each request, then answers as its path says. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { WebSocketServer } from "ws";

const FILLER = "x".repeat(120);

const server = createServer(async (request, response) => {
	request.resume();
	await once(request, "end");
	const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
	if (pathname === "/plain" || pathname === "/v1/messages") {
		response.end("ok");
		return;
	}
	response.writeHead(200, { "content-type": "text/event-stream" });
	const everyMs = Number(searchParams.get("everyMs"));
	for (let left = Number(searchParams.get("events")); left > 0; left--) {
		await send(response);
		if (everyMs > 0) await setTimeout(everyMs);
	}
	response.end();
});

/** An event with the time at which it was sent: the clock is the same for all processes. */
async function send(response: ServerResponse): Promise<void> {
	const event = `data: {"sent":${process.hrtime.bigint()},"text":"${FILLER}"}\n\n`;
	if (!response.write(event)) await once(response, "drain");
}

// A WebSocket answers each message with one long frame and the end.
new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket, { url }) => {
	const { searchParams } = new URL(url ?? "/", "http://localhost");
	const text = '\\"'.repeat(Number(searchParams.get("bytes")) / 2);
	socket.on("message", () => {
		socket.send(`{"type":"response.output_item.done","text":"${text}"}`);
		socket.send('{"type":"response.completed"}');
	});
});

server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
