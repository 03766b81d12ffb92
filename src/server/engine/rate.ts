/** Lets so many through a minute, with bursts up to the same number. Constant time and space. */
export interface RateBucket {
	/** Takes one; false when there is none left. */
	take(): boolean;
	/** Milliseconds until there is one again; 0 when there is one now. */
	waitMs(): number;
}

/** A full bucket. `clock` gives milliseconds and never goes back. */
export function createRateBucket(perMinute: number, clock: () => number): RateBucket {
	const perMs = perMinute / 60_000;
	let left = perMinute;
	let filledAt = clock();

	function fill(): void {
		const now = clock();
		left = Math.min(perMinute, left + (now - filledAt) * perMs);
		filledAt = now;
	}

	return {
		take() {
			fill();
			if (left < 1) return false;
			left -= 1;
			return true;
		},
		waitMs() {
			fill();
			return left >= 1 ? 0 : Math.ceil((1 - left) / perMs);
		},
	};
}
