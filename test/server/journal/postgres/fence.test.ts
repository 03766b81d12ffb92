import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, test, vi } from "vitest";
import { AlreadyKnown, SessionLost } from "../../../../src/server/journal/journal.ts";
import { Claiming } from "../../../../src/server/journal/postgres/claiming.ts";
import { register, reserveNames } from "../../../../src/server/journal/postgres/claims.ts";
import { Connection } from "../../../../src/server/journal/postgres/connection.ts";
import { sweepStep } from "../../../../src/server/journal/postgres/database-retention.ts";
import { parseDatabaseUrl } from "../../../../src/server/journal/postgres/database-url.ts";
import { HeldSessions, newId } from "../../../../src/server/journal/postgres/held.ts";
import {
	migrate,
	NewerSchema,
	SCHEMA_VERSION,
} from "../../../../src/server/journal/postgres/schema.ts";
import { command, event, finished, session } from "../../../contracts/journal.ts";
import { PATIENCE } from "../../../support/patience.ts";
import {
	postgresPrograms,
	sharedPostgres,
	startPostgres,
	withPostgres,
} from "../../../support/postgres.ts";
import { atEnd, tempDir } from "../../../support/temp.ts";
import { startSocketProxy } from "../../cluster/socket-proxy.ts";
import { newDatabase, startPostgresJournal } from "./start-postgres-journal.ts";

const name = { principal: "ann", sessionId: "s" };
/** Of a table that grows with use. */
const WHOLE_TABLE = /Seq Scan on (strata\.)?(heads|sessions|commands|entries|owners|events_\d+)\b/;
const hashOf = (text: string) => hash("sha256", text);
/** Short, where a lease has to run out. Elsewhere a busy machine must not end it. */
const SHORT = { leaseMs: 400, renewMs: 80 };
const LONG = { leaseMs: 60_000, renewMs: 1_000 };

/** Two servers; the session `s` is on the first. */
async function twoServers(lease = LONG) {
	const url = await newDatabase();
	const a = await startPostgresJournal(url, { home: "a", clientAddress: "ws://a/", lease });
	const b = await startPostgresJournal(url, { home: "b", clientAddress: "ws://b/", lease });
	await a.claim(name, { create: true });
	await a.finish(finished(command("create"), { session: session("s"), version: 0 }));
	return { url, a, b };
}

async function connect(url: string): Promise<pg.Client> {
	const client = new pg.Client({ connectionString: url });
	client.on("error", () => {});
	await client.connect();
	atEnd(() => client.end());
	return client;
}

describe.runIf(postgresPrograms)(
	withPostgres("a session of several servers"),
	{ tags: "slow" },
	() => {
		test("belongs to one of them, and the others know its address", async () => {
			const { a, b } = await twoServers();
			expect(await b.claim(name)).toEqual({ kind: "elsewhere", address: "ws://a/" });
			expect(await b.claim(name, { create: true })).toEqual({ kind: "exists" });
			await a.admit(command("mine", { sessionId: "s" }));
			await a.append(event(1));
			expect(await b.events(name, 0, 10)).toEqual([event(1)]);
		});

		test("can be claimed at once when it was released, and goes on where it was", async () => {
			const { a, b } = await twoServers();
			await a.append(event(1, { inProgress: true }));
			const change = command("change", { sessionId: "s" });
			await a.admit(change);
			await a.finish(finished(change, { version: 4 }));
			await a.release([name]);
			expect(await b.claim(name)).toMatchObject({
				kind: "held",
				version: 4,
				isCutOff: true,
				record: { id: "s" },
			});
			expect(b.lastSeq(name)).toBe(1);
			await b.append(event(2));
		});

		test("is not taken again by the server that has it: what that is writing stays valid", async () => {
			const { url, a } = await twoServers();
			const client = await connect(url);
			const epoch = async () =>
				(await client.query("SELECT epoch, claim FROM strata.heads WHERE session = 's'")).rows;
			const before = await epoch();
			expect(await a.claim(name)).toEqual({ kind: "held", version: 0 });
			expect(await epoch()).toEqual(before);
		});

		test("can be created while another command looks for it", async () => {
			const a = await startPostgresJournal(await newDatabase(), { lease: LONG });
			const [looked, created] = await Promise.all([a.claim(name), a.claim(name, { create: true })]);
			expect(looked).toEqual({ kind: "none" });
			expect(created).toEqual({ kind: "held", version: 0 });
		});

		test.each([
			["with events", 1],
			["without events", 0],
		])("%s can be created on another server when it was deleted", async (_, events) => {
			const { a, b } = await twoServers();
			if (events > 0) await a.append(event(1));
			expect(await b.claim(name, { create: true })).toEqual({ kind: "exists" });
			await a.finish(finished(command("delete", { sessionId: "s" }), { removed: "s" }));
			expect(await b.claim(name)).toEqual({ kind: "none" });
			expect(await b.claim(name, { create: true })).toEqual({ kind: "held", version: 0 });
			await b.finish(finished(command("again"), { session: session("s"), version: 0 }));
			await expect(a.append(event(3))).rejects.toThrow(SessionLost);
			expect(await a.claim(name)).toEqual({ kind: "elsewhere", address: "ws://b/" });
		});

		test("can be created again when its name was evicted long after it was deleted", async () => {
			const { url, a } = await twoServers();
			await a.finish(finished(command("delete", { sessionId: "s" }), { removed: "s" }));
			const client = await connect(url);
			await client.query("DELETE FROM strata.heads WHERE session = 's'");
			expect(await a.claim(name, { create: true })).toEqual({ kind: "held", version: 0 });
			await a.finish(finished(command("again"), { session: session("s"), version: 0 }));
			await a.append(event(a.lastSeq(name) + 1));
		});

		test("that could not be created leaves its name to other servers, and to retention", async () => {
			const { url, a, b } = await twoServers();
			const failed = { principal: "ann", sessionId: "failed" };
			expect(await a.claim(failed, { create: true })).toMatchObject({ kind: "held" });
			expect(await b.claim(failed, { create: true })).toEqual({ kind: "exists" });
			await a.release([failed]);
			const client = await connect(url);
			const { rows } = await client.query("SELECT ended_at FROM strata.heads ORDER BY id");
			expect(rows.map(({ ended_at }) => ended_at !== null)).toEqual([false, true]);
			expect(await b.claim(failed, { create: true })).toMatchObject({ kind: "held" });
			await b.finish(finished(command("b"), { session: session("failed"), version: 0 }));
			await b.append(event(1, failed));
			expect(await a.claim(failed)).toEqual({ kind: "elsewhere", address: "ws://b/" });
		});

		test("is refused to a server that cannot run it, and stays free", async () => {
			const { a, b } = await twoServers();
			await a.release([name]);
			expect(await b.claim(name, { accepts: () => false })).toEqual({ kind: "refused" });
			expect(await a.claim(name)).toMatchObject({ kind: "held" });
		});

		test("moves when its server is silent for a lease: open commands end as interrupted, and it writes no more", async () => {
			const { a, b } = await twoServers(SHORT);
			const lost: string[] = [];
			a.onLost((names) => lost.push(...names.map(({ sessionId }) => sessionId)));
			await a.admit(command("open", { sessionId: "s" }));
			await a.admit(command("server command"));
			await a.lease.close();
			await vi.waitFor(
				async () => expect(await b.claim(name)).toMatchObject({ kind: "held" }),
				PATIENCE,
			);
			for (const id of ["open", "server command"]) {
				const [found] = await b.find([{ principal: "ann", id }]);
				expect(found?.response).toMatchObject({ success: false, code: "interrupted" });
			}
			const late = finished(command("open", { sessionId: "s" }), { version: 9 });
			await expect(a.finish(late)).rejects.toThrow(SessionLost);
			await expect(a.append(event(1))).rejects.toThrow(SessionLost);
			expect(lost).toEqual(["s"]);
			await b.append(event(1, { body: '"of b"' }));
			expect(await b.events(name, 0, 10)).toEqual([event(1, { body: '"of b"' })]);
			const [open] = await b.find([{ principal: "ann", id: "open" }]);
			expect(open?.response).toMatchObject({ code: "interrupted" });
		});

		test("keeps no other claims waiting while a transaction holds it, and is free when that hangs", async () => {
			const { url, a, b } = await twoServers();
			await a.claim({ ...name, sessionId: "t" }, { create: true });
			await a.finish(finished(command("t"), { session: session("t"), version: 0 }));
			await a.release([name, { ...name, sessionId: "t" }]);
			const hung = await connect(url);
			// As a server that stopped in the middle of a claim. Servers ask for this limit themselves.
			await hung.query("SET idle_in_transaction_session_timeout = 3000");
			await hung.query("BEGIN");
			await hung.query("SELECT 1 FROM strata.heads WHERE session = 's' FOR UPDATE");
			const claims = await Promise.all([b.claim(name), b.claim({ ...name, sessionId: "t" })]);
			expect(claims).toMatchObject([{ kind: "elsewhere" }, { kind: "held" }]);
			await vi.waitFor(async () => {
				expect(await b.claim(name)).toMatchObject({ kind: "held" });
			}, PATIENCE);
		});

		test("that was claimed by a server which was given up before it knew is not held", async () => {
			const { url, a } = await twoServers();
			await a.release([name]);
			const connection = new Connection({
				address: parseDatabaseUrl(url),
				name: "test",
				timeoutMs: 60_000,
			});
			atEnd(() => connection.close());
			let node = { id: newId(), home: "c", address: "ws://c/" };
			await connection.run((client) => register(client, node, 60_000));
			const held = new HeldSessions();
			const claiming = new Claiming({
				connection: {
					run: async (work: (client: pg.Client) => Promise<unknown>) => {
						const answer = await connection.run((client) => work(client as pg.Client));
						node = { ...node, id: newId() };
						return answer;
					},
				} as unknown as Connection,
				held,
				lease: a.lease,
				node: () => node,
				now: Date.now,
			});
			await expect(claiming.claim(name, {})).rejects.toThrow("does not answer");
			const other = { ...name, sessionId: "t" };
			await expect(claiming.claim(other, { create: true })).rejects.toThrow("does not answer");
			expect(held.all()).toEqual([]);
		});

		test("is held by no transaction of a server that does not go on with it", async () => {
			const url = await newDatabase();
			const connection = new Connection({
				address: parseDatabaseUrl(url),
				name: "test",
				timeoutMs: 6_000,
			});
			atEnd(() => connection.close());
			const shown = (setting: string) =>
				connection.run(
					async (client) => (await client.query(`SHOW ${setting}`)).rows[0]?.[setting],
				);
			expect(await shown("idle_in_transaction_session_timeout")).toBe("6s");
			expect(await shown("lock_timeout")).toBe("6s");
		});

		test("a batch with records of a lost session keeps the others", async () => {
			const { url, a } = await twoServers();
			const other = { principal: "ann", sessionId: "t" };
			await a.claim(other, { create: true });
			const thief = await connect(url);
			await thief.query(
				"UPDATE strata.heads SET epoch = epoch + 1, claim = gen_random_uuid() WHERE session = 's'",
			);
			const results = await Promise.allSettled([
				a.append(event(1)),
				a.append(event(1, other)),
				a.admit(command("x", { sessionId: "s" })),
				a.admit(command("y", { sessionId: "t" })),
				a.admit(command("z")),
			]);
			const states = results.map(({ status }) => status);
			expect(states).toEqual(["rejected", "fulfilled", "rejected", "fulfilled", "fulfilled"]);
			expect(await a.find([{ principal: "ann", id: "x" }])).toEqual([undefined]);
		});

		test("is not deleted by a server that has lost it, and its client learns so", async () => {
			const { url, a } = await twoServers();
			const thief = await connect(url);
			await thief.query("UPDATE strata.heads SET claim = gen_random_uuid() WHERE session = 's'");
			const removal = finished(command("delete", { sessionId: "s" }), { removed: "s" });
			await expect(a.finish(removal)).rejects.toThrow(SessionLost);
			const { rows } = await thief.query("SELECT record FROM strata.sessions");
			expect(rows).toHaveLength(1);
		});

		test("is lost once, however many find that its server was given up", async () => {
			const { url, a } = await twoServers();
			const other = await connect(url);
			await a.lease.renew(); // connects
			await other.query("DELETE FROM strata.nodes WHERE home = 'a'");
			const [, appended] = await Promise.allSettled([a.lease.renew(), a.append(event(1))]);
			expect(appended.status).toBe("rejected");
			expect(a.counters()).toMatchObject({ buried: 1, lost: 1 });
			const { rows } = await other.query("SELECT id FROM strata.nodes WHERE home = 'a'");
			expect(rows).toHaveLength(1);
		});

		test("the same epoch with another claim id is not enough", async () => {
			const { url, a } = await twoServers();
			const thief = await connect(url);
			await thief.query("UPDATE strata.heads SET claim = gen_random_uuid() WHERE session = 's'");
			await expect(a.append(event(1))).rejects.toThrow(SessionLost);
		});

		test("an id that another server has used is known at its admission", async () => {
			const { a, b } = await twoServers();
			await a.admit(command("id"));
			await expect(b.admit(command("id"))).rejects.toThrow(AlreadyKnown);
			const [found] = await b.find([{ principal: "ann", id: "id" }]);
			expect(found).toMatchObject({ id: "id", elsewhere: true });
		});

		test("a key that another server has in flight is known, so the command does not run twice", async () => {
			const { a, b } = await twoServers();
			await a.admit(command("id", { idempotencyKey: "k", atMs: Date.now() }));
			const [found] = await b.find([{ principal: "ann", key: "k" }]);
			expect(found).toMatchObject({ id: "id", elsewhere: true });
		});
	},
);

describe.runIf(postgresPrograms)(withPostgres("the journal in Postgres"), { tags: "slow" }, () => {
	test("any name a client may send works for ids, keys and sessions", async () => {
		const journal = await startPostgresJournal(await newDatabase());
		const names = ["a\u0000b", "\ud800", "\udfff", "\ufffd", "ÿ", "x".repeat(256), "'; --", "ä€😀"];
		for (const sessionId of names) {
			expect(await journal.claim({ principal: "ann", sessionId }, { create: true })).toMatchObject({
				kind: "held",
			});
			const made = command(sessionId, {
				sessionId,
				idempotencyKey: sessionId,
				keySessionId: sessionId,
				fingerprint: "1:abc",
			});
			await journal.admit({ ...made, atMs: Date.now() });
			const outcome = finished(made, { session: session(sessionId), finishedAtMs: Date.now() });
			await journal.finish(outcome);
			await journal.append(event(1, { sessionId, body: JSON.stringify(sessionId) }));
		}
		for (const sessionId of names) {
			const [byId, byKey] = await journal.find([
				{ principal: "ann", id: sessionId },
				{ principal: "ann", sessionId, key: sessionId },
			]);
			expect(byId).toMatchObject({ id: sessionId, sessionId });
			expect(byKey).toMatchObject({ id: sessionId });
			const [found] = await journal.events({ principal: "ann", sessionId }, 0, 9);
			expect(found?.body).toBe(JSON.stringify(sessionId));
		}
	});

	test("a record that cannot be stored is refused alone", async () => {
		const journal = await startPostgresJournal(await newDatabase());
		await journal.claim(name, { create: true });
		const results = await Promise.allSettled([
			journal.append(event(1)),
			journal.append(event(2, { body: "a NUL \u0000 is no JSON" })),
			journal.append(event(3)),
		]);
		expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
		expect(journal.health()).toEqual({ ok: true });
		const stored = await journal.events(name, 0, 10);
		expect(stored.map(({ seq }) => seq)).toEqual([1, 3]);
	});

	test("sessions that no server has are known by their principal, and by their folders", async () => {
		const { a, b } = await twoServers();
		const [other, folder] = ["t", '/srv/with "quotes" and \\'];
		await a.claim({ ...name, sessionId: other }, { create: true });
		const record = { ...session(other), cwd: `${folder}/project` };
		await a.finish(finished(command("other"), { session: record, version: 0 }));
		expect(await b.unheld.of("ann")).toEqual([]);
		await a.release([{ ...name, sessionId: other }]);
		expect(await b.unheld.of("ann")).toEqual([record]);
		expect(await b.unheld.of("bob")).toEqual([]);
		expect(await b.unheld.foldersBelow(folder)).toEqual([record.cwd]);
		expect(await b.unheld.foldersBelow("/elsewhere")).toEqual([]);
	});

	test("sessions that other living servers have are counted for their principal", async () => {
		const { a, b } = await twoServers();
		const add = (journal: typeof a, sessionId: string, principal = "ann") =>
			journal.claim({ principal, sessionId }, { create: true });
		await add(b, "own");
		await add(a, "foreign", "bob");
		await add(a, "being created"); // nothing is stored for it yet
		expect(await b.countElsewhere("ann")).toBe(2);
		expect(await a.countElsewhere("ann")).toBe(1);
		await a.finish(finished(command("delete", { sessionId: "s" }), { removed: "s" }));
		expect(await b.countElsewhere("ann")).toBe(1);
		await a.release([{ ...name, sessionId: "being created" }]);
		expect(await b.countElsewhere("ann")).toBe(0);
	});

	test("a name that was used before counts again from its reservation on", async () => {
		const { a, b } = await twoServers();
		await a.finish(finished(command("delete", { sessionId: "s" }), { removed: "s" }));
		await b.claim(name, { create: true });
		expect(await a.countElsewhere("ann")).toBe(1);
	});

	test("a name whose reservation was answered too late is given up", async () => {
		const { url, a, b } = await twoServers();
		const known = { ...name, sessionId: "being created" };
		const late = { ...name, sessionId: "late" };
		await a.claim(known, { create: true });
		const node = { id: a.nodeId, home: "a", address: "ws://a/" };
		await reserveNames(await connect(url), node, [late]);
		const count = () => b.countElsewhere("ann");
		expect(await count()).toBe(3);
		await expect
			.poll(() => {
				a.sweep();
				return count();
			}, PATIENCE)
			.toBe(2);
		expect(await b.claim(late, { create: true })).toEqual({ kind: "held", version: 0 });
		expect(await b.claim(known, { create: true })).toEqual({ kind: "exists" });
		await a.finish(
			finished(command("create it", known), { session: session(known.sessionId), version: 0 }),
		);
		expect(await b.claim(known)).toEqual({ kind: "elsewhere", address: "ws://a/" });
	});

	test("a newer schema is refused, and one that several servers create at once is whole", async () => {
		const url = await newDatabase();
		const clients = await Promise.all([connect(url), connect(url), connect(url)]);
		await Promise.all(clients.map((client) => migrate(client)));
		const [client] = clients as [pg.Client, ...pg.Client[]];
		await client.query("UPDATE strata.schema_version SET version = version + 1");
		await expect(migrate(client)).rejects.toThrow(NewerSchema);
		await expect(startPostgresJournal(url)).rejects.toThrow(
			`cannot use the database ${new URL(url.replace("@/", "@h/")).searchParams.get("host")}`,
		);
		expect(SCHEMA_VERSION).toBe(3);
	});

	test.each([1, 2])(
		"a database of schema %i is brought up to date, with what it has",
		async (from) => {
			const url = await newDatabase();
			const client = await connect(url);
			// Retention, which the first write starts, must have nothing to evict.
			const [first, second] = [event(1, { atMs: Date.now() }), event(2, { atMs: Date.now() })];
			const before = await startPostgresJournal(url);
			await before.claim(name, { create: true });
			await before.finish(finished(command("create"), { session: session("s"), version: 0 }));
			await before.append(first);
			await before.close();
			await client.query("ALTER TABLE strata.nodes DROP COLUMN about; DROP TABLE strata.cluster");
			if (from === 1) {
				await client.query(`ALTER TABLE strata.heads DROP COLUMN is_parked; DROP INDEX strata.commands_open;
				CREATE INDEX commands_open ON strata.commands (node) WHERE outcome IS NULL`);
			}
			await client.query("UPDATE strata.schema_version SET version = $1", [from]);
			const after = await startPostgresJournal(url);
			expect(after.recovered.sessions).toMatchObject([{ id: "s" }]);
			await after.append(second);
			expect(await after.events(name, 0, 10)).toEqual([first, second]);
			expect(await after.clusterSecret("proposed")).toBe("proposed");
			const { rows } = await client.query("SELECT version FROM strata.schema_version");
			expect(rows).toEqual([{ version: SCHEMA_VERSION }]);
		},
	);

	test("every statement uses indexes where tables grow, and none notifies", async () => {
		const log = join(tempDir(), "log");
		const postgres = await startPostgres({
			log,
			settings: [
				"shared_preload_libraries=auto_explain",
				"auto_explain.log_min_duration=0",
				"auto_explain.log_nested_statements=on",
				"log_statement=all",
			],
		});
		atEnd(() => postgres.stop());
		const url = await postgres.database();
		const lease = LONG;
		const a = await startPostgresJournal(url, { home: "a", clientAddress: "ws://a/", lease });
		const b = await startPostgresJournal(url, { home: "b", clientAddress: "ws://b/", lease });
		for (const sessionId of ["s", "gone", "kept"]) {
			const stream = { principal: "ann", sessionId };
			const key = { idempotencyKey: `key of ${sessionId}`, keySessionId: sessionId };
			const made = command(`create ${sessionId}`, { sessionId, ...key });
			await a.claim(stream, { create: true });
			await a.admit(made);
			await a.finish(finished(made, { session: session(sessionId), version: 0 }));
			await a.append(event(1, { sessionId }));
			await a.conversations.keep({ ...stream, conversation: "c", from: 0, bodies: ['"1"', '"2"'] });
		}
		await a.admit(command("open", { sessionId: "s" }));
		await a.own({ principal: "ann", conversation: "c" });
		await a.disown({ principal: "ann", conversation: "d" });
		await a.finish(finished(command("delete", { sessionId: "gone" }), { removed: "gone" }));
		await a.release([name]);
		await b.claim(name);
		await b.find([
			{ principal: "ann", id: "open" },
			{ principal: "ann", sessionId: "kept", key: "key of kept" },
		]);
		await b.events(name, 0, 10);
		await b.extent(name);
		await b.owners(["c"]);
		await b.hasOtherOwner("ann");
		await b.conversations.entries(name, "c");
		await b.locate({ principal: "ann", sessionId: "kept" });
		await b.sessionsOf("ann");
		await b.countElsewhere("ann");
		await b.unheld.of("ann");
		for (const more of [
			{},
			{ sessionId: "s" },
			{ commandId: "open" },
			{ fromMs: 1, toMs: 2_000 },
		]) {
			await b.commandHistory({ principal: "ann", limit: 10, ...more });
		}
		await b.lease.renew();
		a.sweep();
		await a.close();
		await startPostgresJournal(url, { home: "b", clientAddress: "ws://b/", lease });
		const text = readFileSync(log, "utf8");
		const plans = text.split(/(?=LOG: {2})/).filter((entry) => entry.includes("plan:"));
		const seen = [...text.matchAll(/(?:Scan using|Insert on|Update on|Delete on) (\w+)/g)].map(
			([, what]) => what,
		);
		for (const index of [
			"heads_pkey",
			"commands_pkey",
			"commands_by_key",
			"commands_open",
			"entries_pkey",
		]) {
			expect(seen).toContain(index);
		}
		expect(plans.filter((plan) => WHOLE_TABLE.test(plan))).toEqual([]);
		expect(text).not.toMatch(/\bnotify\b/i);
	});

	test("an outage shorter than the lease costs only time", async () => {
		const postgres = await startPostgres();
		atEnd(() => postgres.stop());
		const journal = await startPostgresJournal(await postgres.database(), {
			lease: { leaseMs: 30_000, renewMs: 200 },
		});
		const lost: unknown[] = [];
		journal.onLost((names) => lost.push(...names));
		await journal.claim(name, { create: true });
		await journal.admit(command("during", { sessionId: "s" }));
		await postgres.kill();
		const finishing = journal.finish(
			finished(command("during", { sessionId: "s" }), { version: 1 }),
		);
		const appending = journal.append(event(1));
		await postgres.start();
		await Promise.all([finishing, appending]);
		expect(lost).toEqual([]);
		expect(await journal.events(name, 0, 10)).toEqual([event(1)]);
	});

	test("one that hangs fails all claims and questions together, not one after the other", async () => {
		const postgres = await sharedPostgres();
		const url = await postgres.database();
		const proxy = await startSocketProxy(join(postgres.folder, "hung"), postgres);
		atEnd(() => proxy.close());
		const through = url.replace(
			encodeURIComponent(postgres.socketFolder),
			encodeURIComponent(proxy.folder),
		);
		const lease = { leaseMs: 60_000, renewMs: 30_000 };
		const journal = await startPostgresJournal(through, { lease, questionMs: 300 });
		const sessions = Array.from({ length: 20 }, (_, n) => ({ ...name, sessionId: `s${n}` }));
		await Promise.all(sessions.map((one) => journal.claim(one, { create: true })));
		const before = proxy.connections();
		proxy.set("hang");
		const asked = sessions.flatMap((one) => [
			journal.claim({ ...one, sessionId: `other ${one.sessionId}` }),
			journal.conversations.entries(one, "c"),
		]);
		for (const result of await Promise.allSettled(asked)) {
			expect(result).toMatchObject({ reason: { code: "journal_unavailable" } });
		}
		expect(proxy.connections()).toBeLessThanOrEqual(before + 1);
		proxy.set("pass");
		await vi.waitFor(async () => {
			expect(await journal.claim(name, { create: true })).toMatchObject({ kind: "held" });
		}, PATIENCE);
	});

	test("a longer one refuses changes, lets questions fail with a reason, and ends by itself", async () => {
		const postgres = await startPostgres();
		atEnd(() => postgres.stop());
		const journal = await startPostgresJournal(await postgres.database(), {
			lease: SHORT,
		});
		await journal.claim(name, { create: true });
		await postgres.kill();
		await expect(journal.admit(command("refused", { sessionId: "s" }))).rejects.toMatchObject({
			code: "journal_unavailable",
		});
		expect(journal.health()).toMatchObject({ ok: false });
		await expect(journal.owners(["c"])).rejects.toMatchObject({ code: "journal_unavailable" });
		await postgres.start();
		await vi.waitFor(() => expect(journal.health()).toEqual({ ok: true }), PATIENCE);
		await journal.admit(command("later", { sessionId: "s" }));
	});

	test("events are evicted by the day, and other records by age", async () => {
		const url = await newDatabase();
		const now = { ms: Date.now() };
		const journal = await startPostgresJournal(url, { now: () => now.ms });
		await journal.claim(name, { create: true });
		await journal.finish(
			finished(command("old", { atMs: now.ms, sessionId: "s" }), { session: session("s") }),
		);
		await journal.append(event(1, { atMs: now.ms }));
		await journal.append(event(2, { atMs: 1_000 }));
		const client = await connect(url);
		const count = async (table: string) =>
			Number((await client.query(`SELECT count(*) AS n FROM strata.${table}`)).rows[0]?.n);
		expect(await count("events")).toBe(2);
		expect(await count("events_other")).toBe(1);
		now.ms += 20 * 24 * 60 * 60_000;
		journal.sweep();
		await vi.waitFor(async () => {
			expect(await count("events")).toBe(0);
			expect(await count("commands")).toBe(0);
		}, PATIENCE);
		await vi.waitFor(() => expect(journal.evictedBefore("ann")).toBeGreaterThan(0), PATIENCE);
		expect(await count("sessions")).toBe(1);
	});

	test("a server whose clock is a month ahead evicts nothing for that, and frees no key", async () => {
		const url = await newDatabase();
		const right = await startPostgresJournal(url, { home: "a" });
		const keyed = command("keyed", { idempotencyKey: "k", atMs: right.now() });
		await right.admit(keyed);
		await right.finish(finished(keyed, { finishedAtMs: right.now() }));
		const real = Date.now;
		const clock = vi.spyOn(Date, "now").mockImplementation(() => real() + 30 * 24 * 60 * 60_000);
		atEnd(() => clock.mockRestore());
		const wrong = await startPostgresJournal(url, { home: "b" });
		expect(Math.abs(wrong.now() - real())).toBeLessThan(60_000);
		wrong.sweep();
		await wrong.admit(command("behind the sweep"));
		await wrong.admit(command("later"));
		expect(await wrong.find([{ principal: "ann", id: "keyed" }])).toMatchObject([{ id: "keyed" }]);
		expect(await wrong.find([{ principal: "ann", sessionId: undefined, key: "k" }])).toMatchObject([
			{ id: "keyed" },
		]);
	});

	test("what a deleted session leaves is deleted in steps, however much it is", async () => {
		const url = await newDatabase();
		const client = await connect(url);
		await migrate(client);
		await client.query("INSERT INTO strata.gone_streams VALUES (7), (8)");
		await client.query(
			"INSERT INTO strata.events SELECT 7, n, $1, '1' FROM generate_series(1, 5000) AS n",
			[Date.now()],
		);
		await client.query(
			"INSERT INTO strata.entries SELECT 8, 'c', n, '1' FROM generate_series(1, 3000) AS n",
		);
		const count = async (table: string) =>
			Number((await client.query(`SELECT count(*) FROM strata.${table}`)).rows[0].count);
		const left: number[] = [];
		for (let more = true; more; ) {
			const before = (await count("events")) + (await count("entries"));
			({ more } = await sweepStep(client, {
				kind: "sweep",
				olderThanMs: 0,
				maxBytes: 1e9,
				maxOwned: 10,
			}));
			left.push(before - (await count("events")) - (await count("entries")));
		}
		expect(Math.max(...left)).toBeLessThanOrEqual(4_000);
		expect([await count("events"), await count("entries")]).toEqual([0, 0]);
		expect(await count("gone_streams")).toBe(0);
	});

	test("a conversation is read back as it was kept, under the claim only", async () => {
		const { a, b } = await twoServers();
		const bodies = Array.from({ length: 5 }, (_, n) => JSON.stringify({ n, text: "x".repeat(n) }));
		const part = { ...name, conversation: "c", from: 0, bodies };
		await a.conversations.keep({ ...part, bodies: bodies.slice(0, 2) });
		await a.conversations.keep({ ...part, from: 2, bodies: bodies.slice(2) });
		expect(await b.conversations.entries(name, "c")).toEqual(bodies);
		expect(await b.conversations.entries(name, "d")).toEqual([]);
		await a.release([name]);
		await b.claim(name);
		await b.conversations.keep({ ...part, from: 5, bodies: ['"of b"'] });
		expect(await a.conversations.entries(name, "c")).toEqual([...bodies, '"of b"']);
	});

	test("a conversation larger than a page is read whole, whatever the sizes of its entries", async () => {
		const { a, b } = await twoServers();
		const sizes = [3e6, 1, 3e6, 5e6, 10, 10, 4e6, 0];
		const bodies = sizes.map((size, n) => JSON.stringify({ n, text: "é\n".repeat(size / 4) }));
		await a.conversations.keep({ ...name, conversation: "c", from: 0, bodies });
		expect((await b.conversations.entries(name, "c")).map(hashOf)).toEqual(bodies.map(hashOf));
		const many = Array.from({ length: 45_000 }, (_, n) => `${n}`);
		await a.conversations.keep({ ...name, conversation: "d", from: 0, bodies: many });
		expect((await b.conversations.entries(name, "d")).join()).toBe(many.join());
	});

	test("a conversation that got shorter has no entries left behind its end", async () => {
		const { a, b } = await twoServers();
		const keep = (from: number, bodies: string[], conversation = "c") =>
			a.conversations.keep({ ...name, conversation, from, bodies });
		await keep(0, ['"1"', '"2"', '"3"', '"4"']);
		await keep(0, ['"other"', '"5"'], "d");
		await keep(0, ['"1"', '"new 2"']);
		expect(await b.conversations.entries(name, "c")).toEqual(['"1"', '"new 2"']);
		await keep(2, ['"3"']);
		// In one statement.
		await Promise.all([
			keep(0, ['"a"', '"b"', '"c"', '"d"']),
			keep(0, ['"e"', '"f"']),
			keep(2, ['"g"']),
		]);
		expect(await b.conversations.entries(name, "c")).toEqual(['"e"', '"f"', '"g"']);
		expect(await b.conversations.entries(name, "d")).toEqual(['"other"', '"5"']);
	});

	test("a server that has lost the session deletes no entries of it", async () => {
		const { url, a, b } = await twoServers();
		const part = { ...name, conversation: "c", from: 0 };
		await a.conversations.keep({ ...part, bodies: ['"1"', '"2"'] });
		const thief = await connect(url);
		await thief.query("UPDATE strata.heads SET claim = gen_random_uuid() WHERE session = 's'");
		const shorter = a.conversations.keep({ ...part, bodies: ['"1"'] });
		await expect(shorter).rejects.toThrow(SessionLost);
		expect(await b.conversations.entries(name, "c")).toEqual(['"1"', '"2"']);
	});
});
