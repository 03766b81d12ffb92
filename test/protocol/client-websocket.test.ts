import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import {
	type Client,
	createClient,
	type StreamFrame,
	webSocketTransport,
} from "../../src/protocol/client.ts";
import type { Response } from "../../src/protocol/index.ts";

/** A server that keeps its promises on a network that does not: connections break before and after every step. */
interface UnsteadyServer {
	url: string;
	/** Names that were set, in the order in which they were. */
	executed: string[];
	/** How many connections there were. */
	connections: number;
	close(): void;
}

let server: UnsteadyServer;
let client: Client;

beforeEach(async () => {
	server = await startServer("secret");
});

afterEach(() => {
	client.close();
	server.close();
});

describe("over a real WebSocket", () => {
	test("every command happens once and every event arrives once, whenever the connection breaks", {
		tags: "slow",
	}, async () => {
		client = createClient({ url: server.url, token: "secret", firstRetryMs: 1, lastRetryMs: 5 });
		const frames: StreamFrame[] = [];
		client.subscribe("s", (frame) => frames.push(frame), { after: 0 });
		const names = Array.from({ length: 150 }, (_, index) => `n${index}`);
		const answers = await Promise.all(
			names.map((name) => client.request("set_session_name", { sessionId: "s", name })),
		);
		expect(answers.every(({ success }) => success)).toBe(true);
		expect(answers.some(({ replayed }) => replayed)).toBe(true);
		expect(server.executed).toEqual(names);
		expect(server.connections).toBeGreaterThan(10);
		await expect.poll(() => frames.length).toBe(names.length);
		expect(frames.map((frame) => frame.type === "event" && frame.seq)).toEqual(
			names.map((_, index) => index + 1),
		);
	});

	test("the address of the server's page will do, with the token in it", async () => {
		const page = server.url.replace("ws:", "http:");
		client = createClient({ url: `${page}#token=secret` });
		const { success } = await client.request("set_session_name", { sessionId: "s", name: "n" });
		expect(success).toBe(true);
	});

	test.each(["localhost:3141", "", "ftp://a/#token=secret"])("%j is no address", (url) => {
		expect(() => createClient({ url })).toThrow(/^".*" is not the address of a server/);
		expect(() => createClient({ url })).not.toThrow("secret");
	});

	test("a wrong token is told once, and not tried again", async () => {
		client = createClient({ url: server.url, token: "wrong", firstRetryMs: 1 });
		await expect(client.request("list_sessions")).rejects.toThrow("a valid token is needed");
		expect(client.state.name).toBe("closed");
		expect(server.connections).toBe(0);
	});

	test.each([
		["", /^the token is empty/],
		["two words", /character 4, a space/],
		["line\n", /character 5, U\+000A/],
		["naïve", /character 3, U\+00EF/],
		["a/b", /character 2, "\/"/],
		["a,b", /character 2, ","/],
		["x".repeat(8193), /has 8193 characters, but the maximum is 8192/],
	])("the token %j fails at once, since it can be sent by no WebSocket", (token, words) => {
		client = createClient({ url: server.url, token: "secret" });
		expect(() => createClient({ url: server.url, token })).toThrow(words);
		const page = `${server.url}#token=${encodeURIComponent(token)}`;
		expect(() => createClient({ url: page })).toThrow(words);
		if (token) expect(() => createClient({ url: page })).not.toThrow(token);
	});

	test("a plus in the token of an address is a plus", async () => {
		server.close();
		server = await startServer("a+b%");
		client = createClient({ url: `${server.url}#token=a+b%` });
		await client.request("set_session_name", { sessionId: "s", name: "n" });
		expect(server.connections).toBeGreaterThan(0);
	});

	test("a transport that cannot ever connect is not tried again", async () => {
		let attempts = 0;
		client = createClient({
			transport: {
				open(listener) {
					attempts++;
					return webSocketTransport(server.url, "two words").open(listener);
				},
			},
			firstRetryMs: 1,
		});
		await expect(client.request("list_sessions")).rejects.toMatchObject({
			code: "closed",
			message: expect.stringContaining("cannot be sent"),
		});
		expect(client.state.name).toBe("closed");
		expect(attempts).toBe(1);
	});

	test("a server that is not there is waited for", async () => {
		const { url } = server;
		server.close();
		client = createClient({ url, token: "secret", firstRetryMs: 5 });
		const waiting = new Promise<string>((resolve) => {
			client.onState((state) => state.name === "waiting" && resolve(state.why));
		});
		expect(await waiting).toBe(`cannot connect to ${url}`);
		server = await startServer("secret", Number(new URL(url).port));
		const { data } = await client.request("set_session_name", { sessionId: "s", name: "n" });
		expect(data).toEqual({});
	});
});

function startServer(token: string, port = 0): Promise<UnsteadyServer> {
	const outcomes = new Map<string, Response>();
	const subscribers = new Map<WebSocket, number>();
	let steps = 0;
	const sockets = new WebSocketServer({
		host: "127.0.0.1",
		port,
		handleProtocols: (offered) => (offered.has("strata.v1") ? "strata.v1" : false),
	});
	const server: UnsteadyServer = {
		url: "",
		executed: [],
		connections: 0,
		close: () => {
			for (const socket of sockets.clients) socket.terminate();
			sockets.close();
		},
	};
	sockets.on("connection", (socket, { headers }) => {
		if (!headers["sec-websocket-protocol"]?.split(/, ?/).includes(`strata.token.${token}`)) {
			socket.close(1008, "a valid token is needed");
			return;
		}
		server.connections++;
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

	function receive(socket: WebSocket, command: Record<string, string>): void {
		if (socket.readyState !== socket.OPEN || isBroken(socket)) return;
		const { type = "", id = "" } = command;
		if (command.type === "subscribe") {
			if (command.sessionId) subscribers.set(socket, Number(command.after ?? 0));
			answer(socket, { type: "response", command: type, success: true, id });
			deliver();
			return;
		}
		const known = outcomes.get(id);
		if (!known) {
			server.executed.push(command.name ?? "");
			outcomes.set(id, { type: "response", command: type, success: true, id, data: {} });
			deliver();
			if (isBroken(socket)) return;
		}
		answer(socket, known ? { ...known, replayed: true } : (outcomes.get(id) as Response));
	}

	function answer(socket: WebSocket, response: Response): void {
		const data = response.data ?? { seq: server.executed.length, lifecycle: "none" };
		socket.send(JSON.stringify({ ...response, data }));
	}

	function deliver(): void {
		for (const [socket, after] of subscribers) {
			for (let seq = after + 1; seq <= server.executed.length; seq++) {
				const event = { type: "session_info_changed", name: server.executed[seq - 1] };
				socket.send(JSON.stringify({ type: "event", sessionId: "s", seq, event }));
			}
			subscribers.set(socket, server.executed.length);
		}
	}

	/** Every now and then, the connection is gone. */
	function isBroken(socket: WebSocket): boolean {
		if (++steps % 17 !== 0) return false;
		socket.terminate();
		return true;
	}
}
