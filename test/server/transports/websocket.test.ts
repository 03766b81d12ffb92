import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { Message } from "../../../src/server/engine/message.ts";
import { atEnd } from "../../support/temp.ts";
import { ANN, answer, BOB, isAnswer, startEcho } from "../support/echo-server.ts";
import { connectClient } from "../support/ws-client.ts";

describe("who may open a WebSocket", () => {
	test("a client with a token is its principal", async () => {
		const { url, clients } = await startEcho();
		await connectClient(url, { token: ANN });
		const bob = await connectClient(url, { token: BOB });
		await bob.next(({ type }) => type === "server_ready");
		expect([...clients].map(({ principal }) => principal).sort()).toEqual(["ann", "bob"]);
	});

	test("a browser sends its token as a subprotocol and gets only the other one back", async () => {
		const { url, port, clients } = await startEcho();
		const page = await connectClient(url, {
			origin: `http://127.0.0.1:${port}`,
			protocols: ["strata.v1", `strata.token.${ANN}`],
		});
		expect(page.socket.protocol).toBe("strata.v1");
		await page.next(({ type }) => type === "server_ready");
		expect([...clients].map(({ principal }) => principal)).toEqual(["ann"]);
	});

	test.each([undefined, "wrong-wrong-wrong-wrong"])(
		"without a valid token (%s) it is 401",
		async (token) => {
			const { url, clients } = await startEcho();
			await expect(connectClient(url, token ? { token } : {})).rejects.toThrow("401");
			expect(clients.size).toBe(0);
		},
	);

	test("a token in the address is none", async () => {
		const { url } = await startEcho();
		await expect(connectClient(`${url}?token=${ANN}`)).rejects.toThrow("401");
	});

	test("a browser with a wrong token is closed with 1008, which its page can see", async () => {
		const { url, port } = await startEcho();
		const page = await connectClient(url, {
			origin: `http://127.0.0.1:${port}`,
			protocols: ["strata.v1", "strata.token.wrong"],
		});
		expect(await page.closed).toMatchObject({ code: 1008 });
		expect(page.received).toEqual([]);
	});

	test.each(["http://evil.example", "null", "http://localhost:9"])(
		"a page of %s is refused even with the token, and without authentication",
		async (origin) => {
			const { url } = await startEcho();
			await expect(connectClient(url, { token: ANN, origin })).rejects.toThrow("403");
			const open = await startEcho({ auth: "none" });
			await expect(connectClient(open.url, { origin })).rejects.toThrow("403");
		},
	);

	test("a listed origin may connect", async () => {
		const { url } = await startEcho({ auth: "none", origins: ["https://ui.example"] });
		const page = await connectClient(url, { origin: "https://ui.example" });
		await page.next(({ type }) => type === "server_ready");
	});

	test("a name that was pointed at this machine is refused", async () => {
		const { url } = await startEcho({ auth: "none" });
		await expect(connectClient(url, { headers: { host: "evil.example" } })).rejects.toThrow("403");
	});

	test("clients wait until the server is ready", async () => {
		const ready = Promise.withResolvers<void>();
		const { url } = await startEcho({ auth: "none", ready: ready.promise });
		let isOpen = false;
		const connecting = connectClient(url).then((client) => {
			isOpen = true;
			return client;
		});
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect(isOpen).toBe(false);
		ready.resolve();
		await (await connecting).next(({ type }) => type === "server_ready");
	});
});

describe("frames", () => {
	test("text comes as text and binary as bytes", async () => {
		const { url, heard } = await startEcho({ auth: "none" });
		const client = await connectClient(url);
		client.socket.send("äöü");
		client.socket.send(Buffer.from("ß"));
		await client.next((message) => isAnswer(message) && message.data === "ß");
		expect(heard).toEqual(["äöü", Buffer.from("ß")]);
	});

	test("that are begun and not ended take up no more room than there is, and cost who begins most of them", async () => {
		const { url, clients } = await startEcho({ limits: { maxUnfinishedBytesInAll: 3_000_000 } });
		const bob = await beginFrame(url, { token: BOB, bytes: 1_000_000 });
		const ann = [];
		for (let n = 0; n < 3; n++) {
			ann.push(await beginFrame(url, { token: ANN, bytes: 700_000 + n * 10_000 }));
		}
		const told = await Promise.race(ann.map(({ closed }) => closed));
		expect(told).toMatchObject({ code: 1013, reason: expect.stringMatching(/unfinished frames/) });
		await expect.poll(() => clients.size).toBe(3);
		bob.rest();
		expect((await bob.next(isAnswer)).data).toHaveLength(1_000_000);
	});

	test("that only ask whether the other side is there are not held against anybody", async () => {
		const { url, clients } = await startEcho({ limits: { maxUnfinishedBytesInAll: 100_000 } });
		const client = await connectClient(url, { token: ANN });
		for (let n = 0; n < 2_000; n++) {
			client.socket.ping("x".repeat(100));
			if (n % 200 === 0) await new Promise((resolve) => client.socket.once("pong", resolve));
		}
		client.socket.send("still here");
		expect((await client.next(isAnswer)).data).toBe("still here");
		expect(clients.size).toBe(1);
	});

	test("that were large and have ended leave room for others", async () => {
		const { url } = await startEcho({ limits: { maxUnfinishedBytesInAll: 1_000_000 } });
		const client = await connectClient(url, { token: ANN });
		for (let n = 0; n < 5; n++) {
			client.socket.send(`${n}${"x".repeat(900_000)}`);
			const answered = await client.next(
				(message) => isAnswer(message) && String(message.data).startsWith(String(n)),
			);
			expect(answered).toMatchObject({ type: "response" });
		}
	});

	test.each([0, 1, 125, 126, 127, 65_535, 65_536, 3_000_000])(
		"an answer around a text of %i bytes arrives whole",
		async (size) => {
			const { url, clients } = await startEcho({ auth: "none" });
			const client = await connectClient(url);
			await client.next(({ type }) => type === "server_ready");
			const empty = Buffer.byteLength(answer("").json());
			const text = "x".repeat(Math.max(0, size - empty));
			for (const one of clients) one.send(answer(text));
			expect((await client.next(isAnswer)).data).toBe(text);
		},
	);

	test("pings of the client are answered between our frames", async () => {
		const { url, clients } = await startEcho({ auth: "none" });
		const client = await connectClient(url);
		let pongs = 0;
		client.socket.on("pong", () => pongs++);
		for (let i = 0; i < 200; i++) {
			client.socket.ping();
			client.socket.send(String(i));
			if (i % 20 === 0) for (const one of clients) one.send(answer("y".repeat(100_000)));
		}
		await client.next((message) => isAnswer(message) && message.data === "199");
		expect(
			client.received
				.filter(isAnswer)
				.map(({ data }) => data)
				.filter((data) => data.length < 9),
		).toEqual(Array.from({ length: 200 }, (_, i) => String(i)));
		expect(pongs).toBeGreaterThan(0);
	});

	test("one larger than allowed closes its connection with 1009 and no other", async () => {
		const { url, heard } = await startEcho({ auth: "none", limits: { maxFrameBytes: 1_000 } });
		const [large, other] = await Promise.all([connectClient(url), connectClient(url)]);
		large.socket.on("error", () => {});
		large.socket.send("x".repeat(1_001));
		expect((await large.closed).code).toBe(1009);
		other.socket.send("x".repeat(1_000));
		await other.next(isAnswer);
		expect(heard).toHaveLength(1);
	});

	test("text that is no UTF-8 closes its connection with 1007", async () => {
		const { url, heard } = await startEcho({ auth: "none" });
		const client = await connectClient(url);
		client.socket.send(Buffer.from([0xff, 0xfe, 0x20]), { binary: false });
		expect((await client.closed).code).toBe(1007);
		expect(heard).toEqual([]);
	});
});

describe("bounds", () => {
	test("of connections in all and of one principal; a program gets 503, a page 1013", async () => {
		const { url, port, clients } = await startEcho({
			limits: { maxConnections: 3, maxConnectionsPerPrincipal: 2 },
		});
		const first = await connectClient(url, { token: ANN });
		await connectClient(url, { token: ANN });
		await expect(connectClient(url, { token: ANN })).rejects.toThrow("503");
		await connectClient(url, { token: BOB });
		const page = await connectClient(url, {
			origin: `http://127.0.0.1:${port}`,
			protocols: ["strata.v1", `strata.token.${BOB}`],
		});
		expect(await page.closed).toMatchObject({ code: 1013 });
		first.socket.close();
		await first.closed;
		await until(() => clients.size === 2);
		await connectClient(url, { token: ANN });
	});

	test("of new connections a minute", async () => {
		const { url } = await startEcho({ limits: { connectionsPerMinute: 2 } });
		await connectClient(url, { token: ANN });
		await connectClient(url, { token: ANN });
		await expect(connectClient(url, { token: ANN })).rejects.toThrow("503");
		await connectClient(url, { token: BOB });
	});

	test("a client that does not read is closed, and the others get everything", async () => {
		const { url, clients, connections } = await startEcho({
			limits: { maxQueueBytes: 2_000_000 },
		});
		const stuck = await connectClient(url, { token: ANN });
		const reader = await connectClient(url, { token: BOB });
		await reader.next(({ type }) => type === "server_ready");
		stuck.socket.pause();
		for (let i = 0; i < 200; i++) {
			const message = answer(`${i} ${"x".repeat(100_000)}`);
			for (const one of clients) one.send(message);
			await new Promise((resolve) => setImmediate(resolve));
		}
		await until(() => connections.counters().overloaded === 1);
		await reader.next((message) => isAnswer(message) && message.data.startsWith("199 "));
		expect(reader.received.filter(isAnswer)).toHaveLength(200);
		stuck.socket.resume();
		await stuck.closed;
		await until(() => clients.size === 1);
	});

	test("a client that lags gets deltas joined or marked as left out, and all else", async () => {
		const { url, clients } = await startEcho({ limits: { hardQueueBytes: 1_000_000 } });
		const slow = await connectClient(url, { token: ANN });
		await slow.next(({ type }) => type === "server_ready");
		slow.socket.pause();
		const [client] = clients;
		const events = 20_000;
		for (let seq = 1; seq <= events; seq++) client?.send(delta(seq, "word ".repeat(100)));
		client?.send(
			new Message({
				type: "event",
				sessionId: "s",
				seq: events + 1,
				event: { type: "agent_settled" },
			}),
		);
		slow.socket.resume();
		await slow.next((message) => message.type === "event" && message.seq === events + 1);
		let next = 1;
		for (const message of slow.received) {
			if (message.type === "event") expect(message.fromSeq ?? message.seq).toBe(next);
			if (message.type === "event") next = (message.seq ?? 0) + 1;
			if (message.type === "gap") expect(message.fromSeq).toBe(next);
			if (message.type === "gap") next = message.toSeq + 1;
		}
		expect(next).toBe(events + 2);
		expect(slow.received.some(({ type }) => type === "gap")).toBe(true);
	});

	test("a client that is silent after a ping is dropped, one that answers stays", {
		tags: "slow",
	}, async () => {
		const { url, clients } = await startEcho({ auth: "none", pingMs: 300, pongMs: 250 });
		const silent = await connectClient(url, { autoPong: false });
		const alive = await connectClient(url);
		await silent.closed;
		await until(() => clients.size === 1);
		for (let pings = 0; pings < 3; pings++) {
			await new Promise((resolve) => alive.socket.once("ping", resolve));
		}
		expect(alive.socket.readyState).toBe(alive.socket.OPEN);
	});

	test("headers that never end are cut off", { tags: "slow" }, async () => {
		const { port } = await startEcho({ headersMs: 300 });
		const socket = connect(port, "127.0.0.1");
		atEnd(() => socket.destroy());
		socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
		const text = await new Promise<string>((resolve) => {
			let all = "";
			socket.on("data", (data) => {
				all += data;
			});
			socket.on("close", () => resolve(all));
		});
		expect(text).toContain("408");
	});
});

test("closing sends what waits, then 1001", async () => {
	const { url, clients, connections } = await startEcho({ auth: "none" });
	const client = await connectClient(url);
	await client.next(({ type }) => type === "server_ready");
	for (const one of clients) for (let i = 0; i < 50; i++) one.send(answer("z".repeat(50_000)));
	await connections.close(5_000);
	expect(await client.closed).toMatchObject({ code: 1001 });
	expect(client.received.filter(isAnswer)).toHaveLength(50);
});

function delta(seq: number, text: string) {
	const message: Data<"ServerMessage"> = {
		type: "event",
		sessionId: "s",
		seq,
		event: {
			type: "message_update",
			assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: text },
		},
	};
	return new Message(message);
}

async function until(isTrue: () => boolean): Promise<void> {
	while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A client that has sent a frame of so many bytes but for its last one. */
async function beginFrame(url: string, { token, bytes }: { token: string; bytes: number }) {
	const client = await connectClient(url, { token });
	const half = Math.ceil(bytes / 2);
	client.socket.send("x".repeat(half), { fin: false });
	client.socket.ping(); // hides nothing of it
	client.socket.send("x".repeat(bytes - half - 1), { fin: false });
	return { ...client, rest: () => client.socket.send("x", { fin: true }) };
}
