import { createHash } from "node:crypto";
import type { PromptTokens } from "../../../src/core/bill.ts";
import { type Block, CacheSimulator } from "../../../src/economy/index.ts";
import { rulesFor } from "../../../src/economy/rules.ts";
import { loopbackTokens } from "../loopback-cache.ts";

/** The prompt caches of a provider that caches without markers: one for each model and cache key. */
export class PrefixBill {
	readonly #provider: string;
	readonly #now: () => number;
	readonly #caches = new Map<string, CacheSimulator>();

	constructor(provider: string, now: () => number) {
		this.#provider = provider;
		this.#now = now;
	}

	/** `parts` in the order of prefix matching; values are compared by their JSON. */
	bill(model: string, parts: Readonly<Record<Block["part"], readonly unknown[]>>): PromptTokens {
		const cache =
			this.#caches.get(model) ??
			new CacheSimulator(rulesFor({ provider: this.#provider, id: model }));
		this.#caches.set(model, cache);
		const blocks = (["tools", "system", "messages"] as const).flatMap((part) =>
			parts[part].map((value) => blockOf(part, JSON.stringify(value))),
		);
		return cache.send({ atMs: this.#now(), blocks, breakpoints: [] });
	}
}

function blockOf(part: Block["part"], text: string): Block {
	const hash = createHash("sha256").update(text).digest("hex");
	return { part, hash, tokens: loopbackTokens(text), label: part };
}
