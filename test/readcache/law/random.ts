/** Choices that a seed repeats exactly, so that a failing run can be run again. */
export interface Random {
	/** A whole number from 0 to `count - 1`. */
	below(count: number): number;
	/** A whole number from `least` to `most`. */
	between(least: number, most: number): number;
	/** True in `share` of all cases, from 0 to 1. */
	chance(share: number): boolean;
	pick<T>(list: readonly T[]): T;
	/** One of the values, each as likely as its weight says. */
	weighted<T>(options: readonly (readonly [weight: number, value: T])[]): T;
}

/** Mulberry32: small, quick, and good enough to stir tests. */
export function createRandom(seed: number): Random {
	let state = seed >>> 0;
	const next = (): number => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (count: number) => Math.floor(next() * count);
	return {
		below,
		between: (least, most) => least + below(most - least + 1),
		chance: (share) => next() < share,
		pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
		weighted<T>(options: readonly (readonly [number, T])[]) {
			let at = next() * options.reduce((sum, [weight]) => sum + weight, 0);
			for (const [weight, value] of options) {
				at -= weight;
				if (at < 0) return value;
			}
			return (options.at(-1) as readonly [number, T])[1];
		},
	};
}
