import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Find } from "./find.ts";

interface FindBarProps {
	find: Find;
	/** Takes the focus after closing if nobody had it before. */
	focusList(): void;
}

/** The box to look for words in the conversation: over its upper corner, so that nothing moves when it opens. */
export function FindBar(props: FindBarProps) {
	return props.find.isOpen.value ? <OpenBar {...props} /> : null;
}

function OpenBar({ find, focusList }: FindBarProps) {
	const bar = useRef<HTMLFormElement>(null);
	const box = useRef<HTMLInputElement>(null);
	// Before the next key: one that is typed right away belongs to the box, or to what had the focus before.
	useLayoutEffect(() => {
		const before = document.activeElement;
		const form = bar.current;
		return () => {
			const { activeElement: now, body } = document;
			if (now !== body && !form?.contains(now)) return;
			if (before instanceof HTMLElement && before !== body && before.isConnected) before.focus();
			else focusList();
		};
	}, []);
	useLayoutEffect(() => {
		box.current?.focus();
		box.current?.select();
	}, [find.openings.value]);
	const hasMatches = find.found.value.keys.length > 0;
	return (
		<search class="find-place">
			<form
				ref={bar}
				class="find"
				aria-label="Find in the conversation"
				onSubmit={(event) => {
					event.preventDefault();
					find.step(1);
				}}
				onKeyDown={(event) => {
					if (event.key === "Escape") find.close();
					else if (event.key === "Enter" && event.shiftKey) find.step(-1);
					else return;
					event.preventDefault();
				}}
			>
				<input
					ref={box}
					type="text"
					aria-label="Find in the conversation"
					placeholder="Find in the conversation"
					autocomplete="off"
					spellcheck={false}
					enterkeyhint="search"
					value={find.typed.value}
					onInput={(event) => find.type(event.currentTarget.value)}
				/>
				<span class="find-count small soft number" role="status">
					{countOf(find)}
				</span>
				<button
					type="button"
					class="quiet small"
					aria-label="Previous match"
					title="Previous match (Shift+Enter)"
					disabled={!hasMatches}
					onClick={() => find.step(-1)}
				>
					<span aria-hidden="true">↑</span>
				</button>
				<button
					type="button"
					class="quiet small"
					aria-label="Next match"
					title="Next match (Enter)"
					disabled={!hasMatches}
					onClick={() => find.step(1)}
				>
					<span aria-hidden="true">↓</span>
				</button>
				<button
					type="button"
					class="quiet small"
					aria-label="Close"
					title="Close (Escape)"
					onClick={find.close}
				>
					<span aria-hidden="true">✕</span>
				</button>
			</form>
		</search>
	);
}

/** `3 of 17`, counted in rows. */
function countOf({ words, found, current }: Find): string {
	const { keys, isDone } = found.value;
	if (words.value === "") return "";
	if (keys.length === 0) return isDone ? "None" : "…";
	const at = keys.indexOf(current.value?.key ?? "");
	const position = at === -1 ? "–" : at + 1;
	return `${position} of ${keys.length}${isDone ? "" : "…"}`;
}

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

/** No more than this is searched or marked in one row: the rest of a very long one is out of sight anyway. */
const MOST_CHARACTERS = 200_000;
const MOST_RANGES = 200;

/** Where words, in lower case, are among the words that an element shows. They may go over the bounds of its children. */
function rangesOf(element: Element, words: string): Range[] {
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
