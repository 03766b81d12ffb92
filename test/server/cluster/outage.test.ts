// @module-tag slow
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../../src/protocol/client.ts";
import { postgresPrograms, withPostgres } from "../../support/postgres.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const LEASE_MS = 8_000;
const SESSIONS = ["s0", "s1", "s2", "s3", "s4", "s5"];

describe.runIf(postgresPrograms)(withPostgres("an outage of the database"), () => {
	let cluster: Cluster;
	beforeAll(async () => {
		cluster = await startCluster({ servers: 3, leaseMs: LEASE_MS });
	});
	afterAll(() => cluster.close());

	test("that is longer than the lease moves no session, and what ended in it is known", async () => {
		const client = createClient({
			url: String(cluster.servers[0]?.address),
			token: String(cluster.tokens.get("ann")),
		});
		for (const sessionId of SESSIONS) {
			await client.request("create_session", { sessionId, cwd: cluster.workspace });
		}
		const places = async () => {
			const { sessions } = (await client.request("list_sessions")).data;
			return new Map(sessions.map(({ sessionId, server }) => [sessionId, server]));
		};
		const nodes = async () => {
			const database = new pg.Client({ connectionString: cluster.url });
			await database.connect();
			const { rows } = await database.query("SELECT id FROM strata.nodes ORDER BY id");
			await database.end();
			return rows;
		};
		const before = await places();
		const servers = await nodes();
		expect(servers).toHaveLength(3);
		expect(new Set(before.values()).size).toBeGreaterThan(1);
		const running = SESSIONS.map((sessionId) =>
			client.request("bash", { sessionId, command: `sleep ${(3 * LEASE_MS) / 1_000}; echo over` }),
		);
		await sleep(LEASE_MS / 4); // until they run
		await cluster.postgres.kill();
		await sleep(1.5 * LEASE_MS); // the outage
		await cluster.postgres.start();
		// The working tree is shared, so tools end with the lease; their commands end here all the same.
		for (const { data } of await Promise.all(running)) expect(data.exitCode).toBe(137);
		expect(await places()).toEqual(before);
		await sleep(1.5 * LEASE_MS); // until each may bury others
		expect(await nodes()).toEqual(servers);
		client.close();
	});
});
