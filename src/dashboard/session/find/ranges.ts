/** No more than this is searched or marked in one row: the rest of a very long one is out of sight anyway. */
const MOST_CHARACTERS = 200_000;
const MOST_RANGES = 200;

/** Where words, in lower case, are among the words that an element shows. They may go over the bounds of its children. */
export function rangesOf(element: Element, words: string): Range[] {
	const nodes: { node: Node; from: number }[] = [];
	let text = "";
	const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
	while (walker.nextNode() && text.length < MOST_CHARACTERS) {
		const { currentNode } = walker;
		if (currentNode.parentElement?.closest(".hidden-text")) continue;
		nodes.push({ node: currentNode, from: text.length });
		text += currentNode.nodeValue ?? "";
	}
	const lower = text.toLowerCase();
	// In a few languages letters become two in lower case: then places would be wrong.
	const searched = lower.length === text.length ? lower : text;
	const ranges: Range[] = [];
	let at = searched.indexOf(words);
	while (at !== -1 && ranges.length < MOST_RANGES) {
		const range = document.createRange();
		const start = placeOf(nodes, at);
		// The end belongs to the last letter's text, not to the one behind it.
		const end = placeOf(nodes, at + words.length - 1);
		if (start && end) {
			range.setStart(start.node, at - start.from);
			range.setEnd(end.node, at + words.length - end.from);
			ranges.push(range);
		}
		at = searched.indexOf(words, at + words.length);
	}
	return ranges;
}

function placeOf<Place extends { from: number }>(
	places: readonly Place[],
	at: number,
): Place | undefined {
	let low = 0;
	let high = places.length - 1;
	while (low < high) {
		const middle = Math.ceil((low + high) / 2);
		if ((places[middle]?.from ?? 0) <= at) low = middle;
		else high = middle - 1;
	}
	return places[low];
}
