import { describe, expect, test } from "vitest";
import type { OwnRead } from "../../src/session/host.ts";
import type { SessionView, System } from "../../src/session/system.ts";
import { fakeSession } from "../support/fake-host.ts";

/** Systems that note in which order they are asked. */
function noting() {
	const asked: string[] = [];
	const system = (name: string, more: Partial<System> = {}): System => ({
		name,
		start: () => void asked.push(`${name} start`),
		stop: () => void asked.push(`${name} stop`),
		async onRequest(messages) {
			asked.push(`${name} request`);
			return messages;
		},
		...more,
	});
	return { asked, system };
}

const draft = (text: string) => ({
	type: "custom_message" as const,
	customType: "toy",
	content: text,
	display: false,
	details: undefined,
});

describe("the systems of a session", () => {
	test("are asked in the order of their list, and stopped in the other", async () => {
		const { asked, system } = noting();
		const { run, emit } = fakeSession();
		await run([system("a"), system("b")]);
		await emit("context_with_system", { messages: [] });
		await emit("session_shutdown", {});
		await emit("session_shutdown", {});
		expect(asked).toEqual(["a start", "b start", "a request", "b request", "b stop", "a stop"]);
	});

	test("see what those before them made of a request, and the ledger sees what all made of it", async () => {
		const { system } = noting();
		const add = (name: string) =>
			system(name, {
				onRequest: async (messages) => [...messages, { role: "user", content: name } as never],
			});
		const { run, emit } = fakeSession();
		await run([add("a"), system("silent"), add("b")]);
		const results = await emit("context_with_system", { messages: [] });
		expect(results).toEqual([
			undefined,
			{ messages: [{ role: "user", content: "a" }] },
			undefined,
			{
				messages: [
					{ role: "user", content: "a" },
					{ role: "user", content: "b" },
				],
			},
			undefined,
		]);
	});

	test("know the drafts of others at the end of a turn, and take none away", async () => {
		const { system } = noting();
		const seen: number[] = [];
		const drafting = (name: string) =>
			system(name, {
				async onTurnEnd({ entries }) {
					seen.push(entries.length);
					return [draft(name)];
				},
			});
		const { run, emit } = fakeSession();
		await run([drafting("a"), system("silent", { onTurnEnd: async () => [] }), drafting("b")]);
		const [result] = await emit("turn_end", { entries: [draft("another extension's")] });
		expect(seen).toEqual([1, 2]);
		expect(result).toEqual({
			entries: [draft("another extension's"), draft("a"), draft("b")],
		});
	});

	test("say nothing at the end of a turn where none has a draft", async () => {
		const { system } = noting();
		const { run, emit } = fakeSession();
		await run([system("a", { onTurnEnd: async () => [] }), system("b")]);
		expect(await emit("turn_end", { entries: [draft("kept")] })).toEqual([undefined]);
	});

	test("each answer a prompt with a message of their own", async () => {
		const { system } = noting();
		const { run, emit } = fakeSession();
		const answering = (name: string) => system(name, { onPrompt: async () => draft(name) });
		await run([answering("a"), answering("b")]);
		const results = await emit("before_agent_start", { prompt: "go" });
		expect(results).toEqual([{ message: draft("a") }, { message: draft("b") }]);
	});

	test("that fail to start or stop are named, and the others go on", async () => {
		const { asked, system } = noting();
		const { session, emit } = fakeSession();
		const failures: string[][] = [];
		const failing = () => Promise.reject(new Error("no disk"));
		session.run([system("a", { start: failing, stop: failing }), system("b")], (_, failed) =>
			failures.push(failed),
		);
		await emit("session_start", { reason: "startup" });
		expect(failures).toEqual([["a could not be started: no disk"]]);
		await expect(emit("session_shutdown", {})).rejects.toThrow("a could not be stopped: no disk");
		expect(asked).toEqual(["b start", "b stop"]);
	});
});

describe("a call of read", () => {
	const plain = async () => ({ content: [{ type: "text" as const, text: "pi's" }], details: {} });

	test("goes to the first system that answers it, and at last to pi", async () => {
		const { system } = noting();
		const { run, host, ctx } = fakeSession();
		const reading = (name: string) =>
			system(name, {
				readGuideline: `${name} too`,
				read: async ({ path }) =>
					path.startsWith(name)
						? { content: [{ type: "text", text: `${name}'s` }], details: {} }
						: undefined,
			});
		await run([reading("a"), system("silent"), reading("ab")]);
		const [[answer, guidelines] = []] = host.ownRead.mock.calls as [[OwnRead, string[]]];
		expect(guidelines).toEqual(["a too", "ab too"]);
		const read = async (path: string) =>
			(await answer?.({ path, toolCallId: "1" }, ctx, plain))?.content[0];
		expect(await read("abc")).toMatchObject({ text: "a's" });
		expect(await read("b")).toMatchObject({ text: "pi's" });
	});

	test("stays pi's own where no system answers any", async () => {
		const { system } = noting();
		const { run, host } = fakeSession();
		await run([system("a")]);
		expect(host.ownRead).not.toHaveBeenCalled();
	});
});

describe("what systems share", () => {
	test("is dropped with its branch, and with its session", async () => {
		const { run, emit, view } = fakeSession();
		await run([]);
		const edit = { owner: "toy", entryId: "e", sentAs: "c", content: null };
		view().edits.add(edit);
		await emit("session_tree", {});
		expect(view().edits.get("e")).toBeUndefined();
		view().edits.add(edit);
		await emit("session_start", { reason: "resume" });
		expect(view().edits.get("e")).toBeUndefined();
	});

	test("is the same for all of them, at every moment", async () => {
		const views: SessionView[] = [];
		const { run, emit } = fakeSession();
		const looking = (name: string): System => ({
			name,
			start: (session) => void views.push(session),
			onRunStart: (session) => void views.push(session),
		});
		await run([looking("a"), looking("b")]);
		await emit("agent_start", {});
		expect(views).toHaveLength(4);
		for (const shared of ["ledger", "edits", "values", "config"] as const) {
			expect(new Set(views.map((view) => view[shared])).size).toBe(1);
		}
	});

	test("tells files that messages show by the first system that knows the message", async () => {
		const { run, view } = fakeSession();
		const item = { customType: "toy" } as never;
		await run([
			{ name: "a", shownBy: () => [] },
			{ name: "b", shownBy: () => [{ path: "x", text: "1" }], shownInRequest: () => undefined },
			{ name: "c", shownBy: () => undefined, shownInRequest: () => [{ path: "y", text: "2" }] },
		]);
		expect(view().shown.shownBy(item)).toEqual([{ path: "x", text: "1" }]);
		expect(view().shown.shownInRequest()).toEqual([{ path: "y", text: "2" }]);
	});
});
