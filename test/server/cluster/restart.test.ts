// @module-tag slow
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createClient } from "../../../src/protocol/client.ts";
import { PATIENCE } from "../../support/patience.ts";
import { postgresPrograms, withPostgres } from "../../support/postgres.ts";
import { startBalancer } from "./balancer.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const SESSIONS = ["r0", "r1", "r2", "r3", "r4", "r5"];

describe.runIf(postgresPrograms)(withPostgres("servers that are restarted one by one"), () => {
	let cluster: Cluster;
	let url: string;
	beforeAll(async () => {
		cluster = await startCluster({ servers: 3, leaseMs: 15_000, drainMs: 3_000 });
		url = (await startBalancer(cluster)).url;
	});
	afterAll(() => cluster.close());

	const open = (at = url) =>
		createClient({
			url: at,
			token: String(cluster.tokens.get("ann")),
			firstRetryMs: 20,
			lastRetryMs: 200,
		});

	// Processes that a test starts end with it, so the test that starts some is the last.
	test("interrupt a run that outlasts the drain, and only that one", async () => {
		const client = open();
		await client.request("create_session", { sessionId: "long", cwd: cluster.workspace });
		const owner = await vi.waitFor(async () => {
			const { sessions } = (await client.request("list_sessions")).data;
			const place = sessions.find(({ sessionId }) => sessionId === "long")?.server;
			const found = cluster.servers.find(({ links }) => place === `ws://127.0.0.1:${links.port}/`);
			expect(found).toBeDefined();
			return found;
		}, PATIENCE);
		const other = cluster.servers.find((server) => server !== owner);
		const guest = open(String(other?.address));
		const late = guest.request("bash", { sessionId: "long", command: "sleep 60" }).catch(String);
		await vi.waitFor(async () => {
			const { data } = await guest.request("get_state", { sessionId: "long" });
			expect(data.isBashRunning).toBe(true);
		}, PATIENCE);
		await owner?.kill("SIGTERM");
		expect(await late).toContain("stopped");
		const { data } = await guest.request("get_state", { sessionId: "long" });
		expect(data).toMatchObject({ sessionId: "long", isBashRunning: false });
		client.close();
		guest.close();
	});

	test("finish all commands under load, each once, and lose no event", async () => {
		const client = open();
		const seen = new Map<string, number[]>();
		for (const sessionId of SESSIONS) {
			await client.request("create_session", { sessionId, cwd: cluster.workspace });
			const numbers: number[] = [];
			seen.set(sessionId, numbers);
			const listener = (frame: { type: string; seq?: number }) => {
				if (frame.type === "event" && frame.seq !== undefined) numbers.push(frame.seq);
			};
			client.subscribe(sessionId, listener as never, { after: 0 });
		}
		let isOver = false;
		const loads = SESSIONS.map(async (sessionId) => {
			const one = open();
			let done = 0;
			while (!isOver) {
				const { data } = await one.request("bash", { sessionId, command: "sleep 0.05; echo ok" });
				expect(data).toMatchObject({ exitCode: 0 });
				await one.request("set_session_name", { sessionId, name: `name ${done}` });
				done += 2;
			}
			const { sessionVersion } = await one.request("get_state", { sessionId });
			one.close();
			return { done, sessionVersion };
		});
		for (const server of cluster.servers) {
			await server.kill("SIGTERM");
			await server.start();
		}
		isOver = true;
		const results = await Promise.all(loads);
		for (const { done, sessionVersion } of results) {
			expect(done).toBeGreaterThan(2);
			expect(sessionVersion).toBe(done);
		}
		for (const [sessionId, numbers] of seen) {
			const { data } = await client.request("switch_session", { sessionId });
			await vi.waitFor(() => expect(numbers.at(-1)).toBeGreaterThanOrEqual(data.seq), PATIENCE);
			expect(numbers).toEqual(numbers.map((_, index) => index + 1));
		}
		client.close();
	});
});
