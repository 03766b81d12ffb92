import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import {
	candidatesOf,
	frontierOf,
	PROTECTED_TOOL_TOKENS,
	type ResultFacts,
} from "../../src/pruning/candidates.ts";
import { LEAST_CHARS } from "../../src/pruning/stub.ts";
import type { ToolResultItem } from "../../src/session/index.ts";
import { fc } from "../support/property.ts";
import { conversationOf, factsOf, type Line } from "./conversation.ts";

const DEFAULTS = { keepRecentTurns: 2, maxToolChars: 1200, anyTool: false };

function candidates(
	lines: readonly Line[],
	facts: Partial<ResultFacts> = {},
	settings: Partial<typeof DEFAULTS> = {},
): string[] {
	const { messages, results } = conversationOf(lines);
	const chosen = candidatesOf(
		{ messages, results, facts: factsOf(facts) },
		{ ...DEFAULTS, ...settings },
	);
	return chosen.map(({ item }) => item.entryId);
}

const read = (more: object = {}): Line => ({ tool: "read", chars: 4000, ...more });
/** A turn without tools. */
const talk: Line[] = ["user", "assistant"];

describe("recent output stays", () => {
	test("for as many turns as the setting says", () => {
		const lines: Line[] = ["user", read(), "assistant", "user", read(), "assistant", ...talk];
		expect(candidates(lines)).toEqual(["e1"]);
		expect(candidates(lines, {}, { keepRecentTurns: 1 })).toEqual(["e1", "e4"]);
		expect(candidates(lines, {}, { keepRecentTurns: 3 })).toEqual([]);
	});

	test("only within the newest tool tokens, so that one long turn is pruned too", () => {
		const calls = Array.from({ length: 150 }, (): Line[] => ["assistant", read()]).flat();
		const chosen = candidates(["user", ...calls, "assistant"]);
		const kept = 150 - chosen.length;
		expect(kept).toBe(PROTECTED_TOOL_TOKENS / 1000);
		expect(chosen[0]).toBe("e2");
	});

	test("when the model has not answered it yet, however large, and with nothing else protected", () => {
		const huge = read({ chars: 400_000 });
		const lines: Line[] = ["user", "assistant", read(), "assistant", huge, huge];
		expect(candidates(lines, {}, { keepRecentTurns: 0 })).toEqual(["e2"]);
	});
});

describe("output that a shortened result refers to", () => {
	const hash = hashBytes("");
	const note = { v: 1, form: 1, shown: hash, expanded: hash, original: hash, savedChars: 9 };
	/** A result that refers to the results in these places. */
	const short = (places: number[], more: object = {}): Line => {
		const references = places.map((at) => ({ line: 1, base: `call${at}`, first: 1, last: 9 }));
		return read({ details: { birth: { ...note, references } }, ...more });
	};
	const old = (...lines: Line[]): Line[] => ["user", ...lines, ...talk, ...talk, ...talk];

	test("goes with every result that refers to it, or stays", () => {
		expect(candidates(old(read(), read(), read()))).toEqual(["e1", "e2", "e3"]);
		expect(candidates(old(read(), read(), short([1])))).toEqual(["e1", "e2", "e3"]);
		const recent: Line[] = [...old(read(), read(), short([1])), "user", short([1]), "assistant"];
		expect(candidates(recent)).toEqual(["e2", "e3"]);
		const isPinned = ({ entryId }: ToolResultItem) => entryId === "e3";
		expect(candidates(old(read(), read(), short([1])), { isPinned })).toEqual(["e2"]);
	});

	test("goes if the reference is no longer shown", () => {
		const stub = short([1], { text: "stub", isError: true });
		expect(candidates(old(read(), read(), stub))).toEqual(["e1", "e2"]);
	});

	test("stays if what refers to it must stay for another reference", () => {
		const lines = [...old(read(), short([1])), "user", short([2]), "assistant"] as Line[];
		expect(candidates(lines)).toEqual([]);
	});

	test("takes a short result along that refers to it, if both together are worth it", () => {
		const brief = (places: number[]) => short(places, { chars: 150, tokens: 38 });
		expect(candidates(old(read(), brief([1])))).toEqual(["e1", "e2"]);
		expect(candidates(old(read(), brief([1]), brief([1])))).toEqual(["e1", "e2", "e3"]);
		const small = read({ chars: 700, tokens: 175 });
		expect(candidates(old(small, brief([1]), brief([1])))).toEqual([]);
		// A short result frees nothing by itself.
		expect(candidates(old({ tool: "grep", chars: 1000 }, brief([1])))).toEqual([]);
	});
});

describe("of older output", () => {
	const older = (line: Line, facts: Partial<ResultFacts> = {}, settings = {}) =>
		candidates(["user", line, ...talk, ...talk, ...talk], facts, settings).length === 1;

	const chars = LEAST_CHARS + 1;

	test("that of read, bash and searches for snippets goes wherever a stub is worth it", () => {
		expect(older(read({ chars }))).toBe(true);
		expect(older(read({ chars: LEAST_CHARS }))).toBe(false);
		expect(older({ tool: "bash", chars })).toBe(true);
		expect(older({ tool: "kota_search", chars, input: { output: "snippet" } })).toBe(true);
		expect(older({ tool: "kota_search", chars, input: { output: "paths" } })).toBe(false);
		expect(older({ tool: "grep", chars })).toBe(false);
	});

	test("that of any tool goes above the length, or wherever a stub is worth it when it is tight", () => {
		expect(older({ tool: "grep", chars: 1200 })).toBe(false);
		expect(older({ tool: "grep", chars: 1201 })).toBe(true);
		expect(older({ tool: "grep", chars }, {}, { anyTool: true })).toBe(true);
	});

	test("errors, pictures, stubs, pins and excluded files stay", () => {
		expect(older(read({ isError: true }))).toBe(false);
		expect(older(read({ text: undefined, returned: undefined }))).toBe(false);
		expect(older(read({ text: "(Pruned) …" }))).toBe(false);
		expect(older(read(), { isPinned: () => true })).toBe(false);
		expect(older(read(), { isExcluded: () => true })).toBe(false);
		// Half a character cannot be written to a file and read back.
		const broken = `\ud800${"x".repeat(4000)}`;
		expect(older(read({ text: broken, returned: broken }))).toBe(false);
	});

	test("what a recent or pinned result refers to stays with it", () => {
		const lines: Line[] = ["user", read(), read(), ...talk, "user", read(), "assistant"];
		expect(candidates(lines)).toEqual(["e1", "e2"]);
		const { messages, results } = conversationOf(lines);
		const basesOf = (item: ToolResultItem) =>
			item.entryId === "e6" ? [results.get("e2") as ToolResultItem] : [];
		const chosen = candidatesOf({ messages, results, facts: factsOf({ basesOf }) }, DEFAULTS);
		expect(chosen.map(({ item }) => item.entryId)).toEqual(["e1"]);
	});

	test("superseded output goes even when it would not by its tool or length", () => {
		const small: Line = { tool: "grep", chars };
		expect(older(small, { isSuperseded: () => true })).toBe(true);
	});
});

test("the frontier is the first result that may go at some time, however recent it is now", () => {
	const small: Line = { tool: "read", chars: 10 };
	const frontier = (lines: Line[], facts: Partial<ResultFacts> = {}) => {
		const { messages, results } = conversationOf(lines);
		return frontierOf({ messages, results, facts: factsOf(facts), editableFrom: 0 })?.entryId;
	};
	expect(frontier(["user", small, read({ isError: true }), read(), read()])).toBe("e3");
	expect(frontier(["user", read({ text: "(Pruned) …" }), read()])).toBe("e2");
	expect(frontier(["user", read(), read()], { isPinned: (item) => item.entryId === "e1" })).toBe(
		"e2",
	);
	expect(frontier(["user", "assistant"])).toBeUndefined();
});

test("no law of keeping is broken in any conversation", () => {
	const line = fc.oneof(
		{ weight: 2, arbitrary: fc.constantFrom<Line>("user", "assistant") },
		{
			weight: 3,
			arbitrary: fc.record({
				tool: fc.constantFrom("read", "bash", "grep", "kota_impact"),
				chars: fc.integer({ min: 0, max: 30_000 }),
				isError: fc.boolean(),
			}),
		},
	);
	fc.assert(
		fc.property(fc.array(line, { maxLength: 60 }), fc.nat(4), (lines, keepRecentTurns) => {
			const { messages, results } = conversationOf(lines);
			const facts = factsOf({ isPinned: ({ toolName }) => toolName === "kota_impact" });
			const chosen = candidatesOf({ messages, results, facts }, { ...DEFAULTS, keepRecentTurns });
			const lastAnswer = lines.lastIndexOf("assistant");
			for (const { item, at } of chosen) {
				expect(item.isError).toBe(false);
				expect(item.toolName).not.toBe("kota_impact");
				expect(at).toBeLessThan(lastAnswer);
			}
			expect(chosen.map(({ at }) => at)).toEqual(
				chosen.map(({ at }) => at).toSorted((a, b) => a - b),
			);
		}),
	);
});
