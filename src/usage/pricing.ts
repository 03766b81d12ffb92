import { getOrAdd } from "../core/get-or-add.ts";
import { knownModel, type ReplayMissCause, type ReplayModel } from "../economy/replay/index.ts";
import { costOf, dollarsOf } from "../economy/rules.ts";
import type { RequestUsage } from "./file-usage.ts";

export interface Price {
	readonly dollars: number;
	/** Extra cost of the request's miss over a cache read; 0 without a miss. */
	readonly missDollars: number;
}

/** A miss by its cause. Otherwise the first request of a session, or the largest part of its cost. */
export type DearReason =
	| ReplayMissCause
	| "first request"
	| "large new content"
	| "long context"
	| "output";

/** Prices requests by the table of known models. */
export class Pricing {
	readonly #models = new Map<string, ReplayModel>();

	/** `undefined` if the table has no price for the model, or for its service tier. */
	priceOf({ model, tier, tokens, miss }: RequestUsage): Price | undefined {
		const { prices, rules } = this.#modelOf(model);
		if (!prices?.input || tier !== undefined) return undefined;
		const prompt = tokens.input + tokens.read + tokens.write;
		// The plain price may depend on the size of the whole prompt.
		const plain = dollarsOf({ input: prompt, read: 0, write: 0, writeOneHour: 0 }, prices);
		const missDollars = miss && prompt > 0 ? (miss.cost / prompt) * plain : 0;
		return { dollars: dollarsOf(tokens, prices, rules), missDollars };
	}

	reasonOf({ model, tokens, miss, isFirst }: RequestUsage, { dollars }: Price): DearReason {
		if (miss) return miss.cause;
		if (isFirst) return "first request";
		const { prices, rules } = this.#modelOf(model);
		const prompt = prices ? dollarsOf({ ...tokens, output: 0 }, prices, rules) : dollars;
		const reads =
			tokens.read === 0 ? 0 : (prompt * tokens.read * rules.readRatio) / costOf(tokens, rules);
		const fresh = prompt - reads;
		if (dollars - prompt >= Math.max(reads, fresh)) return "output";
		return fresh >= reads ? "large new content" : "long context";
	}

	#modelOf(name: string): ReplayModel {
		return getOrAdd(this.#models, name, () => {
			const at = name.indexOf("/");
			return knownModel({ provider: name.slice(0, at), id: name.slice(at + 1) });
		});
	}
}
