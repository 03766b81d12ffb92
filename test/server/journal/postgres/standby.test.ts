import pg from "pg";
import { describe, expect, test } from "vitest";
import type { PostgresJournal } from "../../../../src/server/journal/postgres/postgres-journal.ts";
import { command, event, finished, session } from "../../../contracts/journal.ts";
import { PATIENCE } from "../../../support/patience.ts";
import {
	postgresPrograms,
	startPostgres,
	type TestPostgres,
	withPostgres,
} from "../../../support/postgres.ts";
import { atEnd } from "../../../support/temp.ts";
import { startPostgresJournal } from "./start-postgres-journal.ts";

const name = { principal: "ann", sessionId: "s" };

describe.runIf(postgresPrograms)(withPostgres("a standby"), { tags: "slow" }, () => {
	test("is refused until it is promoted, and then has all that was acknowledged", async () => {
		const primary = await start();
		const url = await primary.database();
		const standby = await start(primary);
		const copy = url.replace(
			encodeURIComponent(primary.socketFolder),
			encodeURIComponent(standby.socketFolder),
		);
		await ask(url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
		await ask(url, "SELECT pg_reload_conf()");
		const inSync = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
		await expect.poll(async () => (await ask(url, inSync)).length, PATIENCE).toBe(1);

		// What it cannot write is refused after a lease.
		const journal = await startPostgresJournal(url, { lease: { leaseMs: 1_000, renewMs: 200 } });
		await journal.claim(name, { create: true });
		await journal.finish(finished(command("create"), { session: session("s"), version: 0 }));
		await expect(startPostgresJournal(copy)).rejects.toThrow(
			"the database is a standby or read-only; use the address of its primary",
		);

		const acknowledged = await fill(journal, () => primary.kill());
		await journal.end();
		await ask(copy, "SELECT pg_promote()");
		const next = await startPostgresJournal(copy);
		const stored = (await next.events(name, 0, 10_000)).map(({ seq }) => seq);
		expect(acknowledged).toBeGreaterThan(0);
		expect(stored.slice(0, acknowledged)).toEqual(
			Array.from({ length: acknowledged }, (_, index) => index + 1),
		);
		await next.append(now(next.lastSeq(name) + 1));
	});
});

/** Writes events one after the other, and kills the primary among them. Returns how many were acknowledged. */
async function fill(journal: PostgresJournal, kill: () => Promise<void>): Promise<number> {
	let acknowledged = 0;
	let killing: Promise<void> | undefined;
	const write = async () => {
		for (;;) {
			await journal.append(now(acknowledged + 1));
			acknowledged++;
			if (acknowledged === BEFORE_THE_END) killing = kill();
		}
	};
	await expect(write()).rejects.toThrow();
	await killing;
	return acknowledged;
}

const BEFORE_THE_END = 50;

/** Retention evicts older ones. */
const now = (seq: number) => event(seq, { atMs: Date.now() });

async function start(standbyOf?: TestPostgres): Promise<TestPostgres> {
	const postgres = await startPostgres(standbyOf ? { standbyOf } : {});
	atEnd(() => postgres.stop());
	return postgres;
}

async function ask(url: string, sql: string): Promise<unknown[]> {
	const client = new pg.Client({ connectionString: url });
	client.on("error", () => {});
	await client.connect();
	try {
		return (await client.query(sql)).rows;
	} finally {
		await client.end();
	}
}
