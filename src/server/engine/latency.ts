/** How long commands take, from acceptance to response. */
export interface Latency {
	p50: number;
	p90: number;
	p99: number;
}

/** So many of the latest commands count. */
const KEPT = 1_024;

/** Remembers how long the latest commands took. */
export class Latencies {
	readonly #ms = new Float64Array(KEPT);
	#count = 0;

	note(ms: number): void {
		this.#ms[this.#count++ % KEPT] = ms;
	}

	/** In milliseconds; `undefined` before the first command. */
	percentiles(): Latency | undefined {
		const sorted = this.#ms.slice(0, Math.min(this.#count, KEPT)).sort();
		if (sorted.length === 0) return undefined;
		const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] as number;
		return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
	}
}
