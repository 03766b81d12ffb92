import { expect, test } from "vitest";
import type { SessionBlock } from "../../src/economy/replay/index.ts";
import { type CandidateSettings, candidatesOf, frontierOf } from "../../src/pruning/candidates.ts";
import { effectOf } from "../../src/pruning/pruner.ts";
import { GrowingSurvey, type SurveyedBlock } from "../../src/pruning/replay-survey.ts";
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
					const next = blockOf(made as never, id);
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
}

function blockOf(made: MadeLine, id: number): SurveyedBlock {
	const { kind, tokens, tool, isError, file } = made;
	const block = { id, kind, tokens, part: "messages", hash: `h${id}`, label: "" } as SessionBlock;
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
	const items = all.flatMap(({ item }) => item ?? []);
	const results = new Map(items.map((item) => [item.entryId, item]));
	const touches = followTouches(all.flatMap(({ touch }) => touch ?? []));
	const facts = { isPinned: () => false, isExcluded: () => false, ...touches };
	const editableFrom = all.findLastIndex(({ isBound }) => isBound) + 1;
	const chosen = candidatesOf({ messages, results, facts }, by).filter(
		({ at }) => at >= editableFrom,
	);
	const frontier = frontierOf({ messages, results, facts, editableFrom });
	return {
		effect: effectOf(messages, chosen),
		candidates: chosen.map(({ item }) => item),
		frontier: frontier && all.findIndex(({ item }) => item === frontier),
	};
}
