import type { SessionManager, SessionProjection } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { type ContextItem, Ledger, type SessionSource } from "../../src/session/index.ts";
import { createObservation } from "../../src/session/messages.ts";
import { fc, runs } from "../support/property.ts";
import { anyHistory, historyWithoutEdits, play } from "./random-session.ts";
import {
	appendCalls,
	appendRead,
	appendResult,
	newSession,
	PICTURE,
	resultOf,
	resultsOf,
} from "./sessions.ts";

type Message = SessionProjection["messages"][number];

describe("the log of any session", () => {
	test("is the same whether it grew question by question or is built afresh", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(anyHistory, (steps) => {
				const ledger = new Ledger();
				play(steps, (session) => {
					expect(ledger.log(session).items).toEqual(new Ledger().log(session).items);
				});
			}),
			{ numRuns: runs(400) },
		);
	});

	test("holds, text by text, what the messages for the model hold", { tags: "slow" }, () => {
		fc.assert(
			fc.property(anyHistory, (steps) => {
				const ledger = new Ledger();
				play(steps, (session) => {
					const found = resultsOf(ledger.log(session))
						.filter(({ text }) => text !== undefined)
						.map(({ toolCallId, text, input }) => ({ toolCallId, text, input }));
					expect(found).toEqual(textResults(session.buildSessionProjection().messages));
				});
			}),
			{ numRuns: runs(400) },
		);
	});

	test("only grows at its end within one epoch, and numbers its items in order", () => {
		fc.assert(
			fc.property(anyHistory, (steps) => {
				const ledger = new Ledger();
				let last: { epoch: number; items: ContextItem[] } = { epoch: -1, items: [] };
				play(steps, (session) => {
					const { epoch, items } = ledger.log(session);
					if (epoch === last.epoch) {
						const before = items.slice(0, last.items.length);
						expect(before.every((item, index) => item === last.items[index])).toBe(true);
						expect(before).toHaveLength(last.items.length);
					}
					for (const [index, item] of items.entries()) {
						if (item.kind === "toolResult") expect(item.order).toBe(index);
					}
					last = { epoch, items: [...items] };
				});
			}),
			{ numRuns: runs(200) },
		);
	});

	test("is the same on a host that can only give the branch, if nothing was edited", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(historyWithoutEdits, (steps) => {
				const branchOnly = new Ledger();
				const withLookup = new Ledger();
				play(steps, (session) => {
					const { items } = new Ledger().log(session);
					expect(branchOnly.log(olderHost(session)).items).toEqual(items);
					expect(withLookup.log(olderHost(session, "getEntry")).items).toEqual(items);
				});
			}),
			{ numRuns: runs(200) },
		);
	});
});

describe("an item of the log", () => {
	test("tells what was asked, what came back, when, and how much it is", () => {
		const session = newSession();
		appendCalls(session, { id: "a", tool: "bash", args: { command: "ls" } });
		const details = { exitCode: 2 };
		const more = { toolName: "bash", isError: true, details };
		const entryId = appendResult(session, "a", "12345", more);
		const since = Date.parse(session.getEntry(entryId)?.timestamp ?? "");
		expect(new Ledger().log(session).items).toEqual([
			{
				kind: "toolResult",
				entryId,
				toolCallId: "a",
				toolName: "bash",
				input: { command: "ls" },
				isError: true,
				details,
				returned: "12345",
				text: "12345",
				since,
				order: 0,
				tokens: 2,
			},
		]);
	});

	test("keeps its own input among many parallel calls of one message", () => {
		const session = newSession();
		const ids = Array.from({ length: 50 }, (_, index) => `call-${index}`);
		appendCalls(session, ...ids.map((id) => ({ id, args: { path: `${id}.ts` } })));
		const ledger = new Ledger();
		for (const id of ids.toReversed()) {
			appendResult(session, id, `text of ${id}`);
			ledger.log(session);
		}
		const results = resultsOf(ledger.log(session));
		expect(results.map(({ toolCallId }) => toolCallId)).toEqual(ids.toReversed());
		for (const { toolCallId, input, text } of results) {
			expect(input).toEqual({ path: `${toolCallId}.ts` });
			expect(text).toBe(`text of ${toolCallId}`);
		}
	});

	test("has no input when its message made two calls under its id, and one again under the next", () => {
		const session = newSession();
		const twins = ["one", "other"].map((path) => ({ id: "same", args: { path } }));
		appendCalls(session, ...twins, { id: "alone", args: { path: "alone" } });
		for (const id of ["same", "same", "alone"]) appendResult(session, id, "text");
		appendRead(session, "same", "text", { path: "later" });
		const inputs = resultsOf(new Ledger().log(session)).map(({ input }) => input);
		expect(inputs).toEqual([undefined, undefined, { path: "alone" }, { path: "later" }]);
	});

	test("has no input when compaction took the call but kept the result", () => {
		const session = newSession();
		const kept = appendRead(session, "a", "text", { path: "a.ts" });
		session.appendCompaction("before", kept, 10);
		const item = resultOf(new Ledger().log(session), "a");
		expect(item.input).toBeUndefined();
		expect(item.text).toBe("text");
	});

	test("follows its edits: replaced, removed, restored", () => {
		const session = newSession();
		const ledger = new Ledger();
		const target = appendRead(session, "a", "the text");
		const { epoch } = ledger.log(session);
		const textAfter = (replacement: { content: string } | null) => {
			session.appendContextEdit(target, replacement);
			const { text, returned, tokens } = resultOf(ledger.log(session), "a");
			return { text, returned, tokens };
		};
		expect(textAfter({ content: "stub" })).toEqual({
			text: "stub",
			returned: "the text",
			tokens: 1,
		});
		expect(textAfter(null)).toEqual({ text: undefined, returned: "the text", tokens: 0 });
		expect(textAfter({ content: "the text" })).toEqual({
			text: "the text",
			returned: "the text",
			tokens: 2,
		});
		expect(ledger.log(session).epoch).toBe(epoch);
	});

	test("is gone after a compaction that keeps nothing, or keeps from an entry of another branch", () => {
		for (const firstKept of [null, "ffffffff"]) {
			const session = newSession();
			appendRead(session, "before", "text");
			session.appendCompaction("before", firstKept, 10);
			appendRead(session, "after", "text");
			const results = resultsOf(new Ledger().log(session));
			expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["after"]);
		}
	});

	test("comes back when the user goes to a point before the compaction", () => {
		const session = newSession();
		const ledger = new Ledger();
		const entry = appendRead(session, "a", "text");
		session.appendCompaction("before", null, 10);
		expect(ledger.log(session).items).toEqual([]);
		session.branch(entry);
		expect(resultOf(ledger.log(session), "a").text).toBe("text");
	});
});

describe("the cost of asking", () => {
	test.each([10, 3000])("a session of %i reads costs as much as what is new", (reads) => {
		const session = newSession();
		const ledger = new Ledger();
		for (let index = 0; index < reads; index++) appendRead(session, `old-${index}`, "text");
		const { source, calls } = counting(session);
		ledger.log(source);
		expect(calls()).toEqual({ getEntry: 0, getBranch: 0, buildSessionProjection: 1 });

		const target = appendRead(session, "new", "text");
		session.appendCustomEntry("mine", 1);
		session.appendContextEdit(target, { content: "stub" });
		ledger.log(source);
		expect(calls()).toEqual({ getEntry: 4, getBranch: 0, buildSessionProjection: 0 });

		ledger.log(source);
		expect(calls()).toEqual({ getEntry: 0, getBranch: 0, buildSessionProjection: 0 });
	});

	test("a compaction is worth one projection, and asking goes on cheaply after it", () => {
		const session = newSession();
		const ledger = new Ledger();
		const { source, calls } = counting(session);
		appendRead(session, "a", "text");
		ledger.log(source);
		session.appendCompaction("before", null, 10);
		calls();
		ledger.log(source);
		expect(calls().buildSessionProjection).toBe(1);
		appendRead(session, "b", "text");
		ledger.log(source);
		expect(calls()).toEqual({ getEntry: 2, getBranch: 0, buildSessionProjection: 0 });
	});
});

describe("without an observed request", () => {
	test("a text is visible where the session has it", () => {
		const session = newSession();
		const ledger = new Ledger();
		session.appendCustomEntry("other", 1);
		appendRead(session, "a", "text");
		expect(seen(ledger, session, "a")).toEqual({ visible: true });
	});

	test("an edited or removed text is not visible, and a restored one is", () => {
		const session = newSession();
		const ledger = new Ledger();
		const target = appendRead(session, "a", "text");
		session.appendContextEdit(target, { content: "stub" });
		expect(seen(ledger, session, "a")).toEqual({ visible: false, why: "edited" });
		session.appendContextEdit(target, null);
		expect(seen(ledger, session, "a")).toEqual({ visible: false, why: "edited" });
		session.appendContextEdit(target, { content: "text" });
		expect(seen(ledger, session, "a")).toMatchObject({ visible: true });
	});

	test("an edit by another branch does not reach this one", () => {
		const session = newSession();
		const ledger = new Ledger();
		const target = appendRead(session, "a", "text");
		session.appendContextEdit(target, null);
		expect(seen(ledger, session, "a")).toMatchObject({ visible: false });
		session.branch(target);
		expect(seen(ledger, session, "a")).toMatchObject({ visible: true });
	});

	test.each([
		["a picture", PICTURE],
		["nothing", []],
		["a picture beside text", [{ type: "text" as const, text: "see" }, ...PICTURE]],
	])("a result that holds %s is not text", (_name, content) => {
		const session = newSession();
		appendCalls(session, { id: "a" });
		appendResult(session, "a", content);
		expect(seen(new Ledger(), session, "a")).toEqual({ visible: false, why: "not-text" });
	});

	test("an empty text is a text", () => {
		const session = newSession();
		appendRead(session, "a", "");
		expect(seen(new Ledger(), session, "a")).toMatchObject({ visible: true });
	});

	test("a text that does not have the hash its tool noted was rewritten", () => {
		const session = newSession();
		appendCalls(session, { id: "kept" }, { id: "changed" }, { id: "unproven" });
		appendResult(session, "kept", "text", { details: { hash: hashBytes("text") } });
		appendResult(session, "changed", "text!", { details: { hash: hashBytes("text") } });
		appendResult(session, "unproven", "text");
		const ledger = new Ledger({
			returnedHash: ({ details }) => (details as { hash?: string } | undefined)?.hash,
		});
		expect(seen(ledger, session, "kept")).toMatchObject({ visible: true });
		expect(seen(ledger, session, "changed")).toEqual({ visible: false, why: "rewritten" });
		expect(seen(ledger, session, "unproven")).toMatchObject({ visible: true });
	});
});

describe("the observed request", () => {
	test("shows a text that stands in it as it was returned", () => {
		const session = newSession();
		const ledger = new Ledger();
		session.appendMessage({ role: "user", content: "go", timestamp: 1 });
		appendRead(session, "a", "text");
		const messages = session.buildSessionProjection().messages;
		ledger.observe(session, [{ role: "system", content: "rules" }, ...messages]);
		expect(seen(ledger, session, "a")).toEqual({ visible: true });
	});

	test("vetoes a text that it does not hold, holds changed, or holds beside a picture", () => {
		const session = newSession();
		const ledger = new Ledger();
		for (const id of ["kept", "dropped", "changed", "decorated"]) appendRead(session, id, "text");
		const changed = [{ type: "text", text: "t" }];
		const decorated = [{ type: "text", text: "text" }, ...PICTURE];
		const replaced: Record<string, unknown> = { dropped: undefined, changed, decorated };
		const request = requestOf(session).flatMap((message): object[] => {
			const { toolCallId = "" } = message as { toolCallId?: string };
			if (!Object.hasOwn(replaced, toolCallId)) return [message];
			return replaced[toolCallId] ? [{ ...message, content: replaced[toolCallId] }] : [];
		});
		ledger.observe(session, request);
		expect(seen(ledger, session, "kept")).toMatchObject({ visible: true });
		expect(seen(ledger, session, "dropped")).toEqual({ visible: false, why: "not-sent" });
		expect(seen(ledger, session, "changed")).toEqual({ visible: false, why: "altered" });
		expect(seen(ledger, session, "decorated")).toEqual({ visible: false, why: "altered" });
	});

	test("gives the same answers whether or not it was gone through ahead of them", () => {
		const session = newSession();
		const [asked, prepared] = [new Ledger(), new Ledger()];
		for (const id of ["kept", "dropped", "changed"]) appendRead(session, id, id);
		const request = requestOf(session)
			.filter((message) => (message as { toolCallId?: string }).toolCallId !== "dropped")
			.with(-1, { role: "toolResult", toolCallId: "changed", content: "other" } as never);
		for (const ledger of [asked, prepared]) ledger.observe(session, request);
		prepared.prepare(session);
		appendRead(session, "later", "text");
		for (const id of ["kept", "dropped", "changed", "later"]) {
			expect(seen(prepared, session, id)).toEqual(seen(asked, session, id));
		}
		expect(seen(prepared, session, "kept")).toEqual({ visible: true });
	});

	test("vetoes a text that came after it, until the next request holds it", () => {
		const session = newSession();
		const ledger = new Ledger();
		ledger.observe(session, requestOf(session));
		appendRead(session, "a", "text");
		expect(seen(ledger, session, "a")).toEqual({ visible: false, why: "not-sent" });
		ledger.observe(session, requestOf(session));
		expect(seen(ledger, session, "a")).toMatchObject({ visible: true });
	});

	test("tells results of one call id apart by their order when all of them were sent", () => {
		const session = newSession();
		const ledger = new Ledger();
		for (const text of ["first", "second"]) appendRead(session, "same", text);
		ledger.observe(session, requestOf(session));
		const [first, second] = resultsOf(ledger.log(session));
		if (!first || !second) throw new Error("two results were expected");
		for (const item of [first, second]) expect(ledger.visibility(item)).toEqual({ visible: true });

		const [firstCall, firstResult, secondCall, secondResult] = requestOf(session);
		ledger.observe(session, [firstCall, secondResult, secondCall, firstResult]);
		for (const item of [first, second]) {
			expect(ledger.visibility(item)).toEqual({ visible: false, why: "altered" });
		}
	});

	test("cannot tell them apart when one is missing, and vetoes both", () => {
		const session = newSession();
		const ledger = new Ledger();
		for (const text of ["same text", "same text"]) appendRead(session, "same", text);
		ledger.observe(session, requestOf(session).slice(0, 2));
		for (const item of resultsOf(ledger.log(session))) {
			expect(ledger.visibility(item)).toEqual({ visible: false, why: "ambiguous" });
		}
	});

	test("proves nothing when somebody has reordered the results, until the next one is in order", () => {
		const session = newSession();
		const ledger = new Ledger();
		const ids = ["a", "b", "c"];
		appendCalls(session, ...ids.map((id) => ({ id })));
		for (const id of ids) appendResult(session, id, `text of ${id}`);
		const [calls, a, b, c] = requestOf(session);
		ledger.observe(session, [calls, a, c, b]);
		for (const id of ids) {
			expect(seen(ledger, session, id)).toEqual({ visible: false, why: "reordered" });
		}
		ledger.observe(session, [calls, a, b, c]);
		for (const id of ids) expect(seen(ledger, session, id)).toEqual({ visible: true });
	});

	test("proves nothing either when the results of other tools have changed places with a read", () => {
		const session = newSession();
		const ledger = new Ledger();
		appendRead(session, "read", "text");
		appendCalls(session, { id: "edit", tool: "edit" });
		appendResult(session, "edit", "done", { toolName: "edit" });
		const [readCall, read, editCall, edit] = requestOf(session);
		ledger.observe(session, [editCall, edit, readCall, read]);
		expect(seen(ledger, session, "read")).toEqual({ visible: false, why: "reordered" });
	});

	test("proves nothing when a result has moved past one of two that share a call id", () => {
		const session = newSession();
		const ledger = new Ledger();
		for (const [id, text] of ["same 1", "alone 2", "same 3"].map((name) => name.split(" "))) {
			appendRead(session, id as string, text as string);
		}
		const request = requestOf(session);
		const [call1, result1, call2, result2, call3, result3] = request;
		for (const [sent, visibility] of [
			[request, { visible: true }],
			[[call1, result1, call3, result3, call2, result2], { visible: false, why: "reordered" }],
		] as const) {
			ledger.observe(session, sent);
			for (const item of resultsOf(ledger.log(session))) {
				expect(ledger.visibility(item)).toEqual(visibility);
			}
		}
	});

	test("is in order with results left out of it, and with results of nobody's calls", () => {
		const session = newSession();
		const ledger = new Ledger();
		for (const id of ["a", "b", "c"]) appendRead(session, id, "text");
		const stranger = { role: "toolResult", toolCallId: "stranger", content: "text" };
		ledger.observe(session, [stranger, ...requestOf(session).toSpliced(2, 2, stranger as never)]);
		expect(seen(ledger, session, "a")).toEqual({ visible: true });
		expect(seen(ledger, session, "b")).toEqual({ visible: false, why: "not-sent" });
		expect(seen(ledger, session, "c")).toEqual({ visible: true });
	});

	test("stays in order whatever comes after it", () => {
		const session = newSession();
		const ledger = new Ledger();
		for (const id of ["a", "b"]) appendRead(session, id, "text");
		ledger.observe(session, requestOf(session));
		expect(seen(ledger, session, "b")).toEqual({ visible: true });
		appendRead(session, "c", "text");
		expect(seen(ledger, session, "a")).toEqual({ visible: true });
		expect(seen(ledger, session, "c")).toEqual({ visible: false, why: "not-sent" });
	});

	test("that is out of order still says what is wrong with a single text", () => {
		const session = newSession();
		const ledger = new Ledger();
		const target = appendRead(session, "edited", "text");
		for (const id of ["dropped", "changed", "moved", "last"]) appendRead(session, id, "text");
		session.appendContextEdit(target, { content: "stub" });
		const [moved, ...rest] = requestOf(session)
			.filter((message) => (message as { toolCallId?: string }).toolCallId !== "dropped")
			.map((message): object => {
				const { toolCallId } = message as { toolCallId?: string };
				return toolCallId === "changed" ? { ...message, content: "other" } : message;
			})
			.toReversed();
		ledger.observe(session, [moved, ...rest]);
		const reasons = ["edited", "dropped", "changed", "moved", "last"].map(
			(id) => (seen(ledger, session, id) as { why?: string }).why,
		);
		expect(reasons).toEqual(["edited", "not-sent", "altered", "reordered", "reordered"]);
	});

	test("of another session says nothing about this one", () => {
		const session = newSession();
		const ledger = new Ledger();
		const leaf = appendRead(session, "a", "text");
		ledger.observe(newSession(), []);
		expect(seen(ledger, session, "a")).toMatchObject({ visible: true });

		ledger.observe(session, []);
		expect(seen(ledger, session, "a")).toMatchObject({ visible: false });
		session.createBranchedSession(leaf); // a fork has an id of its own
		expect(seen(ledger, session, "a")).toMatchObject({ visible: true });
	});

	test("may hold anything: foreign messages are passed over", () => {
		const session = newSession();
		const ledger = new Ledger();
		appendRead(session, "a", "text");
		ledger.observe(session, [null, 7, "text", { role: "user" }, ...requestOf(session)]);
		expect(seen(ledger, session, "a")).toEqual({ visible: true });
	});

	test("is not changed by being looked at", () => {
		const session = newSession();
		const ledger = new Ledger();
		appendRead(session, "a", "text");
		const messages = requestOf(session);
		const before = structuredClone(messages);
		ledger.observe(session, messages);
		seen(ledger, session, "a");
		expect(messages).toEqual(before);
	});
});

describe("the results of a request are in order", () => {
	const isInOrder = (sent: unknown[], session: string[]) => {
		const messages = sent.map((toolCallId) => ({ role: "toolResult", toolCallId, content: "" }));
		return createObservation("id", messages).isInOrder(session);
	};

	test("when they stand as in the session, all of them or some", () => {
		for (const sent of [["a", "b", "c"], ["a", "c"], ["b"], []]) {
			expect(isInOrder(sent, ["a", "b", "c"])).toBe(true);
		}
	});

	test("unless two have changed places, side by side or far apart", () => {
		for (const sent of [
			["b", "a", "c"],
			["c", "b", "a"],
			["c", "a"],
		]) {
			expect(isInOrder(sent, ["a", "b", "c"])).toBe(false);
		}
	});

	test("whatever strangers stand among them, in whatever order and however often", () => {
		expect(isInOrder(["x", "a", "y", "x", "b", "y"], ["a", "b"])).toBe(true);
		expect(isInOrder(["x", "b", "y", "a"], ["a", "b"])).toBe(false);
		expect(isInOrder(["x", "y"], [])).toBe(true);
	});

	test("with messages among them that are no results", () => {
		const a = { toolCallId: "a", content: "" };
		const messages = [null, 7, "a", { role: "user", content: "a" }, a, { toolCallId: 7 }];
		expect(createObservation("id", messages).isInOrder(["a"])).toBe(true);
		expect(createObservation("id", [...messages, a]).isInOrder(["a"])).toBe(false);
	});

	test("when several share a call id and no other stands between the wrong two of them", () => {
		const session = ["a", "b", "a", "c"];
		for (const sent of [session, ["a", "a", "c"], ["b", "a"], ["a", "c"]]) {
			expect(isInOrder(sent, session)).toBe(true);
		}
		for (const sent of [
			["a", "a", "b"],
			["a", "c", "a"],
			["a", "b", "a", "a"],
		]) {
			expect(isInOrder(sent, session)).toBe(false);
		}
	});

	const callIds = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 });
	const strangers = fc.array(fc.tuple(fc.nat(), fc.constantFrom("x", "y", undefined)));

	test("however many are left out and strangers put in, and whatever the ids", () => {
		const session = callIds.chain((ids) => fc.tuple(fc.constant(ids), fc.subarray(ids)));
		fc.assert(
			fc.property(session, strangers, ([ids, kept], others) => {
				const sent: unknown[] = [...kept];
				for (const [at, id] of others) sent.splice(at % (sent.length + 1), 0, id);
				expect(isInOrder(sent, ids)).toBe(true);
			}),
		);
	});

	test("exactly when their places in the session rise, if every id is used once", () => {
		const ids = ["a", "b", "c", "d", "e", "f"];
		fc.assert(
			fc.property(fc.shuffledSubarray(ids, { minLength: 0 }), (sent) => {
				const rises = sent.every((id, at) => at === 0 || id > (sent[at - 1] as string));
				expect(isInOrder(sent, ids)).toBe(rises);
			}),
		);
	});
});

describe("a change of session", () => {
	test("a new session starts an empty log, and going back brings the old one", () => {
		const ledger = new Ledger();
		const [one, other] = [newSession(), newSession()];
		appendRead(one, "a", "text");
		const first = ledger.log(one).epoch;
		expect(ledger.log(other).items).toEqual([]);
		expect(resultOf(ledger.log(one), "a").text).toBe("text");
		expect(ledger.log(one).epoch).toBeGreaterThan(first);
	});

	test("a fork that keeps entry ids is read afresh all the same", () => {
		const session = newSession();
		const ledger = new Ledger();
		appendRead(session, "a", "text");
		const leaf = appendRead(session, "b", "text");
		const { epoch } = ledger.log(session);
		session.createBranchedSession(leaf);
		const log = ledger.log(session);
		expect(log.epoch).toBeGreaterThan(epoch);
		expect(resultsOf(log).map(({ toolCallId }) => toolCallId)).toEqual(["a", "b"]);
	});
});

describe("an older host", () => {
	test("keeps what its latest compaction kept, and nothing before an entry it does not know", () => {
		const session = newSession();
		appendRead(session, "dropped", "text");
		const kept = appendCalls(session, { id: "kept" });
		appendResult(session, "kept", "text");
		session.appendCompaction("before", kept, 10);
		appendRead(session, "after", "text");
		const callIds = () =>
			resultsOf(new Ledger().log(olderHost(session))).map(({ toolCallId }) => toolCallId);
		expect(callIds()).toEqual(["kept", "after"]);
		session.appendCompaction("before", "ffffffff", 10);
		expect(callIds()).toEqual([]);
	});

	test("that can look entries up is asked for new ones only", () => {
		const session = newSession();
		const ledger = new Ledger();
		appendRead(session, "a", "text");
		const { source, calls } = counting(session);
		const { buildSessionProjection: _newer, ...older } = source;
		ledger.log(older);
		expect(calls()).toMatchObject({ getBranch: 1 });
		appendRead(session, "b", "text");
		ledger.log(older);
		expect(calls()).toMatchObject({ getEntry: 2, getBranch: 0 });
	});
});

function seen(ledger: Ledger, session: SessionManager, toolCallId: string) {
	return ledger.visibility(resultOf(ledger.log(session), toolCallId));
}

function requestOf(session: SessionManager): Message[] {
	return session.buildSessionProjection().messages;
}

/** What a reader of the messages finds without the ledger: results that are all text, with the one call they can be of. */
function textResults(messages: Message[]) {
	const inputs = new Map<string, unknown>();
	return messages.flatMap((message) => {
		if (message.role === "assistant") {
			const calls = message.content.filter((block) => block.type === "toolCall");
			for (const { id, arguments: input } of calls) {
				const isAlone = calls.filter((call) => call.id === id).length === 1;
				inputs.set(id, isAlone ? input : undefined);
			}
		}
		if (message.role !== "toolResult" || message.content.length === 0) return [];
		const texts = message.content.map((block) => (block.type === "text" ? block.text : undefined));
		if (texts.includes(undefined)) return [];
		const { toolCallId } = message;
		return [{ toolCallId, text: texts.join("\n"), input: inputs.get(toolCallId) }];
	});
}

/** The session as a host without projections shows it. */
function olderHost(session: SessionManager, lookup?: "getEntry"): SessionSource {
	return {
		getSessionId: () => session.getSessionId(),
		getLeafId: () => session.getLeafId(),
		getBranch: () => session.getBranch(),
		...(lookup && { getEntry: (id: string) => session.getEntry(id) }),
	};
}

/** The session, and how often each costly method was called since the last look. */
function counting(session: SessionManager) {
	const none = { getEntry: 0, getBranch: 0, buildSessionProjection: 0 };
	let counts = { ...none };
	const source = {
		getSessionId: () => session.getSessionId(),
		getLeafId: () => session.getLeafId(),
		getEntry: (id: string) => {
			counts.getEntry++;
			return session.getEntry(id);
		},
		getBranch: () => {
			counts.getBranch++;
			return session.getBranch();
		},
		buildSessionProjection: () => {
			counts.buildSessionProjection++;
			return session.buildSessionProjection();
		},
	} satisfies SessionSource;
	const calls = () => {
		const since = counts;
		counts = { ...none };
		return since;
	};
	return { source, calls };
}
