/** How fast something grows from one request to the next: an average in which the latest counts most. */
export interface Growth {
	/** Takes note of the size at a request. A size that fell was pruned, and says nothing about growth. */
	note(size: number): void;
	/** Growth per request; zero until there is something to go by. */
	readonly perRequest: number;
}

/** The weight of the latest step once there are many; before, each counts the same. */
const WEIGHT = 0.05;

/** Begins without a size. */
export function createGrowth(): Growth {
	let last = 0;
	let steps = 0;
	let average = 0;
	return {
		note(size) {
			if (size >= last) {
				steps++;
				average += (size - last - average) * Math.max(WEIGHT, 1 / steps);
			}
			last = size;
		},
		get perRequest() {
			return average;
		},
	};
}
