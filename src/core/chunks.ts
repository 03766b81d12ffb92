export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
	const lists: Item[][] = [];
	for (let at = 0; at < items.length; at += size) lists.push(items.slice(at, at + size));
	return lists;
}
