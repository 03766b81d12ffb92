import { type Block, sharedStart } from "../model-request.ts";
import { costOf } from "../rules.ts";
import { promptSize } from "./billed.ts";
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
	/** True if so little was read from the cache that the simulation treats it as empty. */
	readonly isTotal: boolean;
}

/** `provider`: the file shows no cause. */
export type ReplayMissCause = Change | "messages" | "expired" | "provider";

/** Smaller differences come from the provider's counting. The value is pi's own. */
const NOISE_TOKENS = 1024;

/** If less than this share of the expected tokens is read, the loss counts as total. */
const TOTAL_LOSS = 0.5;

export function findMisses(session: ReplaySession): ReplayMiss[] {
	const misses: ReplayMiss[] = [];
	let before: Step | undefined;
	let request = 0;
	for (const step of session.steps()) {
		if (!step.isCopy) request++;
		const miss = before && !step.isCopy ? missBetween(before, step) : undefined;
		if (miss) misses.push({ request, ...miss });
		before = step;
	}
	return misses;
}

function missBetween(before: Step, step: Step): Omit<ReplayMiss, "request"> | undefined {
	const expected = Math.min(cachedAfter(before), promptSize(step.billed));
	const tokens = expected - step.billed.read;
	if (tokens <= NOISE_TOKENS) return undefined;
	const changed = firstChange(before.blocks, step.blocks);
	const visible = causeOf(before, step, changed);
	const { missReason: providerReason } = step;
	const cause = visible === "provider" ? (STATED[providerReason ?? ""] ?? visible) : visible;
	const { read } = step.billed;
	return {
		atMs: step.atMs,
		tokens,
		cost: costOfMiss(tokens, step),
		cause,
		changed: changed?.label,
		...(providerReason && { providerReason }),
		// The simulation reproduces losses with a visible cause by itself.
		isTotal: read === 0 || (visible === "provider" && read < expected * TOTAL_LOSS),
	};
}

/** Causes that a provider states and a session file may not show: most lack the head of the prompt. */
const STATED: Readonly<Record<string, ReplayMissCause>> = {
	model_changed: "model",
	tools_changed: "tools",
	system_changed: "system",
	messages_changed: "messages",
};

/** Tokens in the cache after a request. Providers that bill no writes cache the whole prompt. */
function cachedAfter({ billed, model }: Step): number {
	const isSilent = model.rules.automatic !== "none" && billed.write === 0 && billed.read > 0;
	return isSilent ? promptSize(billed) : billed.read + billed.write;
}

function costOfMiss(tokens: number, { billed, model }: Step): number {
	const paid = billed.input + billed.write;
	if (paid === 0) return 0;
	const perToken = costOf({ ...billed, read: 0 }, model.rules) / paid;
	return Math.max(0, tokens * (perToken - model.rules.readRatio));
}

/** These precede all other causes, the strongest first. */
const CAUSES: readonly Change[] = [
	"compaction",
	"model",
	"tools",
	"system",
	"branch",
	"edit",
	"thinking",
];

function causeOf(before: Step, step: Step, changed: Block | undefined): ReplayMissCause {
	const { invalidates } = step.model.rules;
	const cause = CAUSES.find(
		(change) => step.changes.has(change) && (change !== "thinking" || invalidates.thinking),
	);
	if (cause) return cause;
	if (step.atMs - before.atMs >= step.model.rules.ttlMs[before.ttl]) return "expired";
	return changed ? "messages" : "provider";
}

function firstChange(before: readonly Block[], now: readonly Block[]): Block | undefined {
	for (let at = sharedStart(before, now); at < before.length; at++) {
		if (now[at]?.hash !== before[at]?.hash) return now[at] ?? before[at];
	}
	return undefined;
}
