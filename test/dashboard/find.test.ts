import { signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loaded } from "../../src/dashboard/session/conversation.ts";
import { createFind, createFinder } from "../../src/dashboard/session/find.ts";
import { type Row, rowsOf } from "../../src/dashboard/session/row-view.tsx";
import { atEnd } from "../support/temp.ts";
import { assistant, call, entriesOf, toolResult, user, words } from "./events.ts";

const IDLE = { isStreaming: false, isCompacting: false };
const rowsFrom = (...entries: Parameters<typeof entriesOf>) =>
	rowsOf(loaded(entriesOf(...entries), IDLE).items);
const lookFor = (rows: readonly Row[], sought: string) =>
	createFinder().look(rows, sought, () => false).keys;

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
	])("finds %s", (_, sought, keys) => {
		expect(lookFor(rows, sought)).toEqual(keys);
	});

	test("is found in slices, and nothing is looked at twice", () => {
		const many = rowsFrom(...Array.from({ length: 1_000 }, (_, at) => user(at, `number ${at}`)));
		const finder = createFinder();
		let slices = 0;
		let found = finder.look(many, "7", () => true);
		while (!found.isDone) {
			slices++;
			found = finder.look(many, "7", () => true);
		}
		expect(slices).toBe(Math.floor(1_000 / 64));
		expect(found.keys).toEqual(lookFor(many, "7"));
		// All is known now: no clock is asked.
		expect(finder.look(many, "7", () => expect.unreachable()).isDone).toBe(true);
	});
});

describe("looking for something", () => {
	beforeEach(() => void vi.useFakeTimers());
	afterEach(() => void vi.useRealTimers());

	const said = (...texts: string[]) =>
		rowsFrom(...texts.map((text, at) => user(at, text))) as readonly Row[];

	function opened(...texts: string[]) {
		const rows = signal(said(...texts));
		const find = createFind(rows, {
			soon(work) {
				const timer = setTimeout(work, 16);
				return () => clearTimeout(timer);
			},
			now: () => 0,
		});
		atEnd(() => find.close());
		find.open();
		const type = (text: string) => {
			find.type(text);
			vi.advanceTimersByTime(200);
		};
		return { rows, find, type };
	}

	test("waits for a pause in typing", () => {
		const { find } = opened("a fox", "an ox");
		find.type("f");
		find.type("fo");
		expect(find.words.value).toBe("");
		vi.advanceTimersByTime(200);
		expect(find.words.value).toBe("fo");
		expect(find.found.value).toEqual({ keys: ["user:0"], isDone: true });
	});

	test("shows first what is at the reader's place or below, or else the last above", () => {
		const { find, type } = opened("fox", "ox", "fox", "hen", "ox", "hen");
		find.startFrom("user:1");
		type("fox");
		expect(find.current.value?.key).toBe("user:2");
		find.startFrom("user:3");
		type("fo");
		expect(find.current.value?.key).toBe("user:2");
	});

	test("does not move on while more of the same word is typed", () => {
		const { type, find } = opened("fox", "fox", "fox");
		find.startFrom("user:1");
		for (const text of ["f", "fo", "fox"]) type(text);
		expect(find.current.value?.key).toBe("user:1");
	});

	test("goes to the next and to the one before, around the ends, each time a new jump", () => {
		const { type, find } = opened("fox", "hen", "fox");
		find.startFrom("user:0");
		type("fox");
		const seen = ([1, 1, -1, -1] as const).map((by) => {
			find.step(by);
			return find.current.value;
		});
		expect(seen.map((match) => match?.key)).toEqual(["user:2", "user:0", "user:2", "user:0"]);
		expect(new Set(seen.map((match) => match?.jump)).size).toBe(4);
	});

	test("goes to the first match when the next is asked for before the pause is over", () => {
		const { find } = opened("hen", "fox", "fox");
		find.startFrom("user:0");
		find.type("fox");
		find.step(1);
		expect(find.current.value?.key).toBe("user:1");
	});

	test("goes nowhere when nothing is found or looked for", () => {
		const { find, type } = opened("hen");
		find.step(1);
		type("fox");
		find.step(-1);
		expect(find.current.value).toBeUndefined();
		type("   ");
		expect(find.words.value).toBe("");
		expect(find.found.value.keys).toEqual([]);
	});

	test("goes on while the conversation grows, and stays where the reader is", () => {
		const { rows, find, type } = opened("fox", "hen");
		type("fox");
		const { current } = find;
		const match = current.value;
		rows.value = said("fox", "hen", "fox");
		vi.advanceTimersByTime(50);
		expect(find.found.value.keys).toEqual(["user:0", "user:2"]);
		expect(current.value).toBe(match);
	});

	test("finds what comes later though nothing was there at first", () => {
		const { rows, find, type } = opened("hen");
		type("fox");
		expect(find.current.value).toBeUndefined();
		rows.value = said("hen", "fox");
		vi.advanceTimersByTime(50);
		expect(find.current.value?.key).toBe("user:1");
	});

	test("takes turns with the page when there is much to look at", () => {
		const rows = signal(said(...Array.from({ length: 500 }, () => "fox")));
		let ms = 0;
		let waiting: (() => void) | undefined;
		const find = createFind(rows, {
			soon(work) {
				waiting = work;
				return () => {
					waiting = undefined;
				};
			},
			// Each look at the clock is five milliseconds later.
			now: () => (ms += 5),
		});
		atEnd(() => find.close());
		find.open();
		find.type("fox");
		vi.advanceTimersByTime(200);
		const counts = [find.found.value.keys.length];
		while (!find.found.value.isDone) {
			waiting?.();
			counts.push(find.found.value.keys.length);
		}
		expect(counts.length).toBeGreaterThan(2);
		expect(counts.at(-1)).toBe(500);
		expect(counts).toEqual(counts.toSorted((a, b) => a - b));
	});

	test("forgets everything when it is closed, and looks no more", () => {
		const { rows, find, type } = opened("fox");
		type("fox");
		find.close();
		rows.value = said("fox", "fox");
		vi.advanceTimersByTime(500);
		expect(find.isOpen.value).toBe(false);
		expect(find.typed.value).toBe("");
		expect(find.current.value).toBeUndefined();
		expect(find.found.value.keys).toEqual([]);
		expect(vi.getTimerCount()).toBe(0);
	});
});
