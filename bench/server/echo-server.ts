/** The baseline, run as a process of its own: a plain `ws` server that parses each message and sends it back. */
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
server.on("connection", (socket) => {
	socket.on("message", (data) => socket.send(JSON.stringify(JSON.parse(String(data)))));
});
server.on("listening", () => {
	console.log(JSON.stringify({ type: "ready", port: (server.address() as AddressInfo).port }));
});
