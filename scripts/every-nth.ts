/** About `count` of all items, evenly spread. */
export function everyNth<Item>(all: readonly Item[], count: number): readonly Item[] {
	const step = Math.max(1, all.length / count);
	return all.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}
