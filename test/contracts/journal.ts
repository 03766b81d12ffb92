import { describe, expect, type TestOptions, test } from "vitest";
import type {
	AdmittedCommand,
	FinishedCommand,
	Journal,
	KeyScope,
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

	async function byId(journal: Journal, principal: string, id: string) {
		return (await journal.find([{ principal, id }]))[0];
	}

	async function byKey(journal: Journal, scope: KeyScope, key: string) {
		return (await journal.find([{ ...scope, key }]))[0];
	}

	describe(`a journal: ${name}`, options, () => {
		test("a command is known from the moment it is admitted, under way until it has an outcome", async () => {
			const { journal } = await begin();
			const admission = journal.admit(command("a"));
			expect(await byId(journal, "ann", "a")).toEqual(command("a"));
			await admission;
			expect((await byId(journal, "ann", "a"))?.response).toBeUndefined();
			const finishing = journal.finish(finished(command("a")));
			expect(await byId(journal, "ann", "a")).toEqual(finished(command("a")));
			await finishing;
			expect(await byId(journal, "ann", "a")).toEqual(finished(command("a")));
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
			expect(await byId(next, "ann", "a")).toEqual(finished(keyed));
			expect(await byKey(next, { principal: "ann", sessionId: "s" }, "k")).toEqual(finished(keyed));
			expect(next.recovered).toEqual({
				sessions: [{ ...session("s"), file: "/sessions/s.jsonl", settings: { n: 2 }, version: 7 }],
				interrupted: [],
				cutOff: [],
				crashed: true,
			});
			expect(await next.events(stream, 0, 10)).toEqual([event(1), event(2)]);
			expect(await next.extent(stream)).toEqual({ first: 1, last: 2 });
		});

		test("the digest of an answer that is not kept is, at once and in the next process", async () => {
			const { process, journal } = await begin();
			const read = { ...finished(command("read")), digest: "9:abc" };
			journal.note(read);
			expect(await byId(journal, "ann", "read")).toEqual(read);
			const { journal: next } = await process.restart();
			expect(await byId(next, "ann", "read")).toEqual(read);
		});

		test("a command under way in a crash ends in a stored failure, which is reported", async () => {
			const { process, journal } = await begin();
			await journal.admit(command("a", { idempotencyKey: "k" }));
			const second = await process.crash();
			const found = await byId(second.journal, "ann", "a");
			expect(found?.response).toMatchObject({
				type: "response",
				command: "set_session_name",
				success: false,
				code: "interrupted",
			});
			expect(second.journal.recovered.interrupted).toEqual([found]);
			expect(await byKey(second.journal, { principal: "ann" }, "k")).toEqual(found);
			const third = await second.crash();
			expect((await byId(third.journal, "ann", "a"))?.response).toEqual(found?.response);
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
			expect(await byId(next, "ann", "read")).toEqual(finished(command("read")));
			expect(await next.events(stream, 0, 10)).toEqual([event(1)]);
		});

		test("the first outcome stays, and a later one only changes the session", async () => {
			const { process, journal } = await begin();
			const admitted = command("a", { sessionId: "s" });
			const { type } = admitted;
			const timeout = { type: "response", command: type, success: false, timedOut: true } as const;
			await run(journal, admitted, { response: timeout });
			const late = journal.finish(finished(admitted, { version: 3 }));
			expect((await byId(journal, "ann", "a"))?.response).toEqual(timeout);
			await late;
			expect((await byId(journal, "ann", "a"))?.response).toEqual(timeout);
			const { journal: next } = await process.crash();
			expect((await byId(next, "ann", "a"))?.response).toEqual(timeout);
			expect(next.recovered.sessions[0]?.version).toBe(3);
		});

		test("a key is known from its outcome on, until its life is over", async () => {
			const { clock, journal } = await begin();
			const keyed = command("a", { idempotencyKey: "k", atMs: clock.now });
			await journal.admit(keyed);
			expect(await byKey(journal, { principal: "ann" }, "k")).toBeUndefined();
			const finishing = journal.finish(finished(keyed, { finishedAtMs: clock.now }));
			expect((await byKey(journal, { principal: "ann" }, "k"))?.id).toBe("a");
			await finishing;
			clock.now += 599_999;
			expect((await byKey(journal, { principal: "ann" }, "k"))?.id).toBe("a");
			clock.now += 1;
			expect(await byKey(journal, { principal: "ann" }, "k")).toBeUndefined();
			const again = command("b", { idempotencyKey: "k", atMs: clock.now });
			await run(journal, again, { finishedAtMs: clock.now });
			expect((await byKey(journal, { principal: "ann" }, "k"))?.id).toBe("b");
		});

		test("keys are scoped by session and principal, ids by principal", async () => {
			const { journal } = await begin();
			const atMs = 9_999;
			await run(journal, command("a", { atMs, idempotencyKey: "k" }));
			const keySessionId = "s";
			await run(journal, command("b", { atMs, idempotencyKey: "k", keySessionId }));
			const bob = command("a", { atMs, principal: "bob", idempotencyKey: "k" });
			await run(journal, bob);
			expect((await byKey(journal, { principal: "ann" }, "k"))?.id).toBe("a");
			expect((await byKey(journal, { principal: "ann", sessionId: "s" }, "k"))?.id).toBe("b");
			expect(await byKey(journal, { principal: "ann", sessionId: "t" }, "k")).toBeUndefined();
			expect((await byKey(journal, { principal: "bob" }, "k"))?.principal).toBe("bob");
			expect(await byKey(journal, { principal: "eve" }, "k")).toBeUndefined();
			expect((await byId(journal, "bob", "a"))?.principal).toBe("bob");
			expect(await byId(journal, "bob", "b")).toBeUndefined();
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
				for (const key of ["k", "late"]) expect(await byKey(journal, scope, key)).toBeUndefined();
				await Promise.all(all);
			}
			await journal.finish(finished(later));
			const { journal: next } = await process.crash();
			for (const known of [journal, next]) {
				for (const key of ["k", "late"]) expect(await byKey(known, scope, key)).toBeUndefined();
				expect((await byKey(known, scope, "later"))?.id).toBe("later");
				expect((await byKey(known, { principal: "ann", sessionId: "t" }, "k"))?.id).toBe("other");
				expect((await byKey(known, { principal: "ann" }, "k"))?.id).toBe("remove");
				expect((await byId(known, "ann", "old"))?.response).toBeDefined();
				expect((await byId(known, "ann", "late"))?.response).toBeDefined();
			}
		});

		test("ids and keys may be any text", async () => {
			const { process, journal } = await begin();
			const ids = [
				...["__proto__", "constructor", "a\u0000b", "'; DROP TABLE commands; --", "1", "ä€😀\n"],
				...["\ud800", "\udfff", "x".repeat(256), "\ude00".repeat(256), "\u0000".repeat(256)],
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
				expect(await byId(next, "ann", id)).toMatchObject({ id, fingerprint });
				expect(await byKey(next, { principal: "ann" }, id)).toMatchObject({ id, fingerprint });
				expect(
					await next.commandHistory({ principal: "ann", commandId: id, limit: 5 }),
				).toHaveLength(1);
			}
			for (const id of ["a", "\ud801", "\ufffd"])
				expect(await byId(next, "ann", id)).toBeUndefined();
		});

		test("another principal is an owner from its first conversation to its last", async () => {
			const { process, journal } = await begin();
			const bob = { principal: "bob", conversation: "b" };
			await journal.own({ principal: "ann", conversation: "a" });
			const isOther = (of: typeof journal) =>
				Promise.all(["ann", "bob"].map((name) => of.hasOtherOwner(name)));
			expect(await isOther(journal)).toEqual([false, true]);
			const taken = journal.own(bob);
			expect(await isOther(journal)).toEqual([true, true]);
			await taken;
			expect(await isOther(journal)).toEqual([true, true]);
			const { journal: next } = await process.crash();
			expect(await isOther(next)).toEqual([true, true]);
			await next.disown(bob);
			expect(await isOther(next)).toEqual([false, true]);
		});

		test("a conversation is the first one's who takes it, at once and after a crash, until they give it up", async () => {
			const { process, journal } = await begin();
			const ann = { principal: "ann", conversation: "a" };
			const bob = { principal: "bob", conversation: "a" };
			const names = ["a", "b", "a"];
			const taken = [journal.own(ann), journal.own(bob), journal.disown(bob)];
			expect(await journal.owners(names)).toEqual(new Map([["a", "ann"]]));
			await Promise.all(taken);
			expect(await journal.owners(names)).toEqual(new Map([["a", "ann"]]));
			const { journal: next } = await process.crash();
			expect(await next.owners(names)).toEqual(new Map([["a", "ann"]]));
			await next.own(bob);
			expect(await next.owners(names)).toEqual(new Map([["a", "ann"]]));
			const given = next.disown(ann);
			expect(await next.owners(names)).toEqual(new Map());
			await given;
			expect(await next.owners(names)).toEqual(new Map());
			await next.own(bob);
			expect(await next.owners(names)).toEqual(new Map([["a", "bob"]]));
			expect(await next.owners([])).toEqual(new Map());
		});

		test("events come in pages, also those that are not written yet", async () => {
			const { journal } = await begin();
			const appends = Array.from({ length: 10 }, (_, index) => journal.append(event(index + 1)));
			for (let round = 0; round < 2; round++) {
				expect((await journal.events(stream, 0, 4)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
				expect((await journal.events(stream, 8, 4)).map(({ seq }) => seq)).toEqual([9, 10]);
				expect(await journal.events(stream, 10, 4)).toEqual([]);
				expect(await journal.extent(stream)).toEqual({ first: 1, last: 10 });
				await Promise.all(appends);
			}
			void journal.append(event(11));
			expect((await journal.events(stream, 9, 4)).map(({ seq }) => seq)).toEqual([10, 11]);
			expect(await journal.extent({ principal: "bob", sessionId: "s" })).toEqual({
				first: 0,
				last: 0,
			});
		});

		test("a removed session is gone with its events at once, and one of its name goes on above their numbers", async () => {
			const { process, journal } = await begin();
			await journal.append(event(1));
			await journal.append(event(2));
			const remove = command("remove", { type: "delete_session", sessionId: "s" });
			await journal.admit(remove);
			const removing = journal.finish(finished(remove, { removed: "s" }));
			expect(await journal.events(stream, 0, 10)).toEqual([]);
			expect(await journal.extent(stream)).toEqual({ first: 4, last: 3 });
			const fresh = event(4, { body: '"fresh"' });
			const appending = journal.append(fresh);
			expect(await journal.events(stream, 0, 10)).toEqual([fresh]);
			const again = command("again", { type: "create_session" });
			await journal.finish(finished(again, { session: session("s"), version: 0 }));
			await Promise.all([removing, appending]);
			expect(await journal.events(stream, 0, 10)).toEqual([fresh]);
			expect(await journal.extent(stream)).toEqual({ first: 4, last: 4 });
			const { journal: next } = await process.crash();
			expect(await next.events(stream, 0, 10)).toEqual([fresh]);
			expect(await next.extent(stream)).toEqual({ first: 4, last: 4 });
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
			expect(await journal.extent(stream)).toEqual({ first: 6, last: 5 });
			await Promise.all(all);
			expect(await journal.extent(stream)).toEqual({ first: 6, last: 5 });
			expect(await journal.extent({ principal: "bob", sessionId: "s" })).toEqual({
				first: 0,
				last: 0,
			});
			const second = await process.crash();
			expect(await second.journal.extent(stream)).toEqual({ first: 6, last: 5 });
			await second.journal.finish(make("c2"));
			const third = await second.restart();
			expect(await third.journal.extent(stream)).toEqual({ first: 6, last: 5 });
			await third.journal.append(event(6));
			expect(await third.journal.events(stream, 2, 10)).toEqual([event(6)]);
		});

		test("the numbers of a session that a crash kept from coming to be are not given again", async () => {
			const { process, journal } = await begin();
			const never = { principal: "ann", sessionId: "never saved" };
			await journal.append(event(1, never));
			const { journal: next } = await process.crash();
			expect(await next.events(never, 0, 10)).toEqual([]);
			expect(await next.extent(never)).toEqual({ first: 3, last: 2 });
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
			expect(
				await journal.commandHistory({ principal: "ann", commandId: "failed", limit: 1 }),
			).toEqual([{ commandId: "failed", commandType: "bash", atMs: 3_000 }]);
			const finishing = journal.finish(finished(failed, { response }));
			const ids = async (query: object) =>
				(await journal.commandHistory({ principal: "ann", limit: 100, ...query })).map(
					(entry) => entry.commandId,
				);
			for (let round = 0; round < 2; round++) {
				expect(await ids({})).toEqual(["failed", "c5", "c4", "c3", "c2", "c1", "create"]);
				expect(await ids({ limit: 2 })).toEqual(["failed", "c5"]);
				expect(await ids({ sessionId: "s" })).toEqual(["c5", "c3", "c1"]);
				expect(await ids({ fromMs: 2_002, toMs: 2_004 })).toEqual(["c4", "c3", "c2"]);
				expect(await ids({ principal: "bob" })).toEqual([]);
				await finishing;
			}
			expect(
				await journal.commandHistory({ principal: "ann", commandId: "failed", limit: 1 }),
			).toEqual([
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
				const about = async (sessionId: string) =>
					(await known.commandHistory({ principal: "ann", sessionId, limit: 9 })).map(
						({ commandId }) => commandId,
					);
				expect(await about("s")).toEqual(["remove"]);
				expect(await about("t")).toEqual(["made"]);
				expect((await byKey(known, { principal: "ann" }, "k"))?.id).toBe("remove");
				expect(await byKey(known, { principal: "ann", sessionId: "s" }, "k")).toBeUndefined();
			}
		});

		test("a session that no process has can be claimed, one that does not exist cannot", async () => {
			const { journal } = await begin();
			const name = { principal: "ann", sessionId: "fresh" };
			expect(await journal.claim({ principal: "ann", sessionId: "nowhere" })).toEqual({
				kind: "none",
			});
			expect(await journal.claim(name, { create: true })).toMatchObject({
				kind: "held",
				version: 0,
			});
			expect(journal.lastSeq(name)).toBe(0);
			await journal.append(event(1, name));
			expect(journal.lastSeq(name)).toBe(1);
		});

		test("records of a released session are written before it is given up", async () => {
			const { process, journal } = await begin();
			await run(journal, command("a", { sessionId: "s" }), { version: 3 });
			await journal.append(event(1));
			await journal.release([stream]);
			const { journal: next } = await process.restart();
			// The next process has it from its start, or takes it when a command names it.
			const [recovered] = next.recovered.sessions;
			expect(recovered ?? (await next.claim(stream))).toMatchObject({ version: 3 });
			expect(next.lastSeq(stream)).toBe(1);
			expect(await next.events(stream, 0, 10)).toEqual([event(1)]);
		});

		test("the history of a command that was interrupted has the code for it", async () => {
			const { process, journal } = await begin();
			await journal.admit(command("cut short"));
			const { journal: next } = await process.crash();
			const [entry] = await next.commandHistory({
				principal: "ann",
				commandId: "cut short",
				limit: 1,
			});
			expect(entry).toMatchObject({ success: false, code: "interrupted" });
		});
	});
}
