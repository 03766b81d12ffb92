import { expect, test } from "vitest";
import type { SessionBlock } from "../../src/economy/replay/index.ts";
import {
	type Candidate,
	type CandidateSettings,
	candidatesOf,
	frontierOf,
	isPrunable,
} from "../../src/pruning/candidates.ts";
import { effectOf } from "../../src/pruning/pruner.ts";
import { GrowingSurvey, type SurveyedBlock } from "../../src/pruning/replay-survey.ts";
import { MAX_STUB_BYTES, MAX_STUB_TOKENS } from "../../src/pruning/stub.ts";
import { type FileTouch, followTouches } from "../../src/pruning/survey.ts";
import type { ContextMessage, ToolResultItem } from "../../src/session/index.ts";
import { fc, runs } from "../support/property.ts";

const settings = fc.record({
	keepRecentTurns: fc.integer({ min: 0, max: 3 }),
	maxToolChars: fc.constantFrom(0, 1200, 5000),
	anyTool: fc.boolean(),
});
const line = fc.record({
	kind: fc.constantFrom("user", "text", "call", "thinking", "result", "result", "result", "note"),
	tokens: fc.constantFrom(0, 5, 100, 400, 3000, 9000),
	tool: fc.constantFrom("read", "read", "bash", "edit"),
	isError: fc.constantFrom(false, false, false, true),
	file: fc.constantFrom("a", "b"),
	touch: fc.constantFrom("shown", "shown", "refers", undefined),
	lines: fc.constantFrom(undefined, undefined, { start: 1, end: 10 }, { start: 5, end: 8 }),
	isBound: fc.constantFrom(false, false, false, false, false, false, true),
	/** Which earlier results it refers to, counted backwards. */
	refersBack: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 2 }),
});

test("a survey that grows finds what a look at the whole conversation finds, also after prunings", () => {
	fc.assert(
		fc.property(
			settings,
			fc.array(line, { maxLength: 60 }),
			fc.array(fc.nat(6)),
			(by, lines, cuts) => {
				let growing = new GrowingSurvey(by);
				const all: SurveyedBlock[] = [];
				for (const [id, made] of lines.entries()) {
					const results = all.filter(({ block }) => block.kind === "result");
					const refersTo = made.refersBack.flatMap((back) => results.at(-back)?.block.id ?? []);
					const next = blockOf({ ...made, refersTo } as never, id);
					all.push(next);
					growing.add(next);
					const whole = lookAt(all, by);
					expect(growing.effect()).toEqual(whole.effect);
					expect(growing.candidates()).toEqual(whole.candidates);
					expect(growing.frontier()).toBe(whole.frontier);
					expect(growing.tokens).toBe(all.reduce((sum, { block }) => sum + block.tokens, 0));
					if (whole.candidates.length === 0 || cuts[id % (cuts.length || 1)] !== 1) continue;
					// All candidates become stubs.
					const { mark, known } = growing.beforeFirst();
					expect(all[mark.at]?.item).toBe(whole.candidates[0]);
					for (const [at, { block, item }] of all.entries()) {
						if (!item || !whole.candidates.includes(item)) continue;
						all[at] = { block: { ...block, tokens: Math.min(block.tokens, 60) }, isBound: false };
					}
					growing = new GrowingSurvey(by, mark, known);
					for (const rest of all.slice(mark.at)) growing.add(rest);
				}
			},
		),
		{ numRuns: runs(400) },
	);
});

interface MadeLine {
	kind: SessionBlock["kind"];
	tokens: number;
	tool: string;
	isError: boolean;
	file: string;
	touch: "shown" | "refers" | undefined;
	lines: { start: number; end: number } | undefined;
	isBound: boolean;
	refersTo?: readonly number[];
}

test("a result is a candidate only together with all results that refer to its lines", () => {
	const made = (kind: string, id: number, refersTo: number[] = []): SurveyedBlock => {
		const line = { tokens: 3000, tool: "read", isError: false, file: "a", isBound: false };
		return blockOf({ ...line, kind, refersTo } as never, id);
	};
	const candidates = (survey: GrowingSurvey) => survey.candidates().map(({ entryId }) => entryId);
	const survey = new GrowingSurvey({ keepRecentTurns: 0, maxToolChars: 0, anyTool: true });
	for (const block of [made("result", 0), made("result", 1), made("text", 2)]) survey.add(block);
	expect(candidates(survey)).toEqual(["0", "1"]);
	survey.add(made("result", 3, [1]));
	expect(candidates(survey)).toEqual(["0"]);
	survey.add(made("result", 4, [3]));
	survey.add(made("text", 5));
	expect(candidates(survey)).toEqual(["0", "1", "3", "4"]);
});

test("a short result goes with those that it refers to, and never alone", () => {
	const line = { tool: "read", isError: false, file: "a", isBound: false };
	const made = (id: number, kind: string, tokens: number, refersTo: number[] = []) =>
		blockOf({ ...line, kind, tokens, refersTo } as never, id);
	const candidates = (baseTokens: number) => {
		const survey = new GrowingSurvey({ keepRecentTurns: 0, maxToolChars: 0, anyTool: true });
		survey.add(made(0, "result", baseTokens));
		survey.add(made(1, "result", 40, [0]));
		survey.add(made(2, "result", 30, [0]));
		survey.add(made(3, "text", 10));
		return { ids: survey.candidates().map(({ entryId }) => entryId), ...survey.effect() };
	};
	expect(candidates(3000).ids).toEqual(["0", "1", "2"]);
	// Their stubs are longer than they are.
	expect(candidates(3000).freedTokens).toBe(3000 - 75 + (40 - 75) + (30 - 75));
	// Two stubs add more than that of a small one frees.
	expect(candidates(200).ids).toEqual([]);
	expect(candidates(100).ids).toEqual([]);
});

test("a long chain of references is followed", { tags: "slow" }, () => {
	const survey = new GrowingSurvey({ keepRecentTurns: 0, maxToolChars: 0, anyTool: true });
	const line = { kind: "result", tokens: 200, tool: "read", isError: false, file: "a" };
	const count = 20_000;
	for (let id = 0; id < count; id++)
		survey.add(blockOf({ ...line, refersTo: id > 0 ? [id - 1] : [] } as never, id));
	expect(survey.candidates()).toEqual([]);
	survey.add(blockOf({ ...line, kind: "text" } as never, count));
	expect(survey.candidates().length).toBe(count);
});

function blockOf(made: MadeLine, id: number): SurveyedBlock {
	const { kind, tool, isError, file, refersTo = [] } = made;
	// A reference is never empty.
	const tokens = Math.max(made.tokens, refersTo.length > 0 ? 5 : 0);
	const block = {
		...{ id, kind, tokens, part: "messages", hash: `h${id}`, label: "" },
		...(refersTo.length > 0 && { refersTo }),
	} as SessionBlock;
	const isBound = kind === "thinking" && made.isBound;
	if (kind !== "result") return { block, isBound };
	const text = "x".repeat(tokens * 4);
	const item = {
		...{ kind: "toolResult", entryId: String(id), toolCallId: String(id), toolName: tool },
		...{ input: undefined, isError, details: undefined, returned: text, text, since: 0, order: id },
		tokens,
	} as ToolResultItem;
	const touch: FileTouch<ToolResultItem> | undefined =
		made.touch && !isError
			? { item, file, kind: made.touch, ...(made.lines && { lines: made.lines }) }
			: undefined;
	return { block, item, touch, isBound };
}

/** As a session decides, by looking at everything. */
function lookAt(all: readonly SurveyedBlock[], by: CandidateSettings) {
	let turn = 0;
	const messages = all.map(({ block: { id, kind, tokens } }, at): ContextMessage => {
		if (kind === "user" && all[at - 1]?.block.kind !== "user") turn++;
		const isAnswer = kind === "text" || kind === "call" || kind === "thinking";
		const toolTokens = kind === "call" || kind === "result" ? tokens : 0;
		return { entryId: String(id), role: isAnswer ? "assistant" : kind, turn, tokens, toolTokens };
	});
	const editableFrom = all.findLastIndex(({ isBound }) => isBound) + 1;
	const candidatesIn = (blocks: readonly SurveyedBlock[]) => {
		const conversation = conversationOf(messages, blocks);
		return {
			candidates: candidatesOf(conversation, by).filter(({ at }) => at >= editableFrom),
			frontier: frontierOf({ ...conversation, editableFrom }),
		};
	};
	const { frontier } = candidatesIn(all);
	const ids = idsThatGo(candidatesIn(all.map(lengthened)).candidates, all);
	const chosen = all.flatMap(({ item }, at): Candidate[] =>
		item && ids.has(item.entryId) ? [{ item, at, why: "old" }] : [],
	);
	// The stubs of short results are longer than they are.
	const freedTokens = chosen.reduce((sum, { item }) => sum + item.tokens - MAX_STUB_TOKENS, 0);
	return {
		effect: { ...effectOf(messages, chosen), freedTokens },
		candidates: chosen.map(({ item }) => item),
		frontier: frontier && all.findIndex(({ item }) => item === frontier),
	};
}

function conversationOf(messages: readonly ContextMessage[], all: readonly SurveyedBlock[]) {
	const items = all.flatMap(({ item }) => item ?? []);
	const results = new Map(items.map((item) => [item.entryId, item]));
	const touches = followTouches(all.flatMap(({ touch }) => touch ?? []));
	return {
		messages,
		results,
		facts: { isPinned: () => false, isExcluded: () => false, ...touches },
	};
}

/** Results with references count as long enough. */
function lengthened(one: SurveyedBlock): SurveyedBlock {
	const { block, item, touch } = one;
	if (!item || item.isError || !block.refersTo) return one;
	const text = (item.text ?? "").padEnd(2 * MAX_STUB_BYTES + 1, "x");
	const long = { ...item, text, returned: text };
	return { ...one, item: long, touch: touch && { ...touch, item: long } };
}

/** Leaves out what frees less than it adds, what results that stay refer to, then short results that are in the way of none. */
function idsThatGo(candidates: readonly Candidate[], all: readonly SurveyedBlock[]) {
	const ids = new Set(candidates.map(({ item }) => item.entryId));
	const isBrief = ({ item }: SurveyedBlock) => item && !isPrunable(item);
	for (const { item } of candidates) {
		const id = Number(item.entryId);
		const bases = all.filter(isBrief).flatMap(({ block }) => block.refersTo ?? []);
		const added = MAX_STUB_TOKENS * bases.filter((base) => base === id).length;
		if (added > 0 && item.tokens - MAX_STUB_TOKENS <= added) ids.delete(item.entryId);
	}
	for (const { block, item } of all.toReversed()) {
		if (!item || ids.has(item.entryId)) continue;
		for (const base of block.refersTo ?? []) ids.delete(String(base));
	}
	for (const { block, item } of all) {
		if (!item || isPrunable(item)) continue;
		if (!block.refersTo?.some((base) => ids.has(String(base)))) ids.delete(item.entryId);
	}
	return ids;
}
