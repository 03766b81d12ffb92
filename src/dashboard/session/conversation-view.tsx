import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { SignButton, submitting } from "../parts/controls.tsx";
import { Empty } from "../parts/notices.tsx";
import { type Picture, PictureDialog } from "../parts/picture.tsx";
import { PlainText, Sought } from "../parts/text.tsx";
import { type ListHandle, VirtualList } from "../parts/virtual-list.tsx";
import { Composer } from "./composer.tsx";
import { DemoBanner } from "./demo-banner.tsx";
import type { Desk } from "./desk.ts";
import type { Find } from "./find.ts";
import type { OpenSession } from "./open-session.ts";
import { estimatedHeight, type Row, type RowActions, RowView } from "./row-view.tsx";

/** A session that is shown, with what the user writes for it. */
export interface Opened extends Desk {
	session: OpenSession;
	rows: ReadonlySignal<readonly Row[]>;
	find: Find;
}

export function ConversationView({ session, draft, outbox, rows, find }: Opened) {
	const list = useRef<ListHandle>(null);
	const match = find.current.value;
	const [shown, showPicture] = useState<Picture>();
	const actions: RowActions = { ...useUnfolded(find), showPicture, reload: session.reload };
	const markOf = useMatches(find, list);
	useFindKey(find);
	const toEnd = () => list.current?.toEnd();
	const isLoading = session.status.value.name === "loading";
	return (
		<section class="conversation" aria-label="Conversation">
			<DemoBanner session={session} outbox={outbox} onSend={toEnd} />
			{find.isOpen.value && <FindBar find={find} focusList={() => list.current?.focus()} />}
			{rows.value.length === 0 ? (
				<div class="list-frame conversation-empty">
					<Empty>{isLoading ? "Loading the conversation…" : "Nothing was said yet."}</Empty>
				</div>
			) : (
				<VirtualList
					rows={rows.value}
					render={(row) => (
						<Sought.Provider value={row.key === match?.key ? find.words.value : ""}>
							<RowView row={row} actions={actions} />
							{markOf(row)}
						</Sought.Provider>
					)}
					estimate={estimatedHeight}
					label="Messages"
					isBusy={session.conversation.value.isRunning}
					isHeld={match !== undefined}
					handle={list}
				/>
			)}
			<Activity session={session} />
			<Composer session={session} draft={draft} outbox={outbox} onSend={toEnd} />
			{/* Not in its row: that may leave the list while the picture is looked at. */}
			{shown && <PictureDialog picture={shown} onClose={() => showPicture(undefined)} />}
		</section>
	);
}

/** Scrolls to the current match. Returns the mark of a row that has one. */
function useMatches(find: Find, list: { readonly current: ListHandle | null }) {
	const { isOpen, found, words, current } = find;
	const match = current.value;
	const keys = useMemo(() => new Set(found.value.keys), [found.value]);
	/** The last jump that was scrolled to: later scrolling is not undone. */
	const arrived = useRef(0);
	useLayoutEffect(() => {
		if (isOpen.value) find.startFrom(list.current?.firstInView());
	}, [isOpen.value]);
	useLayoutEffect(() => {
		if (match) list.current?.reveal(match.key);
	}, [match]);
	return (row: Row) => {
		if (!keys.has(row.key)) return null;
		const jump = row.key === match?.key ? match.jump : undefined;
		return (
			<FoundMark
				words={words.value}
				jump={jump}
				onDrawn={(below) => {
					// A mark may report after the next jump.
					if (jump === undefined || jump <= arrived.current) return;
					arrived.current = jump;
					list.current?.reveal(row.key, below);
				}}
			/>
		);
	};
}

/** Ctrl+F or ⌘F finds in the conversation; the second time, from within the box, it is the browser's own. */
function useFindKey(find: Find): void {
	useLayoutEffect(() => {
		const onKeyDown = (event: KeyboardEvent) => {
			const isHeld = IS_APPLE ? event.metaKey : event.ctrlKey;
			const isFind = isHeld && event.key.toLowerCase() === "f";
			if (!isFind || event.shiftKey || event.altKey || event.defaultPrevented) return;
			if (document.activeElement?.closest("dialog, .find")) return;
			event.preventDefault();
			find.open();
		};
		window.addEventListener("keydown", onKeyDown);
		return () => {
			window.removeEventListener("keydown", onKeyDown);
			find.close();
		};
	}, [find]);
}

/** On Apple systems Ctrl+F moves the cursor. */
const IS_APPLE = /^(Mac|iP)/.test(navigator.platform);

function Activity({ session }: { session: OpenSession }) {
	const { isRunning, isCompacting, waitsFor } = session.conversation.value;
	const { working } = session.ui.value;
	const words = waitsFor
		? `Waiting: ${waitsFor}`
		: isCompacting
			? "Compacting the conversation…"
			: isRunning
				? (working ?? "Working…")
				: "";
	return (
		<p class="activity line small soft" role="status" aria-live="polite">
			{words && <span class="dot is-running pulse" aria-hidden="true" />}
			<PlainText text={words} most={300} />
		</p>
	);
}

/** Which rows are unfolded. The current match is unfolded; a match that the search has passed is folded again. */
function useUnfolded({ isOpen, current }: Find) {
	const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
	/** Unfolded by the search, not by the reader. */
	const lent = useRef<string>(undefined);
	const found = current.value?.key;
	useLayoutEffect(() => {
		const passed = isOpen.value ? lent.current : undefined;
		lent.current = found !== undefined && !unfolded.has(found) ? found : undefined;
		setUnfolded(changed(unfolded, found, passed));
	}, [found, isOpen.value]);
	return {
		isUnfolded: (key: string) => unfolded.has(key),
		toggle(key: string, isUnfolded: boolean) {
			setUnfolded(isUnfolded ? changed(unfolded, key) : changed(unfolded, undefined, key));
		},
	};
}

function changed(keys: ReadonlySet<string>, added?: string, removed?: string) {
	const next = new Set([...keys].filter((key) => key !== removed));
	return added === undefined ? next : next.add(added);
}

/** When it closes, the focus goes back to what had it, or to the list. */
function FindBar({ find, focusList }: { find: Find; focusList(): void }) {
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
				class="find line"
				aria-label="Find in the conversation"
				onSubmit={submitting(() => find.step(1))}
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
function FoundMark({ words, jump, onDrawn }: FoundMarkProps) {
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
