/** How fast something grows from one request to the next: an average in which the latest counts most. */
export interface Growth {
	/** Takes note of the size at a request. A size that fell was pruned, and says nothing about growth. */
	note(size: number): void;
	/** Growth per request; zero until there is something to go by. */
	readonly perRequest: number;
}

/** The weight of the latest step. */
const WEIGHT = 0.1;

export function createGrowth(): Growth {
	let last: number | undefined;
	let average: number | undefined;
	return {
		note(size) {
			if (last !== undefined && size >= last) {
				const step = size - last;
				average = average === undefined ? step : average + WEIGHT * (step - average);
			}
			last = size;
		},
		get perRequest() {
			return average ?? 0;
		},
	};
}
