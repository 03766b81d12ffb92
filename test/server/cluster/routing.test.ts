// @module-tag slow
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { type Client, createClient } from "../../../src/protocol/client.ts";
import { parseDatabaseUrl } from "../../../src/server/journal/postgres/database-url.ts";
import { revokeTokens, withDatabase } from "../../../src/server/journal/postgres/token-table.ts";
import { PATIENCE } from "../../support/patience.ts";
import { postgresPrograms, withPostgres } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const PRINCIPALS = ["ann", "bob", "eve", "max"];
/** More than the other tests need. */
const MOST = 9;

/** Three servers: two for sessions, one of them for a folder of its own, and a gateway. */
describe.runIf(postgresPrograms)(withPostgres("clients of any server"), () => {
	let cluster: Cluster;
	const clients: Client[] = [];
	const own = tempDir("own");
	const lost = tempDir("lost");

	beforeAll(async () => {
		mkdirSync(own, { recursive: true });
		mkdirSync(lost, { recursive: true });
		cluster = await startCluster({
			servers: 3,
			leaseMs: 3_000,
			principals: PRINCIPALS,
			words: ["--limit", `maxSessionsPerPrincipal=${MOST}`],
			wordsOf: [[], ["--workspace", own], ["--no-sessions"]],
		});
		await allLinked();
	});
	afterAll(async () => {
		for (const client of clients) client.close();
		await cluster.close();
	});

	function clientAt(index: number, principal = "ann"): Client {
		const url = String(cluster.servers[index]?.address);
		const client = createClient({ url, token: String(cluster.tokens.get(principal)) });
		clients.push(client);
		return client;
	}

	const addressOf = (index: number) => `ws://127.0.0.1:${cluster.servers[index]?.links.port}/`;

	async function allLinked(): Promise<void> {
		await vi.waitFor(async () => {
			for (const index of [0, 1, 2]) {
				const { servers = [] } = (await clientAt(index).request("get_metrics")).data;
				expect(servers.filter(({ isLinked }) => isLinked)).toHaveLength(2);
			}
		}, PATIENCE);
	}

	test("use and list sessions of all servers through a gateway, which takes none", async () => {
		const gateway = clientAt(2);
		await gateway.request("create_session", { sessionId: "far", cwd: own });
		await gateway.request("create_session", { sessionId: "near", cwd: cluster.workspace });
		const { data } = await gateway.request("get_state", { sessionId: "far" });
		expect(data).toMatchObject({ sessionId: "far", cwd: own });
		const { sessions } = (await gateway.request("list_sessions")).data;
		const places = new Map(sessions.map(({ sessionId, server }) => [sessionId, server]));
		expect(places.get("near")).toBe(addressOf(0));
		expect([addressOf(0), addressOf(1)]).toContain(places.get("far"));
		const { servers } = (await gateway.request("get_metrics")).data;
		expect(servers?.find(({ isSelf }) => isSelf)).toMatchObject({
			address: addressOf(2),
			sessions: 0,
			takesSessions: false,
		});
	});

	test("see each event once, and in order, and go on after a connection is lost", async () => {
		const [a, c] = [clientAt(0), clientAt(2)];
		await a.request("create_session", { sessionId: "seen", cwd: cluster.workspace });
		const seen: [number[], number[]] = [[], []];
		for (const [index, client] of [a, c].entries()) {
			const listener = (frame: { type: string; seq?: number }) => {
				if (frame.type === "event" && frame.seq !== undefined) seen[index]?.push(frame.seq);
			};
			client.subscribe("seen", listener as never, { after: 0 });
		}
		for (let number = 0; number < 6; number++) {
			if (number === 3) cluster.servers[0]?.links.set("cut");
			if (number === 3) cluster.servers[0]?.links.set("pass");
			const client = number % 2 ? a : c;
			await client.request("set_session_name", { sessionId: "seen", name: `name ${number}` });
		}
		await vi.waitFor(() => {
			expect(seen[0].length).toBeGreaterThanOrEqual(6);
			expect(seen[1]).toEqual(seen[0]);
		}, PATIENCE);
		expect(seen[0]).toEqual(seen[0].map((_, index) => index + 1));
	});

	test("keep the order of what a connection sends, and ids mean the same everywhere", async () => {
		const c = clientAt(2);
		await c.request("create_session", { sessionId: "order", cwd: cluster.workspace });
		const names = Array.from({ length: 50 }, (_, index) => `name ${index}`);
		const answers = await Promise.all(
			names.map((name) => c.request("set_session_name", { sessionId: "order", name })),
		);
		const versions = answers.map(({ sessionVersion }) => sessionVersion);
		expect(versions).toEqual(names.map((_, index) => index + 1));
		const fields = { sessionId: "order", name: "once" };
		const first = await c.request("set_session_name", fields, { id: "the-id" });
		const again = await clientAt(0).request("set_session_name", fields, { id: "the-id" });
		expect(again).toMatchObject({ replayed: true, sessionVersion: first.sessionVersion });
		await expect(
			clientAt(1).request("set_session_name", { ...fields, name: "else" }, { id: "the-id" }),
		).rejects.toMatchObject({ code: "id_conflict" });
	});

	test("may depend on commands of sessions that other servers have", async () => {
		const c = clientAt(2);
		await c.request("create_session", { sessionId: "dep-a", cwd: cluster.workspace });
		await c.request("create_session", { sessionId: "dep-b", cwd: cluster.workspace });
		const done = join(cluster.workspace, "done");
		const command = "sleep 0.5; touch done";
		const slow = c.request("bash", { sessionId: "dep-a", command }, { id: "slow" });
		const name = { sessionId: "dep-b", name: "after" };
		const here = c.request("set_session_name", name, { dependsOn: ["slow"] });
		const there = clientAt(0).request("set_session_name", name, { dependsOn: ["slow"] });
		// Answers of different servers may pass each other, effects may not.
		const isDone = await Promise.all([here, there].map((one) => one.then(() => existsSync(done))));
		expect(isDone).toEqual([true, true]);
		await slow;
	});

	test("get lifecycle events and notices of commands that run elsewhere, if they want them", async () => {
		const wire = await connectRaw(2, "bob");
		const other = clientAt(0, "bob");
		await other.request("create_session", { sessionId: "notice", cwd: cluster.workspace });
		await other.request("get_state", { sessionId: "notice" }, { id: "watched" });
		await vi.waitFor(() => {
			const types = wire.frames.map(({ type }) => type);
			expect(types).toContain("session_created");
			const finished = wire.frames.filter(({ type }) => type === "command_finished");
			expect(finished.map(({ data }) => data?.commandId)).toContain("watched");
		}, PATIENCE);
		wire.frames.length = 0;
		wire.send({ type: "subscribe", sessionId: "notice", lifecycle: "none", id: "quiet" });
		await vi.waitFor(() => {
			const answer = wire.frames.find(({ id }) => id === "quiet");
			expect(answer).toMatchObject({ success: true, data: { lifecycle: "none" } });
		}, PATIENCE);
		wire.frames.length = 0;
		await other.request("set_session_name", { sessionId: "notice", name: "n" });
		await vi.waitFor(
			() => expect(wire.frames.map(({ type }) => type)).toContain("event"),
			PATIENCE,
		);
		expect(wire.frames.filter(({ type }) => type.startsWith("command_"))).toEqual([]);
		wire.close();
	});

	test("see nothing of another principal, through any server", async () => {
		await clientAt(0, "ann").request("create_session", {
			sessionId: "secret",
			cwd: cluster.workspace,
		});
		const wires = await Promise.all([0, 1, 2].map((index) => connectRaw(index, "eve")));
		for (const index of [0, 1, 2]) {
			const eve = clientAt(index, "eve");
			const asked = eve.request("get_state", { sessionId: "secret" });
			await expect(asked).rejects.toMatchObject({ code: "unknown_session" });
			expect((await eve.request("list_sessions")).data.sessions).toEqual([]);
			const { entries } = (await eve.request("get_command_history")).data;
			expect(JSON.stringify(entries)).not.toContain("set_session_name");
		}
		await clientAt(2, "ann").request("set_session_name", { sessionId: "secret", name: "hidden" });
		for (const wire of wires) {
			expect(JSON.stringify(wire.frames)).not.toContain("hidden");
			wire.close();
		}
	});

	test("have as many sessions on all servers together as one principal may have", async () => {
		const c = clientAt(2, "max");
		const create = (sessionId: string) => c.request("create_session", { sessionId, cwd: own });
		for (let number = 0; number < MOST; number++) await create(`many-${number}`);
		await expect(create("too-many")).rejects.toMatchObject({ code: "limit_reached" });
		await c.request("delete_session", { sessionId: "many-0" });
		await create("in-its-place");
		const { sessions } = (await c.request("list_sessions")).data;
		expect(sessions).toHaveLength(MOST);
	});

	test("are told when no server has the folder, and history goes on", async () => {
		const c = clientAt(2);
		const asked = c.request("create_session", { sessionId: "none", cwd: join(lost, "gone") });
		await expect(asked).rejects.toThrow(/folder|exist/i);
		const { entries } = (await c.request("get_command_history", { limit: 500 })).data;
		expect(entries.length).toBeGreaterThan(0);
	});

	test("do not speak for a principal whose last token was revoked", async () => {
		const bob = clientAt(2, "bob");
		await bob.request("create_session", { sessionId: "revoked", cwd: cluster.workspace });
		const closed = new Promise<void>((resolve) => {
			bob.onState(({ name }) => name === "closed" && resolve());
		});
		await withDatabase(parseDatabaseUrl(cluster.url), (client) => revokeTokens(client, "bob"));
		await closed;
		expect(bob.state).toMatchObject({ name: "closed" });
	});

	async function connectRaw(index: number, principal: string) {
		const frames: { type: string; id?: string; data?: { commandId?: string } }[] = [];
		const socket = new WebSocket(String(cluster.servers[index]?.address), {
			headers: { authorization: `Bearer ${cluster.tokens.get(principal)}` },
		});
		socket.on("message", (data) => frames.push(JSON.parse(String(data))));
		await vi.waitFor(() => expect(frames[0]?.type).toBe("server_ready"), PATIENCE);
		return {
			frames,
			send: (command: object) => socket.send(JSON.stringify(command)),
			close: () => socket.terminate(),
		};
	}
});
