import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";
import type { CommandType, Data, ResponseData } from "../../../src/protocol/index.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/index.ts";
import { createPage } from "../../../src/server/transports/page.ts";

/** A frame that the page sent. */
export type Sent = Record<string, unknown> & { type: CommandType; id?: string };

/** The answer to each command: data, a function that returns them, at once or later, or an error. */
export type Answers = {
	[Type in CommandType]?: Given<ResponseData[Type]> | ((sent: Sent) => Later<ResponseData[Type]>);
};
type Given<Data> = Data | Error;
type Later<Data> = Given<Data> | Promise<Given<Data>>;

/** A server that serves the built page and answers from a table: every number it sends is known to the test. */
export interface ViewServer {
	url: string;
	/** May be changed while the page is open. */
	answers: Answers;
	/** Every command so far. */
	sent: Sent[];
	/** Sends an event of the session to all pages. */
	say(sessionId: string, event: Data<"SessionEvent">): void;
	/** Sends an event of the server to all pages. */
	announce(message: Data<"ServerMessage">): void;
	/** Closes all connections, as a restart does. Pages may reconnect. */
	drop(): void;
	/** Refuses all clients, as after a change of the token. */
	refuse(): void;
	close(): Promise<void>;
}

/** Serves the page that was built into `folder`. */
export async function startViewServer(folder: string, answers: Answers): Promise<ViewServer> {
	const page = createPage(folder);
	const sent: Sent[] = [];
	const table: Answers = answers;
	/** As if the file were the content of a `replay_session`. */
	const answerUpload = async (request: IncomingMessage, response: ServerResponse) => {
		const command: Sent = { type: "replay_session", content: await text(request) };
		sent.push(command);
		response.end(JSON.stringify(await responseTo(command, table)));
	};
	const http = createServer((request, response) => {
		if (request.method === "POST") return void answerUpload(request, response);
		void page(request, response).then(
			(found) => {
				if (!found) response.writeHead(404).end();
			},
			() => response.destroy(), // a reloaded page does not read the rest
		);
	});
	const sockets = new WebSocketServer({ server: http, handleProtocols: () => "strata.v1" });
	let seq = 0;
	let isRefusing = false;
	const dismiss = (socket: WebSocket) => socket.close(1008, "the token is not valid");
	sockets.on("connection", (socket: WebSocket) => {
		if (isRefusing) return dismiss(socket);
		const tell = (message: Data<"ServerMessage">) => socket.send(JSON.stringify(message));
		const data = { serverVersion: "0", protocolVersion: PROTOCOL_VERSION, transports: [] };
		tell({ type: "server_ready", data });
		socket.on("message", (frame) => {
			const command = JSON.parse(String(frame)) as Sent;
			sent.push(command);
			void responseTo(command, table).then(tell);
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
		announce(message) {
			for (const socket of sockets.clients) socket.send(JSON.stringify(message));
		},
		drop() {
			for (const socket of sockets.clients) socket.terminate();
		},
		refuse() {
			isRefusing = true;
			for (const socket of sockets.clients) dismiss(socket);
		},
		async close() {
			for (const socket of sockets.clients) socket.terminate();
			http.closeAllConnections();
			await new Promise((resolve) => http.close(resolve));
		},
	};
}

async function responseTo(command: Sent, answers: Answers): Promise<Data<"ServerMessage">> {
	const { type, id } = command;
	const given = answers[type];
	const data: unknown = typeof given === "function" ? await given(command) : (given ?? {});
	const base = { type: "response" as const, command: type, ...(id !== undefined && { id }) };
	if (data instanceof Error) {
		return { ...base, success: false, error: data.message, code: "failed" };
	}
	return { ...base, success: true, data };
}
