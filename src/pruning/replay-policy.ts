import { getOrAdd } from "../core/get-or-add.ts";
import { type ModelRequest, requestForStep, sharedStart } from "../economy/index.ts";
import {
	type RequestPolicy,
	type SessionBlock,
	type Step,
	StepPrices,
	tokensOf,
} from "../economy/replay/index.ts";
import type { ToolResultItem } from "../session/index.ts";
import type { CandidateSettings } from "./candidates.ts";
import { Pruner, type PruneSettings, strictness } from "./pruner.ts";
import { GrowingSurvey, type SurveyedBlock } from "./replay-survey.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";
import type { FileTouch } from "./survey.ts";

/** Decides with the code of live sessions. Pins, excluded files and edits are unknown, so they have no effect. */
export function pruningPolicy(settings: PruneSettings): RequestPolicy {
	return {
		name: "pruning",
		description: "old tool results are pruned when that pays or is free",
		*requests(session) {
			const replay = new PruningReplay(settings);
			for (const step of session.steps()) yield replay.requestOf(step);
		},
	};
}

/** Prunes the requests of one session as a live session would. */
class PruningReplay {
	readonly #settings: PruneSettings;
	readonly #pruner: Pruner;
	readonly #pruned = new Set<number>();
	/** Memoized by block id, and by block. */
	readonly #items = new Map<number, ToolResultItem>();
	readonly #stubs = new WeakMap<SessionBlock, SessionBlock>();
	readonly #prices = new StepPrices();
	/** The last request after pruning. */
	#shown: readonly SessionBlock[] = [];
	/** The survey of `#shown`; `undefined` if `#shown` changed other than by growing. */
	#survey: GrowingSurvey | undefined;
	/** Whether a thinking block is bound to everything before it, by block id. */
	readonly #binds = new Map<number, boolean>();

	constructor(settings: PruneSettings) {
		this.#settings = settings;
		this.#pruner = new Pruner(settings);
	}

	requestOf(step: Step): ModelRequest {
		const { before } = this.#prices;
		const known = before && !isRearranged(step) ? sharedStart(before.step.blocks, step.blocks) : 0;
		const grows = before !== undefined && known === before.step.blocks.length;
		const from = grows ? known : 0;
		this.#recordThinking(step, from);
		const fresh = step.blocks.slice(from).map((block) => this.#withStub(block));
		const now = grows ? this.#shown.concat(fresh) : fresh;
		if (grows) for (const block of fresh) this.#survey?.add(this.#surveyed(block));
		else this.#survey = undefined;
		const by = this.#survey?.settings ?? strictness(this.#settings, false);
		const growing = this.#surveyOf(now, by);
		const cold = this.#prices.isCold(step);
		const plan = this.#pruner.decideOn(
			{
				rules: step.model.rules,
				cold,
				contextTokens: growing.tokens,
				contextWindow: step.model.contextWindow ?? Number.MAX_SAFE_INTEGER,
				ttl: step.ttl,
			},
			(by) => this.#surveyOf(now, by).effect(),
		);
		// Uses the frontier of this pruning, not of the next, since the prefix before it is cached.
		const first = this.#survey?.frontier();
		this.#shown = plan.prune ? this.#prune(now) : now;
		const sent = this.#survey?.tokens ?? 0;
		const whole = grows ? before.tokens + tokensOf(step.blocks.slice(from)) : tokensOf(step.blocks);
		const rewriteCost = plan.prune ? plan.rewriteCost : 0;
		const { cost, costOfPis } = this.#prices.add(step, { cold, sent, whole, rewriteCost });
		this.#pruner.recordRequest(cost, costOfPis);
		const frontier = first !== undefined && first > 0 ? first - 1 : undefined;
		return requestForStep(step, this.#shown, frontier);
	}

	/** Skips the blocks before the first candidate, since they do not change. */
	#prune(blocks: readonly SessionBlock[]): readonly SessionBlock[] {
		const survey = this.#survey;
		const candidates = survey?.candidates() ?? [];
		if (!survey || candidates.length === 0) return blocks;
		for (const { entryId } of candidates) this.#pruned.add(Number(entryId));
		const { mark, known } = survey.beforeFirst();
		const changed = blocks.slice(mark.at).map((block) => this.#withStub(block));
		const next = new GrowingSurvey(survey.settings, mark, known);
		for (const block of changed) next.add(this.#surveyed(block));
		this.#survey = next;
		return blocks.slice(0, mark.at).concat(changed);
	}

	#surveyOf(blocks: readonly SessionBlock[], by: CandidateSettings): GrowingSurvey {
		// `anyTool` distinguishes the two levels of strictness.
		if (this.#survey?.settings.anyTool === by.anyTool) return this.#survey;
		const survey = new GrowingSurvey(by);
		for (const block of blocks) survey.add(this.#surveyed(block));
		this.#survey = survey;
		return survey;
	}

	#surveyed(block: SessionBlock): SurveyedBlock {
		const isWhole = block.result && !this.#pruned.has(block.id);
		const item = isWhole ? getOrAdd(this.#items, block.id, () => resultItem(block)) : undefined;
		const touch = item && touchOf(block, item);
		return { block, item, touch, isBound: this.#binds.get(block.id) === true };
	}

	#withStub(block: SessionBlock): SessionBlock {
		if (!this.#pruned.has(block.id) || block.hash.endsWith(STUB_MARK)) return block;
		return getOrAdd(this.#stubs, block, () => ({
			...block,
			hash: `${block.hash}${STUB_MARK}`,
			// A short result with references goes with what it refers to. Its stub is longer.
			tokens: block.refersTo ? MAX_STUB_TOKENS : Math.min(block.tokens, MAX_STUB_TOKENS),
		}));
	}

	/** New thinking comes from the previous request's model. A compaction unbinds the thinking it keeps. */
	#recordThinking({ blocks, changes, model }: Step, from: number): void {
		const { rules } = this.#prices.before?.step.model ?? model;
		for (const { id, kind } of from > 0 ? blocks.slice(from) : blocks) {
			if (kind !== "thinking") continue;
			if (changes.has("compaction")) this.#binds.set(id, false);
			else if (!this.#binds.has(id)) this.#binds.set(id, rules.bindsThinking);
		}
	}
}

function isRearranged({ changes }: Step): boolean {
	return changes.has("compaction") || changes.has("edit") || changes.has("branch");
}

const STUB_MARK = "~stub";

/** A placeholder, since only the length of the text matters. */
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

/** Maximum length, since the file is untrusted. Pi never lets longer output through. */
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
