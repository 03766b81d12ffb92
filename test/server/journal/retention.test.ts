import { describe, expect, test } from "vitest";
import { command, event, finished, session } from "../../contracts/journal.ts";
import { startJournal } from "./start-journal.ts";

const stream = { principal: "ann", sessionId: "s" };
const DAY_MS = 24 * 60 * 60 * 1_000;

describe("a journal forgets", () => {
	test("what is older than its age, and says that it did, but never which number was the last", {
		tags: "slow",
	}, async () => {
		const clock = { now: 20 * DAY_MS };
		const { journal, dataDir } = await startJournal({ now: () => clock.now });
		const at = (day: number) => ({ atMs: day * DAY_MS });
		await journal.finish(finished(command("old", at(10)), { session: session("s") }));
		await journal.admit(command("running", at(10)));
		await journal.finish(finished(command("new", at(19))));
		for (let seq = 1; seq <= 1_200; seq++) void journal.append(event(seq, at(10)));
		await journal.append(event(1_201, at(12)));
		await journal.flush();
		expect(journal.evictedBefore("ann")).toBe(0);
		expect(journal.stats()).toMatchObject({ commands: 3, events: 1_201, sessions: 1 });

		clock.now = 25 * DAY_MS;
		journal.sweep();
		await journal.flush();
		expect(journal.byId("ann", "old")).toBeUndefined();
		expect(journal.byId("ann", "running")).toBeDefined();
		expect(journal.byId("ann", "new")).toBeDefined();
		expect(journal.evictedBefore("ann")).toBe(10 * DAY_MS + 1);
		expect(journal.evictedBefore("bob")).toBe(0);
		expect(journal.extent(stream)).toEqual({ first: 1_201, last: 1_201 });
		expect(journal.stats()).toMatchObject({ commands: 2, events: 1, sessions: 1 });

		clock.now = 27 * DAY_MS;
		journal.sweep();
		await journal.close();
		const { journal: next } = await startJournal({ now: () => clock.now }, dataDir);
		expect(next.extent(stream)).toEqual({ first: 1_202, last: 1_201 });
		expect(next.evictedBefore("ann")).toBe(10 * DAY_MS + 1);
		expect(next.recovered.sessions).toHaveLength(1);
	});

	test("whose the oldest conversations of a principal are that has too many, and nobody else's", async () => {
		const { journal } = await startJournal({ limits: { maxOwned: 700 } });
		await journal.own({ principal: "ann", conversation: "oldest of all" });
		const names = Array.from({ length: 2_000 }, (_, n) => `c${n}`);
		for (const conversation of names) void journal.own({ principal: "bob", conversation });
		await journal.flush();
		journal.sweep();
		await journal.flush();
		expect([...journal.owners(names).keys()]).toEqual(names.slice(-700));
		expect(journal.owners(["oldest of all"]).get("oldest of all")).toBe("ann");
	});

	test("the oldest when it is too large: outcomes of reads, then events, then outcomes of changes", {
		tags: "slow",
	}, async () => {
		const now = 1_000_000;
		const { journal } = await startJournal({
			now: () => now,
			limits: { maxBytes: 600_000 },
		});
		await journal.finish(finished(command("change"), { session: session("s") }));
		const data = "x".repeat(1_000);
		const response = { type: "response", command: "get_state", success: true, data } as const;
		for (let n = 0; n < 1_000; n++) journal.note(finished(command(`read${n}`), { response }));
		await journal.flush();
		expect(journal.byId("ann", "read0")).toBeUndefined();
		expect(journal.byId("ann", "change")).toBeDefined();
		for (let seq = 1; seq < 2_000; seq++) {
			void journal.append(event(seq, { body: JSON.stringify(data) }));
		}
		await journal.flush();
		const { first, last } = journal.extent(stream);
		expect(last).toBe(1_999);
		expect(first).toBeGreaterThan(1_000);
		expect(journal.byId("ann", "read999")).toBeUndefined();
		expect(journal.byId("ann", "change")).toBeDefined();
	});

	test("the events of a deleted session, all of them", async () => {
		const { journal } = await startJournal();
		await journal.finish(finished(command("create"), { session: session("s") }));
		for (let seq = 1; seq <= 1_500; seq++) void journal.append(event(seq));
		await journal.finish(finished(command("delete", { sessionId: "s" }), { removed: "s" }));
		await journal.flush();
		expect(journal.stats()).toMatchObject({ events: 0, sessions: 0 });
	});

	test("the events of a session that did not live to be recorded", { tags: "slow" }, async () => {
		const first = await startJournal();
		await first.journal.append(event(1));
		first.threads.allowed = false;
		await first.killThread();
		const { journal } = await startJournal({}, first.dataDir);
		expect(journal.events(stream, 0, 1)).toEqual([]);
		await journal.flush();
		expect(journal.stats()).toMatchObject({ events: 0 });
	});

	test("the last number of a deleted session when that was long ago, unless there is one of its name again", async () => {
		const clock = { now: 20 * DAY_MS };
		const { journal } = await startJournal({ now: () => clock.now });
		const names = ["s", "t"];
		for (const id of names) {
			const finishedAtMs = clock.now;
			await journal.append(event(1, { sessionId: id, atMs: clock.now }));
			const remove = command(`delete ${id}`, { sessionId: id, atMs: clock.now });
			await journal.finish(finished(remove, { removed: id, finishedAtMs }));
		}
		await journal.finish(finished(command("create"), { session: session("t"), version: 0 }));
		const lasts = () => names.map((id) => journal.extent({ ...stream, sessionId: id }).last);
		clock.now += 13 * DAY_MS;
		journal.sweep();
		await journal.flush();
		expect(lasts()).toEqual([2, 2]);
		clock.now += 2 * DAY_MS;
		journal.sweep();
		await journal.flush();
		expect(lasts()).toEqual([0, 2]);
	});

	test("the last numbers of the oldest deleted sessions of a principal that has too many", {
		tags: "slow",
	}, async () => {
		const { journal } = await startJournal();
		const sessions = Array.from({ length: 10_200 }, (_, n) => `s${n}`);
		const other = { principal: "bob", sessionId: "s" };
		void journal.append(event(1, other));
		await journal.finish(finished(command("other", other), { removed: "s", finishedAtMs: 1 }));
		for (const [n, sessionId] of sessions.entries()) {
			void journal.append(event(1, { sessionId }));
			const remove = command(`delete ${n}`, { sessionId });
			void journal.finish(finished(remove, { removed: sessionId, finishedAtMs: 2_000 + n }));
		}
		await journal.flush();
		const known = sessions.filter((sessionId) => journal.extent({ ...stream, sessionId }).last > 0);
		expect(known).toEqual(sessions.slice(-10_000));
		expect(journal.extent(other).last).toBe(2);
	});
});

describe("an outcome that is too large", () => {
	const limits = { outcomeBytes: 1_000 };
	const response = {
		type: "response",
		command: "get_messages",
		success: true,
		sessionVersion: 3,
		data: "x".repeat(2_000),
	} as const;

	test("of a read is answered with a failure that says what to do, at once and later", async () => {
		const { journal } = await startJournal({ limits });
		journal.note(finished(command("read"), { response }));
		const early = journal.byId("ann", "read")?.response;
		expect(early).toMatchObject({
			success: false,
			code: "failed",
			error: expect.stringMatching(/too large .* new id/),
		});
		await journal.flush();
		expect(journal.byId("ann", "read")?.response).toEqual(early);
	});

	test("of a change is still a success, without its data", async () => {
		const { journal } = await startJournal({ limits });
		await journal.finish(finished(command("change"), { response }));
		const { data: _, ...rest } = response;
		expect(journal.byId("ann", "change")?.response).toEqual(rest);
	});
});

test("large events come in small pages, without leaving any out", async () => {
	const { journal } = await startJournal();
	const body = JSON.stringify("x".repeat(400_000));
	for (let seq = 1; seq <= 8; seq++) void journal.append(event(seq, { body }));
	await journal.flush();
	void journal.append(event(9));
	const seqs: number[] = [];
	for (;;) {
		const page = journal.events(stream, seqs.at(-1) ?? 0, 100);
		if (page.length === 0) break;
		expect(page.length).toBeLessThan(5);
		seqs.push(...page.map(({ seq }) => seq));
	}
	expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
