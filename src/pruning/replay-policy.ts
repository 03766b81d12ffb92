import { type Request, requestOf, sharedStart } from "../economy/index.ts";
import type { RequestPolicy, SessionBlock, Step } from "../economy/replay/index.ts";
import { isCold, writeRatioFor } from "../economy/rules.ts";
import type { ToolResultItem } from "../session/index.ts";
import type { CandidateSettings } from "./candidates.ts";
import { createPruner, type PruneSettings, strictness } from "./pruner.ts";
import { createGrowingSurvey, type GrowingSurvey, type SurveyedBlock } from "./replay-survey.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";
import type { FileTouch } from "./survey.ts";

/**
 * The cost of sessions with pruning, by the code of live sessions. A token is four characters.
 * Pins, excluded files and edits are unknown here: every result is prunable.
 */
export function pruningPolicy(settings: PruneSettings): RequestPolicy {
	return {
		name: "pruning",
		description: "old tool results go when that pays or is free",
		*requests(session) {
			const replay = createReplay(settings);
			for (const step of session.steps()) yield replay.requestOf(step);
		},
	};
}

function createReplay(settings: PruneSettings) {
	const pruner = createPruner(settings);
	const items = new Map<number, ToolResultItem>();
	const pruned = new Set<number>();
	const stubs = new WeakMap<SessionBlock, SessionBlock>();
	let before: { step: Step; tokens: number } | undefined;
	/** The last request, pruned. */
	let shown: readonly SessionBlock[] = [];
	/** Of `shown`; `undefined` when that did anything but grow. */
	let survey: GrowingSurvey | undefined;
	/** By block: its model binds thinking to all before it. */
	const binds = new Map<number, boolean>();

	return {
		requestOf(step: Step): Request {
			const known =
				before && !isRearranged(step) ? sharedStart(before.step.blocks, step.blocks) : 0;
			const grows = before !== undefined && known === before.step.blocks.length;
			const from = grows ? known : 0;
			noteThinking(step, from);
			const fresh = step.blocks.slice(from).map(withStub);
			const now = grows ? shown.concat(fresh) : fresh;
			if (grows) for (const block of fresh) survey?.add(surveyed(block));
			else survey = undefined;
			const growing = surveyOf(now, survey?.settings ?? strictness(settings, false));
			const cold = isColdNow(step);
			const plan = pruner.decideOn(
				{
					rules: step.model.rules,
					cold,
					contextTokens: growing.tokens,
					contextWindow: step.model.contextWindow ?? Number.MAX_SAFE_INTEGER,
					ttl: step.ttl,
				},
				(by) => surveyOf(now, by).survey(),
			);
			// Where this pruning begins, not the next: that prefix is cached.
			const first = survey?.frontier();
			shown = plan.prune ? prune(now) : now;
			const sent = survey?.tokens ?? 0;
			const whole = grows
				? (before?.tokens ?? 0) + tokensOf(step.blocks.slice(from))
				: tokensOf(step.blocks);
			noteCost(step, { cold, rewriteCost: plan.prune ? plan.rewriteCost : 0, sent, whole });
			return requestOf(step, shown, first !== undefined && first > 0 ? first - 1 : undefined);
		},
	};

	/** Nothing before the first candidate changes, so it is skipped. */
	function prune(blocks: readonly SessionBlock[]): readonly SessionBlock[] {
		const candidates = survey?.candidates() ?? [];
		if (!survey || candidates.length === 0) return blocks;
		for (const { entryId } of candidates) pruned.add(Number(entryId));
		const { mark, known } = survey.beforeFirst();
		const changed = blocks.slice(mark.at).map(withStub);
		survey = createGrowingSurvey(survey.settings, mark, known);
		for (const block of changed) survey.add(surveyed(block));
		return blocks.slice(0, mark.at).concat(changed);
	}

	function surveyOf(blocks: readonly SessionBlock[], by: CandidateSettings): GrowingSurvey {
		// The two strictnesses differ in this.
		if (survey?.settings.anyTool === by.anyTool) return survey;
		survey = createGrowingSurvey(by);
		for (const block of blocks) survey.add(surveyed(block));
		return survey;
	}

	function surveyed(block: SessionBlock): SurveyedBlock {
		const item = block.result && !pruned.has(block.id) ? itemOf(block) : undefined;
		const touch = item && touchOf(block, item);
		return { block, item, touch, isBound: binds.get(block.id) === true };
	}

	function withStub(block: SessionBlock): SessionBlock {
		if (!pruned.has(block.id) || block.hash.endsWith(STUB_MARK)) return block;
		const stub = stubs.get(block) ?? {
			...block,
			hash: `${block.hash}${STUB_MARK}`,
			tokens: Math.min(block.tokens, MAX_STUB_TOKENS),
		};
		stubs.set(block, stub);
		return stub;
	}

	/** New thinking is the previous request's. A compaction unbinds all that it keeps. */
	function noteThinking({ blocks, changes, model }: Step, from: number): void {
		const { rules } = before?.step.model ?? model;
		for (const { id, kind } of from > 0 ? blocks.slice(from) : blocks) {
			if (kind !== "thinking") continue;
			if (changes.has("compaction")) binds.set(id, false);
			else if (!binds.has(id)) binds.set(id, rules.bindsThinking);
		}
	}

	function itemOf(block: SessionBlock): ToolResultItem {
		const known = items.get(block.id) ?? resultItem(block);
		items.set(block.id, known);
		return known;
	}

	function isColdNow(step: Step): boolean {
		if (!before) return true;
		const { ttlMs, invalidates } = step.model.rules;
		return isCold({
			gapMs: step.atMs - before.step.atMs,
			ttlMs: ttlMs[before.step.ttl],
			modelChanged: step.changes.has("model"),
			// The conversation follows both in the request.
			toolsChanged: step.changes.has("tools") || step.changes.has("system"),
			thinkingChanged: invalidates.thinking !== undefined && step.changes.has("thinking"),
			compacted: step.changes.has("compaction"),
		}).cold;
	}

	function noteCost(step: Step, { cold, rewriteCost, sent, whole }: RequestCost): void {
		const { rules } = step.model;
		const writeRatio = writeRatioFor(step.ttl, rules);
		const fresh = before && !cold ? Math.max(0, whole - before.tokens) : whole;
		const costOf = (tokens: number) =>
			Math.max(0, tokens - fresh) * rules.readRatio + Math.min(tokens, fresh) * writeRatio;
		pruner.noteRequest(costOf(sent) + rewriteCost, costOf(whole));
		before = { step, tokens: whole };
	}
}

interface RequestCost {
	readonly cold: boolean;
	readonly rewriteCost: number;
	/** In tokens; `whole` is without pruning. */
	readonly sent: number;
	readonly whole: number;
}

function isRearranged({ changes }: Step): boolean {
	return changes.has("compaction") || changes.has("edit") || changes.has("branch");
}

const STUB_MARK = "~stub";

/** Only the text's length matters here. */
function resultItem({ id, tokens, result }: SessionBlock): ToolResultItem {
	const length = Math.min(tokens * 4, MOST_CHARS);
	const text = result?.hasImage ? undefined : "x".repeat(length);
	return {
		kind: "toolResult",
		entryId: String(id),
		toolCallId: String(id),
		toolName: result?.tool ?? "",
		input: undefined,
		isError: result?.isError === true,
		details: undefined,
		returned: text,
		text,
		since: 0,
		order: id,
		tokens,
	};
}

/** Above any output that pi lets through; the file is untrusted. */
const MOST_CHARS = 200_000;

function touchOf(block: SessionBlock, item: ToolResultItem): FileTouch<ToolResultItem> | undefined {
	const read = block.result?.isError ? undefined : block.result?.read;
	if (!read) return undefined;
	const [start = "", limit = ""] = read.window.split("+");
	const first = Number(start || 1);
	const last = limit === "" ? first : first + Number(limit) - 1;
	const kind = block.isReference ? "refers" : "shown";
	const lines = { start: first, end: last };
	return { item, file: read.path, kind, ...(!read.isWhole && { lines }) };
}

function tokensOf(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
