import { describe, expect, test, vi } from "vitest";
import { PATIENCE } from "../../../support/patience.ts";
import { postgresPrograms, startPostgres, withPostgres } from "../../../support/postgres.ts";
import { atEnd } from "../../../support/temp.ts";
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
});
