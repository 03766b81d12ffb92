import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Command, Data, Response } from "../../src/protocol/index.ts";

/** A server over WebSocket that knows just enough commands for a client to try: one session, a model that counts. */
export interface ScriptServer {
	url: string;
	/** Types of the commands that were carried out. */
	executed: string[];
	close(): void;
}

const ANSWER = "one two three four five six seven eight nine ten".split(" ");

export function startScriptServer(): Promise<ScriptServer> {
	const outcomes = new Map<string, Response>();
	/** Subscribers with the number of the last event each has. */
	const subscribers = new Map<WebSocket, number>();
	const events: Data<"SessionEvent">[] = [];
	let version = 0;
	let sessionName: string | undefined;
	const sockets = new WebSocketServer({
		host: "127.0.0.1",
		port: 0,
		handleProtocols: (offered) => (offered.has("strata.v1") ? "strata.v1" : false),
	});
	const server: ScriptServer = {
		url: "",
		executed: [],
		close: () => {
			for (const socket of sockets.clients) socket.terminate();
			sockets.close();
		},
	};
	sockets.on("connection", (socket) => {
		const data = { serverVersion: "0", protocolVersion: "1.0.0", transports: ["websocket"] };
		socket.send(JSON.stringify({ type: "server_ready", data }));
		socket.on("message", (text) => receive(socket, JSON.parse(String(text))));
		socket.on("close", () => subscribers.delete(socket));
	});
	return new Promise((resolve) => {
		sockets.on("listening", () => {
			server.url = `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}/`;
			resolve(server);
		});
	});

	function receive(socket: WebSocket, command: Command): void {
		const id = command.id ?? "";
		const response = outcomes.get(id) ?? execute(socket, command);
		outcomes.set(id, response);
		deliver();
		socket.send(JSON.stringify({ ...response, id }));
	}

	function execute(socket: WebSocket, command: Command): Response {
		server.executed.push(command.type);
		switch (command.type) {
			case "subscribe":
				if (command.sessionId) subscribers.set(socket, command.after ?? events.length);
				return done(command, { seq: events.length, lifecycle: "none" });
			case "set_session_name":
				if (command.ifSessionVersion !== version) {
					const error = `the session is at version ${version}`;
					return { ...done(command), success: false, code: "version_mismatch", error };
				}
				version++;
				sessionName = command.name;
				events.push({ type: "session_info_changed", name: command.name });
				return done(command);
			case "get_state":
				return done(command, { sessionName });
			case "prompt":
				for (const word of ANSWER) events.push(wordEvent(`${word} `));
				events.push({ type: "agent_settled" });
				return done(command);
			default:
				return done(command, { sessionId: "s" });
		}
	}

	function done({ type }: Command, data: object = {}): Response {
		return { type: "response", command: type, success: true, sessionVersion: version, data };
	}

	function deliver(): void {
		for (const [socket, after] of subscribers) {
			for (const [index, event] of events.entries()) {
				if (index < after) continue;
				socket.send(JSON.stringify({ type: "event", sessionId: "s", seq: index + 1, event }));
			}
			subscribers.set(socket, events.length);
		}
	}
}

function wordEvent(delta: string): Data<"SessionEvent"> {
	const assistantMessageEvent = { type: "text_delta", contentIndex: 0, delta } as const;
	return { type: "message_update", assistantMessageEvent };
}
