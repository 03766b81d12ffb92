import { describe, expect, type TestOptions, test } from "vitest";
import type {
	AdmittedCommand,
	FinishedCommand,
	Journal,
	SessionRecord,
	StreamEvent,
} from "../../src/server/journal/journal.ts";

/** A journal with a process around it. */
export interface JournalProcess {
	journal: Journal;
	/** The process dies, and another one opens the journal. */
	crash(): Promise<JournalProcess>;
	/** The process closes the journal, and another one opens it. */
	restart(): Promise<JournalProcess>;
}

/** A changing command that is about to run. */
export function command(id: string, more: Partial<AdmittedCommand> = {}): AdmittedCommand {
	return {
		principal: "ann",
		id,
		type: "set_session_name",
		fingerprint: `print of ${id}`,
		atMs: 1_000,
		...more,
	};
}

/** The same command when it has run. */
export function finished(
	admitted: AdmittedCommand,
	more: Partial<FinishedCommand> = {},
): FinishedCommand {
	const { type } = admitted;
	return {
		...admitted,
		response: { type: "response", command: type, success: true, data: { by: admitted.id } },
		finishedAtMs: admitted.atMs + 5,
		...more,
	};
}

export function session(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
	return {
		principal: "ann",
		id,
		cwd: "/project",
		createdAtMs: 900,
		settings: { name: `session ${id}` },
		...more,
	};
}

export function event(seq: number, more: Partial<StreamEvent> = {}): StreamEvent {
	return {
		principal: "ann",
		sessionId: "s",
		seq,
		atMs: 1_000 + seq,
		body: `{"type":"agent_start","n":${seq}}`,
		...more,
	};
}

/** What every journal must do, whatever it keeps its records in. */
export function testJournal(
	name: string,
	start: (clock: { now: number }) => Promise<JournalProcess>,
	options: TestOptions = {},
): void {
	const stream = { principal: "ann", sessionId: "s" };

	/** A journal with the session `s`, and commands that are done as soon as they are durable. */
	async function begin() {
		const clock = { now: 10_000 };
		const process = await start(clock);
		const create = command("create", { type: "create_session" });
		await process.journal.finish(finished(create, { session: session("s"), version: 0 }));
		return { clock, process, journal: process.journal };
	}

	async function run(
		journal: Journal,
		admitted: AdmittedCommand,
		more: Partial<FinishedCommand> = {},
	): Promise<void> {
		await journal.admit(admitted);
		await journal.finish(finished(admitted, more));
	}

	describe(`a journal: ${name}`, options, () => {
		test("a command is known from the moment it is admitted, under way until it has an outcome", async () => {
			const { journal } = await begin();
			const admission = journal.admit(command("a"));
			expect(journal.byId("ann", "a")).toEqual(command("a"));
			await admission;
			expect(journal.byId("ann", "a")?.response).toBeUndefined();
			const finishing = journal.finish(finished(command("a")));
			expect(journal.byId("ann", "a")).toEqual(finished(command("a")));
			await finishing;
			expect(journal.byId("ann", "a")).toEqual(finished(command("a")));
		});

		test("outcomes, keys, sessions, versions and events are there after a crash", async () => {
			const { process, journal } = await begin();
			const keyed = command("a", {
				sessionId: "s",
				idempotencyKey: "k",
				keySessionId: "s",
				atMs: 9_990,
			});
			await run(journal, keyed, { version: 7 });
			await journal.saveSession(session("s", { file: "/sessions/s.jsonl", settings: { n: 2 } }));
			await journal.append(event(1));
			await journal.append(event(2));
			const { journal: next } = await process.crash();
			expect(next.byId("ann", "a")).toEqual(finished(keyed));
			expect(next.byKey({ principal: "ann", sessionId: "s" }, "k")).toEqual(finished(keyed));
			expect(next.recovered).toEqual({
				sessions: [{ ...session("s"), file: "/sessions/s.jsonl", settings: { n: 2 }, version: 7 }],
				interrupted: [],
				cutOff: [],
				crashed: true,
			});
			expect(next.events(stream, 0, 10)).toEqual([event(1), event(2)]);
			expect(next.extent(stream)).toEqual({ first: 1, last: 2 });
		});

		test("the digest of an answer that is not kept is, at once and in the next process", async () => {
			const { process, journal } = await begin();
			const read = { ...finished(command("read")), digest: "9:abc" };
			journal.note(read);
			expect(journal.byId("ann", "read")).toEqual(read);
			const { journal: next } = await process.restart();
			expect(next.byId("ann", "read")).toEqual(read);
		});

		test("a command under way in a crash ends in a stored failure, which is reported", async () => {
			const { process, journal } = await begin();
			await journal.admit(command("a", { idempotencyKey: "k" }));
			const second = await process.crash();
			const found = second.journal.byId("ann", "a");
			expect(found?.response).toMatchObject({
				type: "response",
				command: "set_session_name",
				success: false,
				code: "interrupted",
			});
			expect(second.journal.recovered.interrupted).toEqual([found]);
			expect(second.journal.byKey({ principal: "ann" }, "k")).toEqual(found);
			const third = await second.crash();
			expect(third.journal.byId("ann", "a")?.response).toEqual(found?.response);
		});

		test("a stream is cut off while its last event left something under way, however often it is opened", async () => {
			const { process, journal } = await begin();
			await journal.append(event(1, { inProgress: true }));
			await journal.append(event(1, { sessionId: "never saved", inProgress: true }));
			const second = await process.crash();
			expect(second.journal.recovered.cutOff).toEqual([stream]);
			const third = await second.restart();
			expect(third.journal.recovered.cutOff).toEqual([stream]);
			await third.journal.append(event(2));
			const fourth = await third.crash();
			expect(fourth.journal.recovered.cutOff).toEqual([]);
			void fourth.journal.append(event(3, { inProgress: true }));
			await fourth.journal.append(event(4));
			const fifth = await fourth.crash();
			expect(fifth.journal.recovered.cutOff).toEqual([]);
		});

		test("says whether the last process closed it", async () => {
			const { process } = await begin();
			expect(process.journal.recovered.crashed).toBe(false);
			const second = await process.restart();
			expect(second.journal.recovered.crashed).toBe(false);
			await second.journal.append(event(1));
			const third = await second.crash();
			expect(third.journal.recovered.crashed).toBe(true);
			expect(third.journal.health()).toEqual({ ok: true });
		});

		test("closing writes what is pending, also what nobody waits for", async () => {
			const { process, journal } = await begin();
			journal.note(finished(command("read")));
			void journal.append(event(1));
			const { journal: next } = await process.restart();
			expect(next.byId("ann", "read")).toEqual(finished(command("read")));
			expect(next.events(stream, 0, 10)).toEqual([event(1)]);
		});

		test("the first outcome stays, and a later one only changes the session", async () => {
			const { process, journal } = await begin();
			const admitted = command("a", { sessionId: "s" });
			const { type } = admitted;
			const timeout = { type: "response", command: type, success: false, timedOut: true } as const;
			await run(journal, admitted, { response: timeout });
			const late = journal.finish(finished(admitted, { version: 3 }));
			expect(journal.byId("ann", "a")?.response).toEqual(timeout);
			await late;
			expect(journal.byId("ann", "a")?.response).toEqual(timeout);
			const { journal: next } = await process.crash();
			expect(next.byId("ann", "a")?.response).toEqual(timeout);
			expect(next.recovered.sessions[0]?.version).toBe(3);
		});

		test("a key is known from its outcome on, until its life is over", async () => {
			const { clock, journal } = await begin();
			const keyed = command("a", { idempotencyKey: "k", atMs: clock.now });
			await journal.admit(keyed);
			expect(journal.byKey({ principal: "ann" }, "k")).toBeUndefined();
			const finishing = journal.finish(finished(keyed, { finishedAtMs: clock.now }));
			expect(journal.byKey({ principal: "ann" }, "k")?.id).toBe("a");
			await finishing;
			clock.now += 599_999;
			expect(journal.byKey({ principal: "ann" }, "k")?.id).toBe("a");
			clock.now += 1;
			expect(journal.byKey({ principal: "ann" }, "k")).toBeUndefined();
			const again = command("b", { idempotencyKey: "k", atMs: clock.now });
			await run(journal, again, { finishedAtMs: clock.now });
			expect(journal.byKey({ principal: "ann" }, "k")?.id).toBe("b");
		});

		test("keys are scoped by session and principal, ids by principal", async () => {
			const { journal } = await begin();
			const atMs = 9_999;
			await run(journal, command("a", { atMs, idempotencyKey: "k" }));
			const keySessionId = "s";
			await run(journal, command("b", { atMs, idempotencyKey: "k", keySessionId }));
			const bob = command("a", { atMs, principal: "bob", idempotencyKey: "k" });
			await run(journal, bob);
			expect(journal.byKey({ principal: "ann" }, "k")?.id).toBe("a");
			expect(journal.byKey({ principal: "ann", sessionId: "s" }, "k")?.id).toBe("b");
			expect(journal.byKey({ principal: "ann", sessionId: "t" }, "k")).toBeUndefined();
			expect(journal.byKey({ principal: "bob" }, "k")?.principal).toBe("bob");
			expect(journal.byKey({ principal: "eve" }, "k")).toBeUndefined();
			expect(journal.byId("bob", "a")?.principal).toBe("bob");
			expect(journal.byId("bob", "b")).toBeUndefined();
		});

		test("the keys of a removed session are gone with it; ids, other keys and what is under way stay", async () => {
			const { process, journal } = await begin();
			const atMs = 9_990;
			const keyed = (id: string, sessionId: string) =>
				command(id, { atMs, sessionId, idempotencyKey: "k", keySessionId: sessionId });
			const scope = { principal: "ann", sessionId: "s" };
			await run(journal, keyed("old", "s"));
			await run(journal, keyed("other", "t"));
			const later = { ...keyed("later", "s"), idempotencyKey: "later" };
			const remove = command("remove", { type: "delete_session", sessionId: "s", atMs });
			const all = [
				journal.finish(finished({ ...keyed("late", "s"), idempotencyKey: "late" })),
				journal.admit(later),
				journal.finish(finished({ ...remove, idempotencyKey: "k" }, { removed: "s" })),
			];
			for (let round = 0; round < 2; round++) {
				for (const key of ["k", "late"]) expect(journal.byKey(scope, key)).toBeUndefined();
				await Promise.all(all);
			}
			await journal.finish(finished(later));
			const { journal: next } = await process.crash();
			for (const known of [journal, next]) {
				for (const key of ["k", "late"]) expect(known.byKey(scope, key)).toBeUndefined();
				expect(known.byKey(scope, "later")?.id).toBe("later");
				expect(known.byKey({ principal: "ann", sessionId: "t" }, "k")?.id).toBe("other");
				expect(known.byKey({ principal: "ann" }, "k")?.id).toBe("remove");
				expect(known.byId("ann", "old")?.response).toBeDefined();
				expect(known.byId("ann", "late")?.response).toBeDefined();
			}
		});

		test("ids and keys may be any text", async () => {
			const { process, journal } = await begin();
			const ids = [
				...["__proto__", "constructor", "a\u0000b", "'; DROP TABLE commands; --", "1", "ä€😀\n"],
				...["\ud800", "\udfff"],
			];
			await Promise.all(
				ids.map((id, index) => {
					const fingerprint = String(index);
					return run(journal, command(id, { idempotencyKey: id, atMs: 9_999, fingerprint }));
				}),
			);
			const { journal: next } = await process.crash();
			for (const [index, id] of ids.entries()) {
				const fingerprint = String(index);
				expect(next.byId("ann", id)).toMatchObject({ id, fingerprint });
				expect(next.byKey({ principal: "ann" }, id)).toMatchObject({ id, fingerprint });
				expect(next.commandHistory({ principal: "ann", commandId: id, limit: 5 })).toHaveLength(1);
			}
			for (const id of ["a", "\ud801", "\ufffd"]) expect(next.byId("ann", id)).toBeUndefined();
		});

		test("another principal is an owner from its first conversation to its last", async () => {
			const { process, journal } = await begin();
			const bob = { principal: "bob", conversation: "b" };
			await journal.own({ principal: "ann", conversation: "a" });
			const isOther = (of: typeof journal) => ["ann", "bob"].map((name) => of.hasOtherOwner(name));
			expect(isOther(journal)).toEqual([false, true]);
			const taken = journal.own(bob);
			expect(isOther(journal)).toEqual([true, true]);
			await taken;
			expect(isOther(journal)).toEqual([true, true]);
			const { journal: next } = await process.crash();
			expect(isOther(next)).toEqual([true, true]);
			await next.disown(bob);
			expect(isOther(next)).toEqual([false, true]);
		});

		test("a conversation is the first one's who takes it, at once and after a crash, until they give it up", async () => {
			const { process, journal } = await begin();
			const ann = { principal: "ann", conversation: "a" };
			const bob = { principal: "bob", conversation: "a" };
			const names = ["a", "b", "a"];
			const taken = [journal.own(ann), journal.own(bob), journal.disown(bob)];
			expect(journal.owners(names)).toEqual(new Map([["a", "ann"]]));
			await Promise.all(taken);
			expect(journal.owners(names)).toEqual(new Map([["a", "ann"]]));
			const { journal: next } = await process.crash();
			expect(next.owners(names)).toEqual(new Map([["a", "ann"]]));
			await next.own(bob);
			expect(next.owners(names)).toEqual(new Map([["a", "ann"]]));
			const given = next.disown(ann);
			expect(next.owners(names)).toEqual(new Map());
			await given;
			expect(next.owners(names)).toEqual(new Map());
			await next.own(bob);
			expect(next.owners(names)).toEqual(new Map([["a", "bob"]]));
			expect(next.owners([])).toEqual(new Map());
		});

		test("events come in pages, also those that are not written yet", async () => {
			const { journal } = await begin();
			const appends = Array.from({ length: 10 }, (_, index) => journal.append(event(index + 1)));
			for (let round = 0; round < 2; round++) {
				expect(journal.events(stream, 0, 4).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
				expect(journal.events(stream, 8, 4).map(({ seq }) => seq)).toEqual([9, 10]);
				expect(journal.events(stream, 10, 4)).toEqual([]);
				expect(journal.extent(stream)).toEqual({ first: 1, last: 10 });
				await Promise.all(appends);
			}
			void journal.append(event(11));
			expect(journal.events(stream, 9, 4).map(({ seq }) => seq)).toEqual([10, 11]);
			expect(journal.extent({ principal: "bob", sessionId: "s" })).toEqual({ first: 0, last: 0 });
		});

		test("a removed session is gone with its events at once, and one of its name goes on above their numbers", async () => {
			const { process, journal } = await begin();
			await journal.append(event(1));
			await journal.append(event(2));
			const remove = command("remove", { type: "delete_session", sessionId: "s" });
			await journal.admit(remove);
			const removing = journal.finish(finished(remove, { removed: "s" }));
			expect(journal.events(stream, 0, 10)).toEqual([]);
			expect(journal.extent(stream)).toEqual({ first: 4, last: 3 });
			const fresh = event(4, { body: '"fresh"' });
			const appending = journal.append(fresh);
			expect(journal.events(stream, 0, 10)).toEqual([fresh]);
			const again = command("again", { type: "create_session" });
			await journal.finish(finished(again, { session: session("s"), version: 0 }));
			await Promise.all([removing, appending]);
			expect(journal.events(stream, 0, 10)).toEqual([fresh]);
			expect(journal.extent(stream)).toEqual({ first: 4, last: 4 });
			const { journal: next } = await process.crash();
			expect(next.events(stream, 0, 10)).toEqual([fresh]);
			expect(next.extent(stream)).toEqual({ first: 4, last: 4 });
			expect(next.recovered.sessions.map(({ version }) => version)).toEqual([0]);
		});

		test("the numbers of a removed session are not given again, however often it is removed, also after a crash", async () => {
			const { process, journal } = await begin();
			const remove = (id: string) =>
				finished(command(id, { type: "delete_session", sessionId: "s" }), { removed: "s" });
			const make = (id: string) =>
				finished(command(id, { type: "create_session" }), { session: session("s"), version: 0 });
			await journal.append(event(1));
			const all = [
				journal.append(event(2)),
				journal.finish(remove("r1")),
				journal.finish(make("c1")),
				journal.append(event(4)),
				journal.finish(remove("r2")),
			];
			expect(journal.extent(stream)).toEqual({ first: 6, last: 5 });
			await Promise.all(all);
			expect(journal.extent(stream)).toEqual({ first: 6, last: 5 });
			expect(journal.extent({ principal: "bob", sessionId: "s" })).toEqual({ first: 0, last: 0 });
			const second = await process.crash();
			expect(second.journal.extent(stream)).toEqual({ first: 6, last: 5 });
			await second.journal.finish(make("c2"));
			const third = await second.restart();
			expect(third.journal.extent(stream)).toEqual({ first: 6, last: 5 });
			await third.journal.append(event(6));
			expect(third.journal.events(stream, 2, 10)).toEqual([event(6)]);
		});

		test("the numbers of a session that a crash kept from coming to be are not given again", async () => {
			const { process, journal } = await begin();
			const never = { principal: "ann", sessionId: "never saved" };
			await journal.append(event(1, never));
			const { journal: next } = await process.crash();
			expect(next.events(never, 0, 10)).toEqual([]);
			expect(next.extent(never)).toEqual({ first: 3, last: 2 });
		});

		test("the history has the newest first, by session, id and time", async () => {
			const { journal } = await begin();
			for (let n = 1; n <= 5; n++) {
				const sessionId = n % 2 ? "s" : "t";
				const admitted = command(`c${n}`, { sessionId, atMs: 2_000 + n });
				await run(journal, admitted);
			}
			const failed = command("failed", { type: "bash", atMs: 3_000 });
			const response = {
				type: "response",
				command: "bash",
				success: false,
				error: "no",
				code: "failed",
				sessionVersion: 4,
			} as const;
			void journal.admit(failed);
			expect(journal.commandHistory({ principal: "ann", commandId: "failed", limit: 1 })).toEqual([
				{ commandId: "failed", commandType: "bash", atMs: 3_000 },
			]);
			const finishing = journal.finish(finished(failed, { response }));
			const ids = (query: object) =>
				journal
					.commandHistory({ principal: "ann", limit: 100, ...query })
					.map((entry) => entry.commandId);
			for (let round = 0; round < 2; round++) {
				expect(ids({})).toEqual(["failed", "c5", "c4", "c3", "c2", "c1", "create"]);
				expect(ids({ limit: 2 })).toEqual(["failed", "c5"]);
				expect(ids({ sessionId: "s" })).toEqual(["c5", "c3", "c1"]);
				expect(ids({ fromMs: 2_002, toMs: 2_004 })).toEqual(["c4", "c3", "c2"]);
				expect(ids({ principal: "bob" })).toEqual([]);
				await finishing;
			}
			expect(journal.commandHistory({ principal: "ann", commandId: "failed", limit: 1 })).toEqual([
				{
					commandId: "failed",
					commandType: "bash",
					atMs: 3_000,
					finishedAtMs: 3_005,
					success: false,
					error: "no",
					code: "failed",
					sessionVersion: 4,
				},
			]);
		});

		test("a server command is in the history of the session it is about, and its key is the server's", async () => {
			const { process, journal } = await begin();
			const atMs = 9_990;
			const remove = command("remove", {
				type: "delete_session",
				sessionId: "s",
				idempotencyKey: "k",
				atMs,
			});
			await run(journal, remove, { removed: "s" });
			// Which session it opens is known when it has ended.
			const create = command("made", { type: "create_session", atMs });
			await journal.admit(create);
			const made = { sessionId: "t", session: session("t"), version: 0 };
			await journal.finish(finished(create, made));
			const { journal: next } = await process.crash();
			for (const known of [journal, next]) {
				const about = (sessionId: string) =>
					known
						.commandHistory({ principal: "ann", sessionId, limit: 9 })
						.map(({ commandId }) => commandId);
				expect(about("s")).toEqual(["remove"]);
				expect(about("t")).toEqual(["made"]);
				expect(known.byKey({ principal: "ann" }, "k")?.id).toBe("remove");
				expect(known.byKey({ principal: "ann", sessionId: "s" }, "k")).toBeUndefined();
			}
		});

		test("the history of a command that was interrupted has the code for it", async () => {
			const { process, journal } = await begin();
			await journal.admit(command("cut short"));
			const { journal: next } = await process.crash();
			const [entry] = next.commandHistory({ principal: "ann", commandId: "cut short", limit: 1 });
			expect(entry).toMatchObject({ success: false, code: "interrupted" });
		});
	});
}
