import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type {
	CommandType,
	ResponseData,
	ServerMessage,
	SessionEvent,
} from "../../../src/protocol/index.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/index.ts";
import { createPage } from "../../../src/server/transports/page.ts";

/** A frame that the page sent. */
export type Sent = Record<string, unknown> & { type: CommandType; id?: string };

/** What is answered to each command: data, a function that makes them, or an error to be told. */
export type Answers = {
	[Type in CommandType]?: ResponseData[Type] | Error | ((sent: Sent) => ResponseData[Type] | Error);
};

/** A server that serves the built page and answers from a table: every number it sends is known to the test. */
export interface ViewServer {
	url: string;
	/** May be changed while the page is open. */
	answers: Answers;
	/** Every command so far. */
	sent: Sent[];
	/** Tells all pages an event of the session. */
	say(sessionId: string, event: SessionEvent): void;
	close(): Promise<void>;
}

/** Serves the page that was built into `folder`. */
export async function startViewServer(folder: string, answers: Answers): Promise<ViewServer> {
	const page = createPage(folder);
	const http = createServer((request, response) => {
		void page(request, response).then((found) => {
			if (!found) response.writeHead(404).end();
		});
	});
	const sockets = new WebSocketServer({ server: http, handleProtocols: () => "strata.v1" });
	const sent: Sent[] = [];
	const table: Answers = answers;
	let seq = 0;
	sockets.on("connection", (socket: WebSocket) => {
		const tell = (message: ServerMessage) => socket.send(JSON.stringify(message));
		const data = { serverVersion: "0", protocolVersion: PROTOCOL_VERSION, transports: [] };
		tell({ type: "server_ready", data });
		socket.on("message", (text) => {
			const command = JSON.parse(String(text)) as Sent;
			sent.push(command);
			tell(responseTo(command, table));
		});
	});
	await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
	const { port } = http.address() as AddressInfo;

	return {
		url: `http://127.0.0.1:${port}/`,
		answers: table,
		sent,
		say(sessionId, event) {
			const frame = JSON.stringify({ type: "event", sessionId, seq: ++seq, event });
			for (const socket of sockets.clients) socket.send(frame);
		},
		async close() {
			for (const socket of sockets.clients) socket.terminate();
			http.closeAllConnections();
			await new Promise((resolve) => http.close(resolve));
		},
	};
}

function responseTo(command: Sent, answers: Answers): ServerMessage {
	const { type, id } = command;
	const given = answers[type];
	const data: unknown = typeof given === "function" ? given(command) : (given ?? {});
	const base = { type: "response" as const, command: type, ...(id !== undefined && { id }) };
	if (data instanceof Error) {
		return { ...base, success: false, error: data.message, code: "failed" };
	}
	return { ...base, success: true, data };
}
