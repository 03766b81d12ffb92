import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, test, vi } from "vitest";
import { PATIENCE } from "../../../support/patience.ts";
import {
	postgresPrograms,
	sharedPostgres,
	startPostgres,
	withPostgres,
} from "../../../support/postgres.ts";
import { atEnd } from "../../../support/temp.ts";
import { startSocketProxy } from "../../cluster/socket-proxy.ts";
import { newDatabase, startPostgresJournal } from "./start-postgres-journal.ts";

describe.runIf(postgresPrograms)(withPostgres("the lease of a server"), { tags: "slow" }, () => {
	test("is renewed before it is over", async () => {
		const left: number[] = [];
		const journal = await startPostgresJournal(await newDatabase(), {
			lease: { leaseMs: 10_000, renewMs: 30 },
			onRenewed: (ms) => left.push(ms),
		});
		await vi.waitFor(() => expect(left.length).toBeGreaterThan(3), PATIENCE);
		expect(journal.lease.isValid).toBe(true);
		expect(Math.max(...left)).toBeLessThanOrEqual(7_500);
		expect(await journal.lease.check()).toBe(true);
	});

	test("is reported from the beginning, so that tools end with it even if it is never renewed", async () => {
		const left: number[] = [];
		await startPostgresJournal(await newDatabase(), {
			lease: { leaseMs: 60_000, renewMs: 50_000 },
			onRenewed: (ms) => left.push(ms),
		});
		expect(left).toHaveLength(1);
		expect(left[0]).toBeGreaterThan(0);
	});

	test("does not hold while the database is away, and holds again when it is back: nothing was lost", async () => {
		const postgres = await startPostgres();
		atEnd(() => postgres.stop());
		const journal = await startPostgresJournal(await postgres.database(), {
			lease: { leaseMs: 600, renewMs: 100 },
		});
		const name = { principal: "ann", sessionId: "s" };
		await journal.claim(name, { create: true });
		const lost: unknown[] = [];
		journal.onLost((names) => lost.push(...names));
		await postgres.kill();
		await vi.waitFor(async () => expect(await journal.lease.check()).toBe(false), PATIENCE);
		expect(journal.health()).toMatchObject({ ok: false });
		await postgres.start();
		await vi.waitFor(async () => expect(await journal.lease.check()).toBe(true), PATIENCE);
		expect(journal.lease.mayBury).toBe(false);
		expect(lost).toEqual([]);
	});

	test("is asked for again when the machine was suspended: its monotonic clock did not notice", async () => {
		const journal = await startPostgresJournal(await newDatabase(), {
			lease: { leaseMs: 60_000, renewMs: 50_000 },
		});
		expect(journal.lease.isValid).toBe(true);
		const real = Date.now;
		const clock = vi.spyOn(Date, "now").mockImplementation(() => real() + 90_000);
		atEnd(() => clock.mockRestore());
		expect(journal.lease.isValid).toBe(false);
		expect(journal.lease.mayBury).toBe(false);
		await vi.waitFor(() => expect(journal.lease.isValid).toBe(true), PATIENCE);
		clock.mockImplementation(() => real() + 180_000);
		expect(await journal.lease.check()).toBe(true);
		expect(journal.lease.renewals).toBeGreaterThan(1);
		clock.mockImplementation(() => real() - 180_000);
		expect(journal.lease.isValid).toBe(true);
	});

	test("is gone when others have buried the server, which then begins again", async () => {
		const url = await newDatabase();
		const a = await startPostgresJournal(url, { lease: { leaseMs: 60_000, renewMs: 50 } });
		const name = { principal: "ann", sessionId: "s" };
		await a.claim(name, { create: true });
		const lost: string[] = [];
		a.onLost((names) => lost.push(...names.map(({ sessionId }) => sessionId)));
		// The same home: its next process takes its place.
		const next = await startPostgresJournal(url);
		await vi.waitFor(() => expect(lost).toEqual(["s"]), PATIENCE);
		expect(a.counters()).toMatchObject({ lost: 1, buried: 1 });
		expect(next.health()).toEqual({ ok: true });
		await vi.waitFor(() => expect(a.health()).toEqual({ ok: true }), PATIENCE);
	});

	test("lets its server wait for one lease after an outage before it buries others", async () => {
		const postgres = await sharedPostgres();
		const url = await postgres.database();
		const proxy = await startSocketProxy(join(postgres.folder, "outage"), postgres);
		atEnd(() => proxy.close());
		const through = url.replace(
			encodeURIComponent(postgres.socketFolder),
			encodeURIComponent(proxy.folder),
		);
		const leaseMs = 2_000;
		const lease = { leaseMs, renewMs: 100 };
		const journal = await startPostgresJournal(through, { lease });
		const name = { principal: "ann", sessionId: "s" };
		const other = await connect(url);
		await vi.waitFor(() => expect(journal.lease.mayBury).toBe(true), PATIENCE);
		proxy.set("cut");
		await vi.waitFor(() => expect(journal.lease.isValid).toBe(false), PATIENCE);
		expect(journal.lease.mayBury).toBe(false);
		// Another server that could not renew its lease either, and has not come back yet.
		await other.query(`INSERT INTO strata.nodes (id, home, address, expires_at)
			VALUES (gen_random_uuid(), 'b', 'ws://b/', clock_timestamp() - interval '1 second')`);
		await other.query(`INSERT INTO strata.heads (principal, session, owner, home, epoch, claim)
			SELECT 'ann', 's', id, home, 1, gen_random_uuid() FROM strata.nodes WHERE home = 'b'`);
		await other.query(`INSERT INTO strata.sessions SELECT id, '{"principal":"ann","id":"s","cwd":"/"}'
			FROM strata.heads`);
		const isThere = async () =>
			(await other.query("SELECT 1 FROM strata.nodes WHERE home = 'b'")).rowCount === 1;
		const renewals = journal.lease.renewals;
		proxy.set("pass");
		const since = performance.now();
		await vi.waitFor(() => expect(journal.lease.renewals).toBeGreaterThan(renewals + 1), PATIENCE);
		const wasThere = await isThere();
		if (performance.now() - since < leaseMs) {
			expect(wasThere).toBe(true);
			expect(await journal.claim(name)).toEqual({ kind: "elsewhere", address: "ws://b/" });
		}
		await vi.waitFor(async () => expect(await isThere()).toBe(false), PATIENCE);
		expect(performance.now() - since).toBeGreaterThan(leaseMs);
		expect(await journal.claim(name)).toMatchObject({ kind: "held" });
	});

	test("is renewed while a process that hangs in a transaction keeps a dead server from being buried", async () => {
		const url = await newDatabase();
		const lease = { leaseMs: 1_500, renewMs: 100 };
		const journal = await startPostgresJournal(url, { lease });
		await vi.waitFor(() => expect(journal.lease.mayBury).toBe(true), PATIENCE);
		const hung = await connect(url);
		await hung.query(`INSERT INTO strata.nodes (id, home, address, expires_at)
			VALUES (gen_random_uuid(), 'b', 'ws://b/', clock_timestamp() + interval '300 ms')`);
		await hung.query("BEGIN");
		await hung.query("SELECT 1 FROM strata.nodes WHERE home = 'b' FOR KEY SHARE");
		const until = performance.now() + 3_000;
		while (performance.now() < until) {
			expect(journal.lease.isValid).toBe(true);
			await sleep(20);
		}
	});
});

async function connect(url: string): Promise<pg.Client> {
	const client = new pg.Client({ connectionString: url });
	client.on("error", () => {});
	await client.connect();
	atEnd(() => client.end());
	return client;
}
