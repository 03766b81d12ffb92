/** Where rows begin, by their number; one more than there are rows, the last being the height of all. */
export type Offsets = Float64Array;

/** Lays rows of known or guessed heights one under the other. */
export function offsetsOf(count: number, heightAt: (index: number) => number): Offsets {
	const offsets = new Float64Array(count + 1);
	for (let index = 0; index < count; index++) {
		offsets[index + 1] = (offsets[index] ?? 0) + heightAt(index);
	}
	return offsets;
}

/** The row at a height: the last one that begins at or above it. */
export function rowAt(offsets: Offsets, top: number): number {
	let low = 0;
	let high = Math.max(0, offsets.length - 2);
	while (low < high) {
		const middle = Math.ceil((low + high) / 2);
		if ((offsets[middle] ?? 0) <= top) low = middle;
		else high = middle - 1;
	}
	return low;
}

/** No more rows than this are drawn, whatever their heights are said to be. */
export const MOST_ROWS = 150;

/** Which rows have to be drawn for what is in view and a little around it: from `from` up to, not including, `to`. */
export function windowOf(
	offsets: Offsets,
	view: { top: number; height: number; around: number },
): { from: number; to: number } {
	const count = offsets.length - 1;
	if (count <= 0) return { from: 0, to: 0 };
	const from = rowAt(offsets, view.top - view.around);
	const to = rowAt(offsets, view.top + view.height + view.around) + 1;
	return { from, to: Math.min(count, to, from + MOST_ROWS) };
}
