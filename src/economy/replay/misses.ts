import { type Block, PARTS, sharedStart } from "../model-request.ts";
import { costOf } from "../rules.ts";
import { firstPrompt, lastPrompt, promptSize } from "./billed.ts";
import type { Change, ReplaySession, Step } from "./requests.ts";

export interface ReplayMiss {
	/** 1-based, without copies. */
	readonly request: number;
	readonly atMs: number;
	readonly tokens: number;
	/** Extra cost over a cache read, in plain input tokens. */
	readonly cost: number;
	readonly cause: ReplayMissCause;
	readonly changed: string | undefined;
	/** The provider's own cause, such as `system_changed`; absent if it states none. */
	readonly providerReason?: string;
	/** True if the simulation cannot foresee the loss, because no change or pause in the file explains it. */
	readonly isUnforeseen: boolean;
}

/** `provider`: the file shows no cause. */
export type ReplayMissCause = Change | "messages" | "cleared" | "expired" | "provider";

/** Smaller differences come from the provider's counting. The value is pi's own. */
export const NOISE_TOKENS = 1024;

/** Claude leaves out the thinking of finished turns itself, and reads what is in front of it. */
const DROPPED_THINKING = 8 * NOISE_TOKENS;

export function findMisses(session: ReplaySession): ReplayMiss[] {
	const misses: ReplayMiss[] = [];
	/** Models that have read from a cache, so that their silence about writes does not mean none. */
	const caching = new Set<string>();
	let before: Step | undefined;
	let request = 0;
	for (const step of session.steps()) {
		if (!step.isCopy) request++;
		if (before?.billed.read) caching.add(before.settings.model ?? "");
		const isCaching = before !== undefined && caching.has(before.settings.model ?? "");
		const miss = before && !step.isCopy ? missBetween(before, step, isCaching) : undefined;
		if (miss) misses.push({ request, ...miss });
		before = step;
	}
	return misses;
}

function missBetween(
	before: Step,
	step: Step,
	isCaching: boolean,
): Omit<ReplayMiss, "request"> | undefined {
	const prompt = firstPrompt(step);
	const expected = Math.min(cachedAfter(before, isCaching), promptSize(prompt));
	if (expected - prompt.read <= NOISE_TOKENS) return undefined;
	const changed = firstChange(before.blocks, step.blocks);
	const most = changed ? tokensSentAgain(before, step) : expected;
	const tokens = Math.min(expected, most) - prompt.read;
	if (tokens <= NOISE_TOKENS) return undefined;
	const isShorter = !changed && hasShrunk(before, step);
	const isExpired = isLate(before, step) && !step.keptAlive;
	const visible = visibleCause(before, step) ?? (isExpired ? "expired" : undefined);
	const { missReason: providerReason } = step;
	return {
		atMs: step.atMs,
		tokens,
		cost: costOfMiss(tokens, step),
		cause:
			strongest(visible, STATED.get(providerReason ?? "")) ??
			likelyCause(before, step, changed !== undefined || isShorter),
		changed: step.changedTool ?? changed?.label ?? (isShorter && !visible ? GONE : undefined),
		...(providerReason && { providerReason }),
		isUnforeseen: visible === undefined || prompt.read === 0,
	};
}

/** What a branch or a compaction left out is not paid for again, and what it added was never cached. */
function tokensSentAgain(before: Step, step: Step): number {
	const had = new Set(before.blocks.map(({ id }) => id));
	return step.blocks.reduce((sum, block) => {
		if (had.has(block.id)) return sum + block.tokens;
		// All tools are one block, as is the system prompt: the most part of one may be the same.
		const same = block.part === "messages" ? 0 : (step.sameHead?.[block.part] ?? 0);
		return sum + Math.floor(block.tokens * same);
	}, 0);
}

/** The provider knows changes that the file does not show: most files lack the head of the prompt. */
function strongest(
	visible: Change | "expired" | undefined,
	stated: ReplayMissCause | undefined,
): ReplayMissCause | undefined {
	if (visible === undefined || visible === "expired") return stated ?? visible;
	const at = CAUSES.findIndex((cause) => cause === visible || cause === stated);
	return CAUSES[at];
}

/** Of a loss that neither the file nor the provider explains for certain. */
function likelyCause(before: Step, step: Step, isOther: boolean): ReplayMissCause {
	// Where rules do not list the level, a provider may mind it all the same.
	if (step.changes.has("thinking")) return "thinking";
	if ((step.cleared ?? 0) > (before.cleared ?? 0)) return "cleared";
	if (isOther) return "messages";
	return isLate(before, step) ? "expired" : "provider";
}

/** Stands for content that earlier requests had, though the file does not tell when it was left out. */
const GONE = "content that is no longer sent";

const STATED: ReadonlyMap<string, ReplayMissCause> = new Map([
	["model_changed", "model"],
	["tools_changed", "tools"],
	["system_changed", "system"],
	["messages_changed", "messages"],
]);

/** Tokens in the cache after a request. Providers that bill no writes cache the whole prompt. */
export function cachedAfter(before: Step, isCaching: boolean): number {
	const { automatic, minimumTokens } = before.model.rules;
	const billed = lastPrompt(before);
	const isSilent = automatic !== "none" && billed.write === 0 && isCaching;
	const prompt = promptSize(billed);
	return isSilent && prompt >= minimumTokens ? prompt : billed.read + billed.write;
}

function costOfMiss(tokens: number, { billed, model }: Step): number {
	const paid = billed.input + billed.write;
	if (paid === 0) return 0;
	const perToken = costOf({ ...billed, read: 0 }, model.rules) / paid;
	return Math.max(0, tokens * (perToken - model.rules.readRatio));
}

/** The strongest first: the one that changes the earliest part of a prompt. */
const CAUSES: readonly Change[] = [
	"model",
	"tools",
	"system",
	"compaction",
	"branch",
	"edit",
	"thinking",
];

/** The change in the file that lost the prefix. */
export function visibleCause(before: Step, step: Step): Change | undefined {
	const { invalidates } = step.model.rules;
	const cause = CAUSES.find(
		(change) => step.changes.has(change) && (change !== "thinking" || invalidates.thinking),
	);
	if (cause === undefined || cause === "compaction" || !isLate(before, step)) return cause;
	// After a long pause, a change is the cause only if what precedes it was still read.
	return firstPrompt(step).read + NOISE_TOKENS < unchangedTokens(before, step, cause)
		? undefined
		: cause;
}

/** Tokens in front of what the change makes different. */
function unchangedTokens(before: Step, step: Step, change: Change): number {
	if (change === "model") return 0;
	const same = step.blocks.slice(0, equalBlocks(before.blocks, step.blocks));
	const lost = change === "thinking" ? step.model.rules.invalidates.thinking : undefined;
	const kept = lost ? same.filter(({ part }) => PARTS.indexOf(part) < PARTS.indexOf(lost)) : same;
	return kept.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Whether the documented lifetime was over. */
export function isLate(before: Step, step: Step): boolean {
	return step.atMs - before.atMs >= step.model.rules.ttlMs[before.ttl];
}

/** Whether a conversation that only grew has a smaller prompt, so that something was left out of it. */
function hasShrunk(before: Step, step: Step): boolean {
	const gone = promptSize(lastPrompt(before)) - promptSize(firstPrompt(step));
	return gone > (step.model.rules.automatic === "none" ? DROPPED_THINKING : 0);
}

function firstChange(before: readonly Block[], now: readonly Block[]): Block | undefined {
	const at = equalBlocks(before, now);
	return at < before.length ? (now[at] ?? before[at]) : undefined;
}

/** The number of leading blocks with the same content; their sizes may be counted differently. */
function equalBlocks(before: readonly Block[], now: readonly Block[]): number {
	const isEqual = (at: number) => at < now.length && now[at]?.hash === before[at]?.hash;
	let at = sharedStart(before, now);
	while (at < before.length && isEqual(at)) at++;
	return at;
}
