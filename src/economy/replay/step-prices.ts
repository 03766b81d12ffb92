import type { Block } from "../model-request.ts";
import { isCold, writeRatioFor } from "../rules.ts";
import type { Step } from "./requests.ts";

/** Estimates what requests cost with and without a rewrite, as a live session does: without the provider's bill. */
export class StepPrices {
	#before: { readonly step: Step; readonly tokens: number } | undefined;

	/** The last request, with its size in tokens without any rewrite. */
	get before() {
		return this.#before;
	}

	/** Whether the request writes the conversation to the cache in any case. */
	isCold(step: Step): boolean {
		const { step: before } = this.#before ?? {};
		if (!before) return true;
		const { ttlMs, invalidates } = step.model.rules;
		return isCold({
			gapMs: step.atMs - before.atMs,
			ttlMs: ttlMs[before.ttl],
			modelChanged: step.changes.has("model"),
			// Tools and system prompt precede the conversation, so a change of either invalidates it.
			toolsChanged: step.changes.has("tools") || step.changes.has("system"),
			thinkingChanged: invalidates.thinking !== undefined && step.changes.has("thinking"),
			compacted: step.changes.has("compaction"),
		}).cold;
	}

	/** For `isCold`, if costs are not asked for. */
	follow(step: Step): void {
		this.#before = { step, tokens: 0 };
	}

	/**
	 * `sent` is the request's size in tokens, `whole` its size without any rewrite. What an outer policy saves
	 * counts too: it pays for rewrites.
	 */
	add(
		step: Step,
		request: {
			readonly cold: boolean;
			readonly sent: number;
			readonly whole: number;
			readonly rewriteCost: number;
		},
	): { readonly cost: number; readonly costOfPis: number } {
		const { cold, sent, rewriteCost } = request;
		const whole = request.whole + (step.savedTokens ?? 0);
		const { rules } = step.model;
		const writeRatio = writeRatioFor(step.ttl, rules);
		const before = this.#before && this.#before.tokens + (this.#before.step.savedTokens ?? 0);
		const fresh = before !== undefined && !cold ? Math.max(0, whole - before) : whole;
		const costOf = (tokens: number) =>
			Math.max(0, tokens - fresh) * rules.readRatio + Math.min(tokens, fresh) * writeRatio;
		this.#before = { step, tokens: request.whole };
		return { cost: costOf(sent) + rewriteCost, costOfPis: costOf(whole) };
	}
}

export function tokensOf(blocks: readonly Block[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
