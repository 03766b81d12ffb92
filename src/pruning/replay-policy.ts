import type { ContextMessage, ToolResultItem } from "../context/index.ts";
import {
	isCold,
	type Request,
	type RequestPolicy,
	requestOf,
	type SessionBlock,
	type Step,
	writeRatioFor,
} from "../economy/index.ts";
import { frontierOf } from "./candidates.ts";
import { type FileTouch, followTouches } from "./file-touches.ts";
import { createPruner, type PrunableSession } from "./pruner.ts";
import type { PruneSettings } from "./strictness.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";

/**
 * What sessions would have cost with pruning, by the very code that decides in a session. Sizes are the provider's, and
 * four characters are a token. Pins, excluded files and edits are not known here: all results count as free to go, and
 * as superseded only by reading the file again.
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
	let before: { step: Step; tokens: number } | undefined;
	/** Whether the thinking of a block is bound to what stands before it: by the model that thought. */
	const binds = new Map<number, boolean>();

	return {
		requestOf(step: Step): Request {
			noteThinking(step);
			const now = step.blocks.map(withStub);
			const state = stateOf(step, now);
			const { candidates, plan } = pruner.decide(state);
			if (plan.prune) for (const { item } of candidates) pruned.add(Number(item.entryId));
			const blocks = plan.prune ? now.map(withStub) : now;
			noteCost(step, blocks, { cold: state.cold, rewriteCost: plan.prune ? plan.rewriteCost : 0 });
			// Where this pruning begins, not the next: that prefix is in the cache.
			const first = frontierOf(state);
			const at = first ? blocks.findIndex(({ id }) => String(id) === first.entryId) : -1;
			return requestOf(step, blocks, at > 0 ? at - 1 : undefined);
		},
	};

	function withStub(block: SessionBlock): SessionBlock {
		if (!pruned.has(block.id) || block.hash.endsWith(STUB_MARK)) return block;
		return {
			...block,
			hash: `${block.hash}${STUB_MARK}`,
			tokens: Math.min(block.tokens, MAX_STUB_TOKENS),
		};
	}

	function stateOf(step: Step, blocks: readonly SessionBlock[]): PrunableSession {
		const whole = blocks.filter(({ id, result }) => result && !pruned.has(id));
		const touches = followTouches(whole.flatMap((block) => touchOf(block, itemOf(block))));
		return {
			messages: messagesOf(blocks),
			results: new Map(whole.map((block) => [String(block.id), itemOf(block)])),
			facts: { isPinned: () => false, isExcluded: () => false, ...touches },
			editableFrom: blocks.findLastIndex(({ id }) => binds.get(id) === true) + 1,
			rules: step.model.rules,
			cold: isColdNow(step),
			contextTokens: tokensOf(blocks),
			contextWindow: step.model.contextWindow ?? Number.MAX_SAFE_INTEGER,
			ttl: step.ttl,
		};
	}

	/** New thinking is that of the request before. A compaction takes the prefix from all that it keeps. */
	function noteThinking({ blocks, changes, model }: Step): void {
		const { rules } = before?.step.model ?? model;
		for (const { id, kind } of blocks) {
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
			// The conversation stands behind both.
			toolsChanged: step.changes.has("tools") || step.changes.has("system"),
			thinkingChanged: invalidates.thinking !== undefined && step.changes.has("thinking"),
			compacted: step.changes.has("compaction"),
		}).cold;
	}

	/** What the request costs by the rules, and what it would cost whole. */
	function noteCost(
		step: Step,
		blocks: readonly SessionBlock[],
		{ cold, rewriteCost }: { cold: boolean; rewriteCost: number },
	): void {
		const { rules } = step.model;
		const writeRatio = writeRatioFor(step.ttl, rules);
		const whole = tokensOf(step.blocks);
		const fresh = before && !cold ? Math.max(0, whole - before.tokens) : whole;
		const costOf = (tokens: number) =>
			Math.max(0, tokens - fresh) * rules.readRatio + Math.min(tokens, fresh) * writeRatio;
		pruner.noteRequest(costOf(tokensOf(blocks)) + rewriteCost, costOf(whole));
		before = { step, tokens: whole };
	}
}

const STUB_MARK = "~stub";

function messagesOf(blocks: readonly SessionBlock[]): ContextMessage[] {
	let turn = 0;
	return blocks.map(({ id, kind, tokens }, at) => {
		if (kind === "user" && blocks[at - 1]?.kind !== "user") turn++;
		const toolTokens = kind === "call" || kind === "result" ? tokens : 0;
		return { entryId: String(id), role: ROLES[kind] ?? kind, turn, tokens, toolTokens };
	});
}

const ROLES: Partial<Record<SessionBlock["kind"], string>> = {
	text: "assistant",
	call: "assistant",
	thinking: "assistant",
	result: "toolResult",
};

/** Nobody reads the text of a session's results here; only its length counts. */
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

/** Longer than any output that pi lets through; a damaged or hostile file may state anything. */
const MOST_CHARS = 200_000;

function touchOf(block: SessionBlock, item: ToolResultItem): FileTouch<ToolResultItem>[] {
	const read = block.result?.isError ? undefined : block.result?.read;
	if (!read) return [];
	const [start = "", limit = ""] = read.window.split("+");
	const first = Number(start || 1);
	const last = limit === "" ? first : first + Number(limit) - 1;
	const kind = block.isReference ? "refers" : "shown";
	return [{ item, file: read.path, kind, ...(!read.isWhole && { lines: [first, last] }) }];
}

function tokensOf(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
