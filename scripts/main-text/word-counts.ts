import type { WordTable } from "../../src/paging/extract/block-model.ts";

/** A word has a weight if so many domains use it. */
const MIN_DOMAINS = 4;

/** The share of main text where each word is, on one page. */
export class Shares {
	readonly #found = new Map<string, { hits: number; all: number }>();

	add(word: string, size: number, label: number): void {
		const entry = this.#found.get(word) ?? { hits: 0, all: 0 };
		entry.hits += size * label;
		entry.all += size;
		this.#found.set(word, entry);
	}

	result(): Map<string, number> {
		return new Map(
			[...this.#found].map(([word, { hits, all }]) => [word, all > 0 ? hits / all : 0]),
		);
	}
}

/** The weight of each word by the pages that have it, of which one page can be left out. */
export class WordCounts {
	readonly #sums = new Map<string, { hits: number; all: number; domains: Set<string> }>();
	readonly #prior: number;
	readonly #smoothing: number;

	constructor(prior: number, smoothing: number) {
		this.#prior = prior;
		this.#smoothing = smoothing;
	}

	add(word: string, share: number, domain: string): void {
		const entry = this.#sums.get(word) ?? { hits: 0, all: 0, domains: new Set() };
		entry.hits += share;
		entry.all += 1;
		entry.domains.add(domain);
		this.#sums.set(word, entry);
	}

	weight(word: string, own?: number): number {
		const sum = this.#sums.get(word);
		if (!sum || sum.domains.size < MIN_DOMAINS) return 0;
		return own === undefined
			? this.#weigh(sum.hits, sum.all)
			: this.#weigh(sum.hits - own, sum.all - 1);
	}

	table(least: number): WordTable {
		const table: Record<string, number> = {};
		for (const word of [...this.#sums.keys()].sort()) {
			const value = Math.round(10 * this.weight(word)) * 10;
			if (Math.abs(value) >= least) table[word] = value;
		}
		return table;
	}

	#weigh(hits: number, all: number): number {
		const prior = this.#prior;
		const odds = (hits + this.#smoothing * prior) / (all - hits + this.#smoothing * (1 - prior));
		return Math.log(odds / (prior / (1 - prior)));
	}
}
