import { signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { conversationOf } from "../../src/dashboard/session/conversation.ts";
import {
	ConversationSearch,
	createRowMatcher,
} from "../../src/dashboard/session/conversation-search.ts";
import { type Row, rowsOf } from "../../src/dashboard/session/row-view.tsx";
import { atEnd } from "../support/temp.ts";
import { assistant, call, entriesOf, toolResult, user, words } from "./events.ts";

const IDLE = { isStreaming: false, isCompacting: false };
const rowsFrom = (...entries: Parameters<typeof entriesOf>) =>
	rowsOf(conversationOf(entriesOf(...entries), IDLE).items);
const lookFor = (rows: readonly Row[], query: string) =>
	createRowMatcher().match(rows, query, () => false).keys;

describe("what is looked for in a conversation", () => {
	const edit = { path: "src/a.ts", oldText: 'say("old")', newText: "say('new')" };
	const rows = rowsFrom(
		user(1, "Where is the Discount?"),
		assistant(2, { type: "thinking", thinking: "hidden thoughts" }, words("In **the** `file`.")),
		assistant(3, call("c1", { path: "src/cart.ts" }), call("c2", edit, "edit")),
		toolResult(4, "c1", "line one\nTOTAL of the cart"),
		{ type: "custom_message", customType: "notice", content: "from an extension" } as {
			type: string;
		},
		{ ...user(6, ""), role: "bashExecution", command: "ls -la", output: "README.md" } as never,
		{ ...assistant(7), stopReason: "error", errorMessage: "overloaded" },
	);

	test.each([
		["what the user said, in either case", "discount", ["user:1"]],
		["thoughts, which are folded", "hidden", ["assistant:2/0"]],
		["words of an answer as they read", "in the file.", ["assistant:2/1"]],
		["words of an answer as they are written", "**the**", ["assistant:2/1"]],
		["the arguments of a call", "src/cart.ts", ["assistant:3/0"]],
		["the output of a call, which is folded", "total of", ["assistant:3/0"]],
		["the name of a tool", "edit\n", ["assistant:3/1"]],
		["an edit as it is shown", 'say("old")', ["assistant:3/1"]],
		["the words of an extension", "from an ext", ["entry:e4"]],
		["a shell command and its output", "readme", ["bashExecution:6"]],
		["what went wrong", "overloaded", ["assistant:7/outcome"]],
		["nothing that is not there", "nowhere", []],
	])("finds %s", (_, query, keys) => {
		expect(lookFor(rows, query)).toEqual(keys);
	});

	test("is found in slices, and nothing is looked at twice", () => {
		const many = rowsFrom(...Array.from({ length: 1_000 }, (_, at) => user(at, `number ${at}`)));
		const matcher = createRowMatcher();
		let slices = 0;
		let found = matcher.match(many, "7", () => true);
		while (!found.isDone) {
			slices++;
			found = matcher.match(many, "7", () => true);
		}
		expect(slices).toBe(Math.floor(1_000 / 64));
		expect(found.keys).toEqual(lookFor(many, "7"));
		// All is known now: no clock is asked.
		expect(matcher.match(many, "7", () => expect.unreachable()).isDone).toBe(true);
	});
});

describe("looking for something", () => {
	beforeEach(() => void vi.useFakeTimers());
	afterEach(() => void vi.useRealTimers());

	const said = (...texts: string[]) =>
		rowsFrom(...texts.map((text, at) => user(at, text))) as readonly Row[];

	function opened(...texts: string[]) {
		const rows = signal(said(...texts));
		const search = new ConversationSearch(rows, {
			onNextFrame(work) {
				const timer = setTimeout(work, 16);
				return () => clearTimeout(timer);
			},
			now: () => 0,
		});
		atEnd(() => search.close());
		search.open();
		const type = (text: string) => {
			search.type(text);
			vi.advanceTimersByTime(200);
		};
		return { rows, search, type };
	}

	test("waits for a pause in typing", () => {
		const { search } = opened("a fox", "an ox");
		search.type("f");
		search.type("fo");
		expect(search.query.value).toBe("");
		vi.advanceTimersByTime(200);
		expect(search.query.value).toBe("fo");
		expect(search.matches.value).toEqual({ keys: ["user:0"], isDone: true });
	});

	test("shows first what is at the reader's place or below, or else the last above", () => {
		const { search, type } = opened("fox", "ox", "fox", "hen", "ox", "hen");
		search.startFrom("user:1");
		type("fox");
		expect(search.current.value?.key).toBe("user:2");
		search.startFrom("user:3");
		type("fo");
		expect(search.current.value?.key).toBe("user:2");
	});

	test("does not move on while more of the same word is typed", () => {
		const { type, search } = opened("fox", "fox", "fox");
		search.startFrom("user:1");
		for (const text of ["f", "fo", "fox"]) type(text);
		expect(search.current.value?.key).toBe("user:1");
	});

	test("goes to the next and to the one before, around the ends, each time a new jump", () => {
		const { type, search } = opened("fox", "hen", "fox");
		search.startFrom("user:0");
		type("fox");
		const seen = ([1, 1, -1, -1] as const).map((by) => {
			search.step(by);
			return search.current.value;
		});
		expect(seen.map((match) => match?.key)).toEqual(["user:2", "user:0", "user:2", "user:0"]);
		expect(new Set(seen.map((match) => match?.jump)).size).toBe(4);
	});

	test("goes to the first match when the next is asked for before the pause is over", () => {
		const { search } = opened("hen", "fox", "fox");
		search.startFrom("user:0");
		search.type("fox");
		search.step(1);
		expect(search.current.value?.key).toBe("user:1");
	});

	test("goes nowhere when nothing is found or looked for", () => {
		const { search, type } = opened("hen");
		search.step(1);
		type("fox");
		search.step(-1);
		expect(search.current.value).toBeUndefined();
		type("   ");
		expect(search.query.value).toBe("");
		expect(search.matches.value.keys).toEqual([]);
	});

	test("goes on while the conversation grows, and stays where the reader is", () => {
		const { rows, search, type } = opened("fox", "hen");
		type("fox");
		const { current } = search;
		const match = current.value;
		rows.value = said("fox", "hen", "fox");
		vi.advanceTimersByTime(50);
		expect(search.matches.value.keys).toEqual(["user:0", "user:2"]);
		expect(current.value).toBe(match);
	});

	test("finds what comes later though nothing was there at first", () => {
		const { rows, search, type } = opened("hen");
		type("fox");
		expect(search.current.value).toBeUndefined();
		rows.value = said("hen", "fox");
		vi.advanceTimersByTime(50);
		expect(search.current.value?.key).toBe("user:1");
	});

	test("takes turns with the page when there is much to look at", () => {
		const rows = signal(said(...Array.from({ length: 500 }, () => "fox")));
		let ms = 0;
		let waiting: (() => void) | undefined;
		const search = new ConversationSearch(rows, {
			onNextFrame(work) {
				waiting = work;
				return () => {
					waiting = undefined;
				};
			},
			// Each look at the clock is five milliseconds later.
			now: () => (ms += 5),
		});
		atEnd(() => search.close());
		search.open();
		search.type("fox");
		vi.advanceTimersByTime(200);
		const counts = [search.matches.value.keys.length];
		while (!search.matches.value.isDone) {
			waiting?.();
			counts.push(search.matches.value.keys.length);
		}
		expect(counts.length).toBeGreaterThan(2);
		expect(counts.at(-1)).toBe(500);
		expect(counts).toEqual(counts.toSorted((a, b) => a - b));
	});

	test("forgets everything when it is closed, and looks no more", () => {
		const { rows, search, type } = opened("fox");
		type("fox");
		search.close();
		rows.value = said("fox", "fox");
		vi.advanceTimersByTime(500);
		expect(search.isOpen.value).toBe(false);
		expect(search.input.value).toBe("");
		expect(search.current.value).toBeUndefined();
		expect(search.matches.value.keys).toEqual([]);
		expect(vi.getTimerCount()).toBe(0);
	});
});
