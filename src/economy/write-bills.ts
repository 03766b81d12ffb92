import type { PromptTokens } from "../core/bill.ts";
import type { CacheRules, ModelInfo } from "./rules.ts";

type Model = Pick<ModelInfo, "provider" | "id">;

/**
 * Learns from the bills of a session which models bill no writes. Without documented rules, this
 * overrides the cautious write price.
 */
export class WriteBills {
	readonly #read = new Set<string>();
	readonly #written = new Set<string>();

	add(model: Model, { read, write }: PromptTokens): void {
		if (read > 0) this.#read.add(keyOf(model));
		if (write > 0) this.#written.add(keyOf(model));
	}

	/** If the model billed reads and never a write, its writes count as plain input. */
	applyTo(rules: CacheRules, model: Model): CacheRules {
		if (rules.source !== "default") return rules;
		if (!this.#read.has(keyOf(model)) || this.#written.has(keyOf(model))) return rules;
		const because = `${rules.because} Its bills have reads and no writes, so writes count as plain input.`;
		return { ...rules, writeRatio: 1, writeOneHourRatio: 1, because };
	}
}

function keyOf({ provider, id }: Model): string {
	return `${provider}/${id}`;
}
