import {
	mkdirSync,
	readFileSync,
	renameSync,
	rmdirSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test, vi } from "vitest";
import { type Journal, JournalUnavailable } from "../../../src/server/journal/journal.ts";
import { migrations } from "../../../src/server/journal/schema.ts";
import { command, event, finished, session } from "../../contracts/journal.ts";
import { PATIENCE } from "../../support/patience.ts";
import { tempDir } from "../../support/temp.ts";
import { startJournal } from "./start-journal.ts";

const stream = { principal: "ann", sessionId: "s" };

/** Expects that a record is refused, in words for clients. */
async function refused(writing: Promise<void>, reason: RegExp, dataDir: string): Promise<void> {
	const error = await writing.then(
		() => expect.fail("the record was taken"),
		(reason: unknown) => reason,
	);
	expect(error).toBeInstanceOf(JournalUnavailable);
	expect((error as JournalUnavailable).message).toMatch(reason);
	expect((error as JournalUnavailable).message).not.toContain(dataDir);
}

/** Writes events until the disk has no room for more, and returns how many it took. */
async function fill(journal: Journal): Promise<number> {
	const body = JSON.stringify("x".repeat(20_000));
	for (let seq = 1; ; seq++) {
		try {
			await journal.append(event(seq, { body }));
		} catch {
			return seq - 1;
		}
	}
}

describe("a journal on a full disk", () => {
	const limits = { maxFileBytes: 400_000, retryMs: 20 };

	test("refuses what changes, answers from memory and disk, and recovers by itself with what it owes", {
		tags: "slow",
	}, async () => {
		const { journal, dataDir } = await startJournal({ limits });
		const create = command("create", { sessionId: "s" });
		await journal.finish(finished(create, { session: session("s"), version: 1 }));
		await journal.admit(command("running", { sessionId: "s" }));
		const kept = await fill(journal);
		expect(kept).toBeGreaterThan(3);
		const big = { name: "y".repeat(60_000) };
		const response = {
			type: "response",
			command: "x",
			success: true,
			data: big,
		} as const;
		const done = finished(command("running", { sessionId: "s" }), { response, version: 2 });
		await refused(journal.finish(done), /journal .*disk.* full/, dataDir);
		expect(journal.health()).toEqual({
			ok: false,
			why: "the journal's disk is full, or its file has reached its size limit",
		});
		const own = { principal: "ann", conversation: "c" };
		await refused(journal.own(own), /full/, dataDir);
		expect(journal.owners(["c"]).get("c")).toBe("ann");
		await refused(journal.admit(command("new")), /full/, dataDir);
		expect(journal.byId("ann", "new")).toBeUndefined();
		expect(journal.byId("ann", "create")?.response?.success).toBe(true);
		expect(journal.byId("ann", "running")).toMatchObject({ response, unsaved: true });
		expect(journal.byId("ann", "create")).not.toHaveProperty("unsaved");
		expect(journal.extent(stream)).toEqual({ first: 1, last: kept });

		const other = new DatabaseSync(join(dataDir, "journal.db"));
		other.exec("DELETE FROM events WHERE seq > 1");
		other.close();
		await vi.waitFor(() => expect(journal.health()).toEqual({ ok: true }), PATIENCE);
		await journal.admit(command("new"));
		expect(journal.byId("ann", "running")).not.toHaveProperty("unsaved");
		await journal.close();
		const { journal: next } = await startJournal({}, dataDir);
		expect(next.byId("ann", "running")?.response).toEqual(response);
		expect(next.recovered.sessions[0]?.version).toBe(2);
		expect(next.recovered.interrupted.map(({ id }) => id)).toEqual(["new"]);
	});

	test("when it starts: what it can read it tells, and what was interrupted counts as such", {
		tags: "slow",
	}, async () => {
		const first = await startJournal();
		await first.journal.finish(finished(command("create"), { session: session("s"), version: 4 }));
		const ids = Array.from({ length: 500 }, (_, n) => `running${n}`);
		await Promise.all(ids.map((id) => first.journal.admit(command(id))));
		first.threads.allowed = false;
		await first.killThread();

		// The file may not grow at all, and the failures of so many commands need more than it has.
		const limits = { maxFileBytes: 1, retryMs: 20 };
		const second = await startJournal({ limits }, first.dataDir);
		const { journal } = second;
		expect(journal.health()).toEqual({
			ok: false,
			why: "the journal's disk is full, or its file has reached its size limit",
		});
		expect(journal.recovered.sessions.map(({ version }) => version)).toEqual([4]);
		expect(journal.recovered.interrupted.map(({ id }) => id)).toEqual(ids);
		expect(journal.byId("ann", "running7")?.response?.code).toBe("interrupted");
		await refused(journal.admit(command("new")), /full/, first.dataDir);

		const third = await startJournal({}, first.dataDir);
		expect(third.journal.recovered.interrupted).toHaveLength(500);
		await third.journal.close();
		const fourth = await startJournal({}, first.dataDir);
		expect(fourth.journal.recovered.interrupted).toEqual([]);
		expect(fourth.journal.byId("ann", "running7")?.response?.code).toBe("interrupted");
	});
});

describe("a journal whose file is taken away while it is open", () => {
	test.each([
		["removed", ["journal.db"], (path: string) => rmSync(path)],
		["moved", ["journal.db"], (path: string) => renameSync(path, `${path}.old`)],
		["replaced", ["journal.db"], replaceByNothing],
		["without its log", ["journal.db-wal"], (path: string) => rmSync(path)],
	])(
		"by being %s refuses changes from then on",
		{ tags: "slow" },
		async (_how, names, takeAway) => {
			const { journal, dataDir } = await startJournal();
			await journal.admit(command("before"));
			for (const name of names) takeAway(join(dataDir, name));
			await refused(journal.admit(command("after")), /removed or replaced/, dataDir);
			expect(journal.health()).toMatchObject({ ok: false });
			expect(journal.byId("ann", "after")).toBeUndefined();
		},
	);
});

test("a journal of the first version keeps its keys in their scope", { tags: "slow" }, async () => {
	const dataDir = tempDir();
	const old = new DatabaseSync(join(dataDir, "journal.db"));
	migrations[0]?.(old);
	old.exec("PRAGMA user_version = 1");
	const insert = old.prepare(
		`INSERT INTO commands (principal, id, type, session, fingerprint, key, admitted_at, changing, outcome, finished_at)
			VALUES ('ann', ?, 'x', ?, 'f', 'k', 9000, 1, '{"type":"response","command":"x","success":true}', 9001)`,
	);
	insert.run("of the server", null);
	insert.run("of a session", "s");
	old.close();
	const { journal } = await startJournal({}, dataDir);
	expect(journal.byKey({ principal: "ann" }, "k")?.id).toBe("of the server");
	expect(journal.byKey({ principal: "ann", sessionId: "s" }, "k")?.id).toBe("of a session");
	const history = journal.commandHistory({ principal: "ann", sessionId: "s", limit: 9 });
	expect(history.map(({ commandId }) => commandId)).toEqual(["of a session"]);
});

describe("a journal whose file cannot be used", () => {
	test.each([
		["is something else", "these are not the bytes of a database, ".repeat(500), /damaged/],
		["is damaged", "SQLite format 3\0".padEnd(8_192, "\0"), /damaged/],
	])("because it %s stays closed and touches nothing", async (_, content, why) => {
		const dataDir = tempDir();
		const file = join(dataDir, "journal.db");
		writeFileSync(file, content);
		const { journal } = await startJournal({ limits: { retryMs: 10 } }, dataDir);
		expect(journal.health()).toEqual({ ok: false, why: expect.stringMatching(why) });
		expect(journal.recovered).toEqual({
			sessions: [],
			interrupted: [],
			cutOff: [],
			crashed: false,
		});
		await refused(journal.admit(command("a")), why, dataDir);
		await refused(journal.append(event(1)), why, dataDir);
		await refused(journal.finish(finished(command("a"))), why, dataDir);
		journal.note(finished(command("read")));
		expect(journal.events(stream, 0, 10)).toEqual([]);
		expect(
			journal.commandHistory({ principal: "ann", limit: 10 }).map((entry) => entry.commandId),
		).toEqual(["a"]);
		await journal.close();
		expect(readFileSync(file, "utf8")).toBe(content);
	});

	test("because a newer pi-strata wrote it says so", async () => {
		const dataDir = tempDir();
		const newer = new DatabaseSync(join(dataDir, "journal.db"));
		newer.exec("CREATE TABLE future (a); PRAGMA user_version = 99");
		newer.close();
		const { journal } = await startJournal({}, dataDir);
		expect(journal.health()).toEqual({ ok: false, why: expect.stringMatching(/newer/) });
	});

	test("for a while is opened as soon as it can be, if there was nothing in it", async () => {
		const dataDir = tempDir();
		mkdirSync(join(dataDir, "journal.db"));
		const { journal } = await startJournal({ limits: { retryMs: 10 } }, dataDir);
		await refused(journal.admit(command("a")), /cannot be opened/, dataDir);
		rmdirSync(join(dataDir, "journal.db"));
		await vi.waitFor(() => expect(journal.health()).toEqual({ ok: true }), PATIENCE);
		await journal.admit(command("a"));
		await journal.finish(finished(command("a")));
		expect(journal.byId("ann", "a")).toEqual(finished(command("a")));
	});

	test("for a while, with commands in it that this process has not seen, needs a new start", {
		tags: "slow",
	}, async () => {
		const full = await startJournal();
		await full.journal.finish(finished(command("old")));
		await full.journal.close();
		const blocked = tempDir();
		mkdirSync(join(blocked, "journal.db"));
		const dataDir = join(tempDir(), "link");
		symlinkSync(blocked, dataDir);
		const { journal } = await startJournal({ limits: { retryMs: 10 } }, dataDir);
		symlinkSync(full.dataDir, `${dataDir}-2`);
		renameSync(`${dataDir}-2`, dataDir);
		await vi.waitFor(
			() =>
				expect(journal.health()).toMatchObject({
					why: expect.stringMatching(/restart the server/),
				}),
			PATIENCE,
		);
		await refused(journal.admit(command("old")), /restart/, dataDir);
	});

	test("any more refuses changes from the first failed lookup on", { tags: "slow" }, async () => {
		const first = await startJournal();
		for (let n = 0; n < 50; n++) await first.journal.finish(finished(command(`c${n}`)));
		await first.journal.close();
		const file = join(first.dataDir, "journal.db");
		const database = new DatabaseSync(file);
		const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'commands_by_id'";
		const page = Number(database.prepare(sql).get()?.rootpage);
		database.close();
		const bytes = readFileSync(file);
		bytes.fill(0xff, (page - 1) * 4_096, page * 4_096);
		writeFileSync(file, bytes);
		const { journal } = await startJournal({ limits: { retryMs: 10 } }, first.dataDir);
		expect(journal.byId("ann", "c7")).toBeUndefined();
		expect(journal.health()).toEqual({ ok: false, why: expect.stringMatching(/damaged/) });
		await refused(journal.admit(command("c7")), /damaged/, first.dataDir);
	});
});

describe("the thread of a journal", () => {
	test("can die once without anybody noticing", { tags: "slow" }, async () => {
		const { journal, killThread } = await startJournal();
		await journal.finish(finished(command("create"), { session: session("s") }));
		const writing = Array.from({ length: 20 }, (_, n) => journal.append(event(n + 1)));
		const admitting = journal.admit(command("a"));
		await killThread();
		await Promise.all([...writing, admitting]);
		expect(journal.health()).toEqual({ ok: true });
		expect(journal.byId("ann", "a")?.response).toBeUndefined();
		expect(journal.events(stream, 0, 100)).toHaveLength(20);
	});

	test("that cannot be started makes the journal refuse, until it can", {
		tags: "slow",
	}, async () => {
		const { journal, killThread, threads, dataDir } = await startJournal({
			limits: { retryMs: 10 },
		});
		threads.allowed = false;
		await killThread();
		await refused(journal.admit(command("a")), /writer thread stopped/, dataDir);
		threads.allowed = true;
		await vi.waitFor(() => expect(journal.health()).toEqual({ ok: true }), PATIENCE);
		await journal.admit(command("a"));
	});
});

test("a journal with too much to write asks for patience, but takes outcomes", async () => {
	const { journal, dataDir } = await startJournal({ limits: { pendingBytes: 10_000 } });
	const writing = Array.from({ length: 50 }, (_, n) => journal.admit(command(`c${n}`)));
	const outcome = journal.finish(finished(command("c0")));
	const settled = await Promise.allSettled(writing);
	const rejected = settled.filter(({ status }) => status === "rejected");
	expect(rejected.length).toBeGreaterThan(10);
	expect(rejected.length).toBeLessThan(50);
	for (const { reason } of rejected as PromiseRejectedResult[]) expect(reason.code).toBe("busy");
	await outcome;
	await journal.admit(command("later"));
	await journal.close();
	await refused(journal.admit(command("too late")), /closed/, dataDir);
});

function replaceByNothing(path: string): void {
	rmSync(path);
	writeFileSync(path, "");
}
