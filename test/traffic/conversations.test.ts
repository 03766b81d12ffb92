import { describe, expect, test } from "vitest";
import { Conversations } from "../../src/traffic/conversations.ts";
import type { TracedRequest } from "../../src/traffic/trace.ts";
import { answer, HEAD, piece, request, result, system, tools, turn, user } from "./talk.ts";

/** Places and adds requests; conversations are numbered in the order in which they begin. */
function talk(limits = {}) {
	const conversations = new Conversations(limits);
	let ids = 0;
	const send = (traced: TracedRequest) => {
		const place = conversations.place(traced);
		place.conversation.id ||= ++ids;
		conversations.add(traced, place.conversation);
		return { id: place.conversation.id, step: place.step, place };
	};
	const shape = (traced: TracedRequest) => {
		const { id, step } = send(traced);
		return `${id} ${step}`;
	};
	return { conversations, send, shape };
}

const u1 = [user("u1")];
const long = [...u1, ...turn("a"), ...turn("b"), answer("c"), user("u2")];

describe("a request", () => {
	test("that extends an earlier one continues its conversation, also without any names", () => {
		const { shape } = talk();
		expect(shape(request({ messages: u1 }))).toBe("1 start");
		expect(shape(request({ messages: [...u1, ...turn("a")] }))).toBe("1 next");
		expect(shape(request({ messages: long }))).toBe("1 next");
	});

	test("with the same tools and system prompt and another message is a conversation of its own", () => {
		const { shape } = talk();
		expect(shape(request({ messages: u1 }))).toBe("1 start");
		expect(shape(request({ messages: [user("other")] }))).toBe("2 start");
	});

	test("of another session in the same project is apart, although its first message begins alike", () => {
		const { shape } = talk();
		const reminder = user("the same reminder");
		const first = [reminder, user("one")];
		expect(shape(request({ session: "s1", messages: first }))).toBe("1 start");
		expect(shape(request({ session: "s2", messages: [reminder, user("two")] }))).toBe("2 start");
		expect(shape(request({ session: "s1", messages: [...first, ...turn("a")] }))).toBe("1 next");
	});

	test("of a parallel session with the very same prompt is apart", () => {
		const { shape } = talk();
		expect(shape(request({ session: "s1", messages: u1 }))).toBe("1 start");
		expect(shape(request({ session: "s2", messages: u1 }))).toBe("2 start");
		expect(shape(request({ session: "s1", messages: [...u1, ...turn("a")] }))).toBe("1 next");
		expect(shape(request({ session: "s2", messages: [...u1, ...turn("b")] }))).toBe("2 next");
	});

	test("that compacts a branch continues, although another branch has new instructions", () => {
		const { shape } = talk();
		const branch = [...u1, answer("b"), user("b")];
		const other = [...HEAD.filter(({ part }) => part === "tools"), system("new")];
		const summary = [user("summary")];
		expect(shape(request({ session: "s", messages: u1 }))).toBe("1 start");
		expect(shape(request({ session: "s", messages: branch }))).toBe("1 next");
		const changed = { session: "s", head: other, messages: [...u1, ...turn("a")] };
		expect(shape(request(changed))).toMatch(/^1 /);
		expect(shape(request({ session: "s", messages: summary }))).toMatch(/^1 /);
	});

	test("for a title, of the same session and about the same message, is apart", () => {
		const { shape } = talk();
		const title = { session: "s", head: [system("make a title")], messages: u1 };
		expect(shape(request(title))).toBe("1 start");
		expect(shape(request({ session: "s", messages: u1 }))).toBe("2 start");
		expect(shape(request({ session: "s", messages: [...u1, ...turn("a")] }))).toBe("2 next");
		expect(shape(request({ ...title, messages: [...u1, ...turn("a")] }))).toBe("1 next");
		expect(shape(request({ session: "s", messages: long }))).toBe("2 next");
	});

	test("of a sub-agent is apart, even if it begins with its parent's history", () => {
		const { shape, send } = talk();
		expect(shape(request({ session: "s", messages: long }))).toBe("1 start");
		const forked = [...long, user("task")];
		const sub = send(request({ session: "s", subagent: "x", messages: forked }));
		expect([sub.id, sub.step, sub.place.conversation.parent]).toEqual([2, "start", 1]);
		expect(shape(request({ session: "s", messages: [...long, ...turn("d")] }))).toBe("1 next");
		const further = [...forked, ...turn("e")];
		expect(shape(request({ session: "s", subagent: "x", messages: further }))).toBe("2 next");
	});

	test("of a sub-agent without a name of its own is apart, and its parent goes on", () => {
		const { shape } = talk();
		const head = [...tools("read", "bash"), system("sub")];
		shape(request({ session: "s", messages: long }));
		expect(shape(request({ session: "s", head, messages: [user("task")] }))).toBe("2 start");
		const further = [user("task"), ...turn("x")];
		expect(shape(request({ session: "s", head, messages: further }))).toBe("2 next");
		expect(shape(request({ session: "s", messages: [...long, ...turn("d")] }))).toBe("1 next");
		expect(shape(request({ session: "s", messages: [user("summary")] }))).toBe("1 compaction");
	});

	test("of a sub-agent in a format whose system prompt is a message is apart, too", () => {
		const { shape } = talk();
		const head = tools("read", "bash");
		const said = (text: string) => piece("messages", "system", text);
		shape(request({ session: "s", head, messages: [said("main"), ...long] }));
		const task = [said("sub"), user("task")];
		expect(shape(request({ session: "s", head, messages: task }))).toBe("2 start");
		const summary = [said("main"), user("summary")];
		expect(shape(request({ session: "s", head, messages: summary }))).toBe("1 compaction");
	});

	test("of a session that begins with the same examples as another is apart from it", () => {
		const { shape, send } = talk();
		const examples = [user("e1"), answer("e1"), user("e2"), answer("e2")];
		expect(shape(request({ session: "s1", messages: [...examples, user("1")] }))).toBe("1 start");
		const other = send(request({ session: "s2", messages: [...examples, user("2")] }));
		expect([other.id, other.step, other.place.conversation.parent]).toEqual([
			2,
			"start",
			undefined,
		]);
		const same = request({ session: "s3", messages: [...examples, user("1")] });
		expect(shape(same)).toBe("3 start");
	});

	test("is compared with one of its own model and upstream, if there is any", () => {
		const { send } = talk();
		send(request({ messages: long }));
		send(request({ model: "claude-haiku-4-5", messages: long }));
		send(
			request({ settings: { upstream: "gateway" }, messages: [...long, answer("x"), user("y")] }),
		);
		const { place } = send(request({ messages: [...long, answer("x"), user("z")] }));
		expect([place.before?.model, place.before?.settings]).toEqual(["claude-opus-5", {}]);
		expect(place.before?.end?.length).toBe(long.length);
		const first = send(request({ model: "claude-sonnet-5", messages: [...long, ...turn("d")] }));
		expect(first.place.before?.model).toBeDefined();
	});

	test("with a tool more, another system prompt or another model stays in its conversation", () => {
		const { shape, send } = talk();
		shape(request({ messages: long }));
		const head = [...tools("read", "bash", "web"), system("s")];
		const more = send(request({ head, messages: [...long, ...turn("d")] }));
		expect([more.id, more.step, more.place.changed]).toEqual([1, "next", "tool web"]);
		const other = [...tools("read", "bash", "web"), system("t")];
		const changed = send(request({ head: other, messages: [...long, ...turn("d"), ...turn("e")] }));
		expect([changed.id, changed.step, changed.place.changed]).toEqual([1, "next", "system t"]);
	});

	test("of a rewound conversation is a branch of it, compared with the request where it departs", () => {
		const { send } = talk();
		send(request({ messages: u1 }));
		const fork = send(request({ messages: [...u1, ...turn("a")] }));
		send(request({ messages: long }));
		const { id, step, place } = send(request({ messages: [...u1, ...turn("a"), user("again")] }));
		expect([id, step, place.changed]).toEqual([1, "branch", "user again"]);
		expect(place.before?.end?.length).toBe(fork.place.shared + 2);
		expect(place.sharedTokens).toBeUndefined();
	});

	test("of a resumed session with a new name and the old history is a branch of the old one", () => {
		const { shape } = talk();
		expect(shape(request({ session: "s1", messages: long }))).toBe("1 start");
		expect(shape(request({ session: "s2", messages: [...long, answer("z"), user("on")] }))).toBe(
			"1 next",
		);
	});

	test("whose earlier result was cleared is an edit, which names the result", () => {
		const { send } = talk();
		send(request({ messages: long }));
		const cleared = long.with(2, result("cleared"));
		const { id, step, place } = send(request({ messages: [...cleared, ...turn("d")] }));
		expect([id, step, place.changed]).toEqual([1, "edit", "result cleared"]);
		expect(place.before?.end?.length).toBe(long.length);
	});

	test("without the reminder at the end of the one before is an edit, not a branch", () => {
		const { send } = talk();
		send(request({ messages: [...long, user("reminder")] }));
		const { step, place } = send(request({ messages: [...long, ...turn("d")] }));
		expect([step, place.changed]).toEqual(["edit", "user reminder (gone)"]);
	});

	test("with another answer before the user's same words is a branch, not an edit", () => {
		const { shape } = talk();
		shape(request({ messages: [...long, answer("x"), user("go on")] }));
		const again = request({ messages: [...long, answer("y"), user("go on")] });
		expect(shape(again)).toBe("1 branch");
	});

	test("with a new short history under the same name is a compaction", () => {
		const { shape, send } = talk();
		shape(request({ session: "s", messages: u1 }));
		shape(request({ session: "s", messages: long }));
		const summary = [user("summary")];
		const { id, step, place } = send(request({ session: "s", messages: summary }));
		expect([id, step, place.changed]).toEqual([1, "compaction", "user summary"]);
		expect(shape(request({ session: "s", messages: [...summary, ...turn("d")] }))).toBe("1 next");
	});

	test("of a compaction that keeps the user's messages is one, too", () => {
		const { shape } = talk();
		shape(request({ session: "s", messages: u1 }));
		shape(request({ session: "s", messages: [...u1, ...turn("a")] }));
		shape(request({ session: "s", messages: long }));
		const kept = [...u1, user("u2"), user("summary")];
		expect(shape(request({ session: "s", messages: kept }))).toBe("1 compaction");
	});

	test("of a compaction that keeps the latest messages is one, too", () => {
		const { shape } = talk();
		const history = [...long, ...turn("d"), ...turn("e"), ...turn("f")];
		shape(request({ session: "s", messages: history }));
		const kept = [user("summary"), ...history.slice(-6)];
		expect(shape(request({ session: "s", messages: kept }))).toBe("1 compaction");
	});

	test("of another thread in between does not change what the next one is compared with", () => {
		const { send } = talk();
		const main = send(request({ session: "s", messages: long }));
		send(request({ session: "s", messages: [...long, answer("x"), user("summarize")] }));
		const { step, place } = send(request({ session: "s", messages: [...long, ...turn("d")] }));
		expect(step).toBe("branch");
		expect(place.before?.end?.length).toBe(long.length);
		expect(place.conversation).toBe(main.place.conversation);
	});

	test("that failed is no base for a comparison, but its retry continues the conversation", () => {
		const { send } = talk();
		send(request({ messages: u1 }));
		const { tokens: _, ...failed } = request({ messages: [...u1, ...turn("a")] });
		expect(send(failed).step).toBe("next");
		const { id, step, place } = send(request({ messages: [...u1, ...turn("a")] }));
		expect([id, step, place.before?.end?.length]).toEqual([1, "next", 1]);
	});

	test("that started before another was in the cache is not compared with that one", () => {
		const { send } = talk();
		send(request({ messages: long, startedMs: 1e9 }));
		send(request({ messages: [...long, answer("x"), user("one")], startedMs: 1e9 + 1000 }));
		const { place } = send(
			request({ messages: [...long, answer("x"), user("two")], startedMs: 1e9 + 1100 }),
		);
		expect(place.before?.startedMs).toBe(1e9);
	});

	test("that continues an unknown response goes by its names, and is compared with nothing", () => {
		const { shape, send } = talk();
		shape(request({ session: "s", messages: long }));
		const { id, step, place } = send(
			request({ session: "s", isPartial: true, messages: [result("x")] }),
		);
		expect([id, step, place.before]).toEqual([1, "partial", undefined]);
		expect(shape(request({ session: "s", messages: [...long, ...turn("d")] }))).toBe("1 next");
	});
});

describe("memory", () => {
	test("is bounded: the conversation that was unused longest is evicted first", () => {
		const { conversations, shape } = talk({ maxConversations: 4, maxPrefixes: 1000 });
		for (const at of [1, 2, 3, 4]) shape(request({ session: `s${at}`, messages: [user(`${at}`)] }));
		shape(request({ session: "s1", messages: [user("1"), ...turn("a")] }));
		expect(shape(request({ session: "s5", messages: [user("5")] }))).toBe("5 start");
		expect(conversations.size.conversations).toBe(3);
		expect(shape(request({ session: "s1", messages: [user("1"), ...turn("a"), user("on")] }))).toBe(
			"1 next",
		);
		expect(shape(request({ session: "s2", messages: [user("2"), ...turn("b")] }))).toBe("6 start");
	});

	test("is bounded in pieces, also if one conversation alone is too large", () => {
		const { conversations, send } = talk({ maxConversations: 10, maxPrefixes: 50 });
		for (let at = 0; at < 20; at++) {
			send(request({ messages: Array.from({ length: 30 + at }, (_, i) => user(`${at} ${i}`)) }));
			expect(conversations.size.prefixes).toBeLessThanOrEqual(50);
		}
		send(request({ messages: Array.from({ length: 60 }, (_, i) => user(`large ${i}`)) }));
		expect(conversations.size).toEqual({ conversations: 0, prefixes: 0 });
		expect(HEAD).toHaveLength(3);
	});
});
