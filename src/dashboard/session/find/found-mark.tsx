import { useEffect, useRef } from "preact/hooks";
import { rangesOf } from "./ranges.ts";

interface FoundMarkProps {
	words: string;
	/** Which jump has led here, if this is the match that is looked at. */
	jump: number | undefined;
	/** The first match is drawn, so many pixels below the upper edge of its row. */
	onDrawn(below: number): void;
}

/**
 * Stands in a row that has what is looked for: sets its style apart, and marks the words in it without touching its
 * elements. What the row shows may change at any time.
 */
export function FoundMark({ words, jump, onDrawn }: FoundMarkProps) {
	const isCurrent = jump !== undefined;
	const mark = useRef<HTMLSpanElement>(null);
	const tell = useRef(onDrawn);
	tell.current = onDrawn;
	useEffect(() => {
		const row = mark.current?.closest("article");
		if (!row) return;
		const highlight = highlightOf(isCurrent ? "found-here" : "found");
		let ranges: Range[] = [];
		const unmark = () => {
			for (const range of ranges) highlight?.delete(range);
		};
		const markWords = () => {
			unmark();
			ranges = rangesOf(row, words);
			for (const range of ranges) highlight?.add(range);
			const place = ranges[0]?.getBoundingClientRect();
			if (place) tell.current(place.top - row.getBoundingClientRect().top);
		};
		markWords();
		const observer = new MutationObserver(markWords);
		observer.observe(row, { childList: true, characterData: true, subtree: true });
		return () => {
			observer.disconnect();
			unmark();
		};
	}, [words, jump]);
	return <span ref={mark} class={isCurrent ? "found-mark is-current" : "found-mark"} hidden />;
}

/** The browser's registry of marked words. An old browser has none: then rows are marked, words are not. */
function highlightOf(name: string): Highlight | undefined {
	if (!("highlights" in CSS)) return undefined;
	const known = CSS.highlights.get(name) ?? new Highlight();
	CSS.highlights.set(name, known);
	return known;
}
