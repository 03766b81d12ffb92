import type { CloseInfo, ConnectionListener, Transport } from "../../src/protocol/client.ts";
import type { Data } from "../../src/protocol/index.ts";

/** A frame that a client sent. */
export type Sent = { type: string; id?: string; lifecycle?: string; after?: number };

/** A server without a network: a test reads what clients send, and says what they get. */
export interface FakeServer {
	transport: Transport;
	/** Every connection so far, the latest last. */
	connections: FakeConnection[];
	/** The latest connection. */
	readonly latest: FakeConnection;
	/** While true, connecting fails. */
	isDown: boolean;
}

export interface FakeConnection {
	/** Frames of the client in order, without those about lifecycle events. */
	sent: Sent[];
	say(message: Data<"ServerMessage">): void;
	/** Says something that may be no message at all. */
	sayText(text: string): void;
	/** Answers the latest frame of that type. */
	answer(
		type: string,
		response?: Partial<Extract<Data<"ServerMessage">, { type: "response" }>>,
	): void;
	end(how?: CloseInfo): void;
	/** The client has closed it. */
	isClosed: boolean;
}

/** With `protocolVersion: undefined` the server accepts connections and says nothing. */
export function createFakeServer(protocolVersion: string | undefined = "1.0.0"): FakeServer {
	const connections: FakeConnection[] = [];
	const server: FakeServer = {
		connections,
		isDown: false,
		get latest() {
			const latest = connections.at(-1);
			if (!latest) throw new Error("nobody has connected");
			return latest;
		},
		transport: {
			async open(listener) {
				if (server.isDown) throw new Error("the server is down");
				const connection = createConnection(listener);
				connections.push(connection);
				if (protocolVersion !== undefined) {
					const data = { serverVersion: "0", protocolVersion, transports: ["memory"] };
					connection.say({ type: "server_ready", data });
				}
				return {
					send: (text) => {
						const frame = JSON.parse(text) as Sent;
						if (frame.lifecycle === undefined) connection.sent.push(frame);
					},
					close: () => {
						connection.isClosed = true;
					},
				};
			},
		},
	};
	return server;
}

function createConnection(listener: ConnectionListener): FakeConnection {
	const connection: FakeConnection = {
		sent: [],
		isClosed: false,
		say: (message) => listener.message(JSON.stringify(message)),
		sayText: (text) => listener.message(text),
		answer(type, response = {}) {
			const frame = connection.sent.findLast((sent) => sent.type === type);
			if (!frame) throw new Error(`nobody has sent ${type}`);
			const id = frame.id === undefined ? {} : { id: frame.id };
			connection.say({
				type: "response",
				command: type,
				success: true,
				data: {},
				...id,
				...response,
			});
		},
		end: (how = {}) => listener.closed(how),
	};
	return connection;
}
