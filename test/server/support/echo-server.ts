import { createAccess } from "../../../src/core/http-access.ts";
import type { Data } from "../../../src/protocol/index.ts";
import { type Client, Message } from "../../../src/server/engine/message.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../../../src/server/limits.ts";
import { Connections } from "../../../src/server/transports/connections.ts";
import { listenHttp } from "../../../src/server/transports/http.ts";
import { createPage } from "../../../src/server/transports/page.ts";
import type { ReplayUpload } from "../../../src/server/transports/replay-upload.ts";
import { WebSocketTransport } from "../../../src/server/transports/websocket.ts";
import { atEnd } from "../../support/temp.ts";

/** A token of `ann` and one of `bob`. */
export const ANN = "ann-ann-ann-ann-ann";
export const BOB = "bob-bob-bob-bob-bob";

export interface EchoOptions {
	tls?: { cert: string; key: string };
	limits?: Partial<ServerLimits>;
	auth?: "none";
	origins?: string[];
	pageFolder?: string;
	pingMs?: number;
	pongMs?: number;
	headersMs?: number;
	uploadMs?: number;
	replayUpload?: ReplayUpload;
	ready?: Promise<void>;
}

/**
 * Connections whose engine answers each frame with itself. Reading a frame as text keeps the tests of transports apart from
 * the engine: what is sent back is exactly what was heard.
 */
export function echoConnections(limits: Partial<ServerLimits> = {}) {
	const clients = new Set<Client>();
	const heard: (string | Uint8Array)[] = [];
	const all: ServerLimits = { ...DEFAULT_LIMITS, ...limits };
	const answers = createHeldAnswers();
	const connections = new Connections({
		limits: all,
		engine: {
			connect(client) {
				clients.add(client);
				const data = { serverVersion: "0", protocolVersion: "1.0.0", transports: [] };
				client.send(new Message({ type: "server_ready", data }));
			},
			receive(client, frame) {
				heard.push(frame);
				const text = typeof frame === "string" ? frame : Buffer.from(frame).toString("utf8");
				answers.give(() => client.send(answer(text)));
			},
			whenAnswered: () => answers.released(),
			disconnect: (client) => void clients.delete(client),
		},
	});
	atEnd(() => connections.close(0));
	return { connections, clients, heard, answers, limits: all };
}

/** Answers that are given at once, or all together when they are released. */
function createHeldAnswers() {
	let waiting: (() => void)[] | undefined;
	const released = Promise.withResolvers<void>();
	return {
		hold() {
			waiting = [];
		},
		get held() {
			return waiting?.length ?? 0;
		},
		give: (send: () => void) => void (waiting ? waiting.push(send) : send()),
		release() {
			for (const send of waiting ?? []) send();
			waiting = undefined;
			released.resolve();
		},
		released: () => (waiting ? released.promise : Promise.resolve()),
	};
}

/** A real HTTP server on a free port of loopback in front of {@link echoConnections}. */
export async function startEcho(options: EchoOptions = {}) {
	const { connections, clients, heard, limits } = echoConnections(options.limits);
	const access = createAccess({
		host: "127.0.0.1",
		origins: options.origins ?? [],
		tls: options.tls !== undefined,
		tokens:
			options.auth === "none"
				? "none"
				: {
						principalOf: (token) =>
							new Map([
								[ANN, "ann"],
								[BOB, "bob"],
							]).get(token),
					},
	});
	const websocket = new WebSocketTransport({
		access,
		connections: (options.ready ?? Promise.resolve()).then(() => connections),
		limits,
		...(options.pingMs !== undefined && { pingMs: options.pingMs }),
		...(options.pongMs !== undefined && { pongMs: options.pongMs }),
	});
	const state = { ready: true as boolean };
	const { replayUpload: ofUpload } = options;
	const http = await listenHttp({
		port: 0,
		host: "127.0.0.1",
		...(options.tls && { tls: options.tls }),
		access,
		readiness: () => (state.ready ? { ok: true } : { ok: false, why: "the server is starting" }),
		metrics: () => (state.ready ? "strata_up 1\n" : undefined),
		replays: () => (state.ready && ofUpload ? { ofUpload } : undefined),
		page: createPage(options.pageFolder),
		upgrade: (...upgraded) => websocket.upgrade(...upgraded),
		maxConnections: limits.maxConnections,
		...(options.headersMs !== undefined && { headersMs: options.headersMs }),
		...(options.uploadMs !== undefined && { uploadMs: options.uploadMs }),
	});
	atEnd(async () => {
		websocket.close();
		await http.close();
	});
	const { port } = http;
	const scheme = options.tls ? "wss" : "ws";
	return { url: `${scheme}://127.0.0.1:${port}/`, port, connections, clients, heard, state };
}

export function answer(text: string) {
	return new Message({ type: "response", command: "echo", success: true, data: text });
}

export function isAnswer(
	message: Data<"ServerMessage">,
): message is Data<"ServerMessage"> & { data: string } {
	return message.type === "response" && message.command === "echo";
}
