import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { SignButton } from "../parts/controls.tsx";
import type { Find } from "./find.ts";

interface FindBarProps {
	find: Find;
	/** Focuses the list after closing if nothing had the focus before. */
	focusList(): void;
}

/** Over the upper corner of the conversation, so that nothing moves when it opens. */
export function FindBar(props: FindBarProps) {
	return props.find.isOpen.value ? <OpenBar {...props} /> : null;
}

function OpenBar({ find, focusList }: FindBarProps) {
	const bar = useRef<HTMLFormElement>(null);
	const box = useRef<HTMLInputElement>(null);
	// A layout effect, because the next key may follow at once.
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
				<SignButton
					sign="↑"
					label="Previous match"
					title="Previous match (Shift+Enter)"
					disabled={!hasMatches}
					onClick={() => find.step(-1)}
				/>
				<SignButton
					sign="↓"
					label="Next match"
					title="Next match (Enter)"
					disabled={!hasMatches}
					onClick={() => find.step(1)}
				/>
				<SignButton sign="✕" label="Close" title="Close (Escape)" onClick={find.close} />
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
	/** The jump that led here, if this is the current match. */
	jump: number | undefined;
	/** The first match is drawn, so many pixels below the row's upper edge. */
	onDrawn(below: number): void;
}

/** Marks the words of a row with the CSS highlight API, which leaves its elements alone. The row may change at any time. */
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

/** Without the highlight API rows are marked, words are not. */
function highlightOf(name: string): Highlight | undefined {
	if (!("highlights" in CSS)) return undefined;
	const known = CSS.highlights.get(name) ?? new Highlight();
	CSS.highlights.set(name, known);
	return known;
}

/** Bounds for one row. */
const MOST_CHARACTERS = 200_000;
const MOST_RANGES = 200;

/** The ranges of words, in lower case, in an element's text, across its children. */
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
	// Lower case may be longer in a few languages: then offsets would be wrong.
	const searched = lower.length === text.length ? lower : text;
	const nodeAt = (place: number) => nodes.findLast(({ from }) => from <= place);
	const ranges: Range[] = [];
	let at = searched.indexOf(words);
	while (at !== -1 && ranges.length < MOST_RANGES) {
		const range = document.createRange();
		const start = nodeAt(at);
		// The end belongs to the text node of the last letter.
		const end = nodeAt(at + words.length - 1);
		if (start && end) {
			range.setStart(start.node, at - start.from);
			range.setEnd(end.node, at + words.length - end.from);
			ranges.push(range);
		}
		at = searched.indexOf(words, at + words.length);
	}
	return ranges;
}
