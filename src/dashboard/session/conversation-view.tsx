import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { IconButton, submitHandler } from "../parts/controls.tsx";
import { Empty } from "../parts/notices.tsx";
import { type Picture, PictureDialog } from "../parts/picture.tsx";
import { PlainText, SearchQuery } from "../parts/text.tsx";
import { type ListHandle, VirtualList } from "../parts/virtual-list.tsx";
import { hrefOf, route } from "../route.ts";
import { Composer } from "./composer.tsx";
import type { ComposerState } from "./composer-state.ts";
import type { ConversationSearch } from "./conversation-search.ts";
import { DemoBanner, isDemo } from "./demo-banner.tsx";
import type { OpenSession } from "./open-session.ts";
import type { RowActions } from "./row-parts.tsx";
import { estimatedHeight, type Row, RowView, rowKeyOf } from "./row-view.tsx";

/** A session on the screen, with the state of its composer. */
export interface OpenedSession extends ComposerState {
	readonly session: OpenSession;
	readonly rows: ReadonlySignal<readonly Row[]>;
	readonly search: ConversationSearch;
}

export function ConversationView(opened: OpenedSession) {
	const { session, draft, attachments, outbox, rows, search } = opened;
	const list = useRef<ListHandle>(null);
	const match = search.current.value;
	const [shown, showPicture] = useState<Picture>();
	const reload = () => session.reload();
	const { sessionId } = session;
	const actions: RowActions = {
		...useUnfolded(search),
		showPicture,
		reload,
		costHref: hrefOf({ page: "session", sessionId, view: "cost" }),
		hasMadeUpPrices: session.state.value !== undefined && isDemo(session.state.value),
	};
	const markOf = useMatches(search, list);
	const jumped = useJump(session, rows.value, (key) => {
		actions.toggle(key, true);
		list.current?.reveal(key);
	});
	useFindKey(search);
	const toEnd = () => list.current?.toEnd();
	const isLoading = session.status.value.name === "loading";
	return (
		<section class="conversation" aria-label="Conversation">
			<DemoBanner session={session} outbox={outbox} onSend={toEnd} />
			{search.isOpen.value && <FindBar search={search} focusList={() => list.current?.focus()} />}
			{rows.value.length === 0 ? (
				<div class="list-frame conversation-empty">
					<Empty>{isLoading ? "Loading the conversation…" : "No messages yet."}</Empty>
				</div>
			) : (
				<VirtualList
					rows={rows.value}
					render={(row) => (
						<SearchQuery.Provider value={row.key === match?.key ? search.query.value : ""}>
							<RowView row={row} actions={actions} />
							{markOf(row)}
							{row.key === jumped && <span class="found-mark is-current" hidden />}
						</SearchQuery.Provider>
					)}
					estimate={estimatedHeight}
					label="Messages"
					isBusy={session.conversation.value.isRunning}
					isHeld={match !== undefined}
					handle={list}
				/>
			)}
			<Activity session={session} />
			<Composer
				session={session}
				draft={draft}
				attachments={attachments}
				outbox={outbox}
				onSend={toEnd}
			/>
			{/* The dialog is not in its row, because the row may leave the list while the picture is open. */}
			{shown && <PictureDialog picture={shown} onClose={() => showPicture(undefined)} />}
		</section>
	);
}

/** Goes to the entry that the address names, once its row is known. Returns the key of that row. */
function useJump(session: OpenSession, rows: readonly Row[], go: (key: string) => void) {
	const shown = route.value;
	const entryId = shown.page === "session" ? shown.entryId : undefined;
	const [jumped, setJumped] = useState<string>();
	const reloadedFor = useRef<string>(undefined);
	useLayoutEffect(() => {
		if (entryId === undefined || rows.length === 0 || shown.page !== "session") return;
		const key = rowKeyOf(rows, entryId);
		if (key !== undefined) {
			const { sessionId, view } = shown;
			// Without the entry, so that going back and forth does not jump again.
			history.replaceState(history.state, "", hrefOf({ page: "session", sessionId, view }));
			route.value = { page: "session", sessionId, view };
			setJumped(key);
			go(key);
		} else if (reloadedFor.current !== entryId) {
			// Events do not have the ids of entries.
			reloadedFor.current = entryId;
			void session.reload();
		}
	}, [entryId, rows]);
	return jumped;
}

/** Scrolls to the current match. Returns a function that renders the mark of a matching row. */
function useMatches(search: ConversationSearch, list: { readonly current: ListHandle | null }) {
	const { isOpen, matches, query, current } = search;
	const match = current.value;
	const keys = useMemo(() => new Set(matches.value.keys), [matches.value]);
	/** The last jump that was scrolled to. It is not repeated, because the reader may have scrolled since. */
	const arrived = useRef(0);
	useLayoutEffect(() => {
		if (isOpen.value) search.startFrom(list.current?.firstInView());
	}, [isOpen.value]);
	useLayoutEffect(() => {
		if (match) list.current?.reveal(match.key);
	}, [match]);
	return (row: Row) => {
		if (!keys.has(row.key)) return null;
		const jump = row.key === match?.key ? match.jump : undefined;
		return (
			<FoundMark
				query={query.value}
				jump={jump}
				onDrawn={(below) => {
					// Ignore a mark that reports an earlier jump after the next jump.
					if (jump === undefined || jump <= arrived.current) return;
					arrived.current = jump;
					list.current?.reveal(row.key, below);
				}}
			/>
		);
	};
}

/** Ctrl+F or ⌘F opens the search. Inside the search, the shortcut reaches the browser. */
function useFindKey(search: ConversationSearch): void {
	useLayoutEffect(() => {
		const onKeyDown = (event: KeyboardEvent) => {
			const isHeld = IS_APPLE ? event.metaKey : event.ctrlKey;
			const isFind = isHeld && event.key.toLowerCase() === "f";
			if (!isFind || event.shiftKey || event.altKey || event.defaultPrevented) return;
			if (document.activeElement?.closest("dialog, .find")) return;
			event.preventDefault();
			search.open();
		};
		window.addEventListener("keydown", onKeyDown);
		return () => {
			window.removeEventListener("keydown", onKeyDown);
			search.close();
		};
	}, [search]);
}

/** On Apple systems Ctrl+F moves the text cursor, so only ⌘F opens the search. */
const IS_APPLE = /^(Mac|iP)/.test(navigator.platform);

function Activity({ session }: { session: OpenSession }) {
	const { isRunning, isCompacting, retryText } = session.conversation.value;
	const { working } = session.ui.value;
	const text = retryText
		? `Retrying: ${retryText}`
		: isCompacting
			? "Compacting the conversation…"
			: isRunning
				? (working ?? "Working…")
				: "";
	return (
		<p class="activity line small soft" role="status" aria-live="polite">
			{text && <span class="dot is-running pulse" aria-hidden="true" />}
			<PlainText text={text} max={300} />
		</p>
	);
}

/** Which rows are unfolded. The search unfolds the current match, and folds it again when it moves on. */
function useUnfolded({ isOpen, current }: ConversationSearch) {
	const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
	/** The row that the search, not the reader, has unfolded. */
	const bySearch = useRef<string>(undefined);
	const found = current.value?.key;
	useLayoutEffect(() => {
		const passed = isOpen.value ? bySearch.current : undefined;
		bySearch.current = found !== undefined && !unfolded.has(found) ? found : undefined;
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

/** On close the focus returns to its previous element, or to the list. */
function FindBar({ search, focusList }: { search: ConversationSearch; focusList(): void }) {
	const bar = useRef<HTMLFormElement>(null);
	const box = useRef<HTMLInputElement>(null);
	// Layout effects, so that the box has the focus before the user presses the next key.
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
	}, [search.openings.value]);
	const hasMatches = search.matches.value.keys.length > 0;
	return (
		<search class="find-place">
			<form
				ref={bar}
				class="find line"
				aria-label="Find in the conversation"
				onSubmit={submitHandler(() => search.step(1))}
				onKeyDown={(event) => {
					if (event.key === "Escape") search.close();
					else if (event.key === "Enter" && event.shiftKey) search.step(-1);
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
					value={search.input.value}
					onInput={(event) => search.type(event.currentTarget.value)}
				/>
				<span class="find-count small soft number" role="status">
					{countOf(search)}
				</span>
				<IconButton
					icon="↑"
					label="Previous match"
					title="Previous match (Shift+Enter)"
					disabled={!hasMatches}
					onClick={() => search.step(-1)}
				/>
				<IconButton
					icon="↓"
					label="Next match"
					title="Next match (Enter)"
					disabled={!hasMatches}
					onClick={() => search.step(1)}
				/>
				<IconButton icon="✕" label="Close" title="Close (Escape)" onClick={() => search.close()} />
			</form>
		</search>
	);
}

/** Such as `3 of 17`. Counts rows, not occurrences. */
function countOf({ query, matches, current }: ConversationSearch): string {
	const { keys, isDone } = matches.value;
	if (query.value === "") return "";
	if (keys.length === 0) return isDone ? "No matches" : "…";
	const at = keys.indexOf(current.value?.key ?? "");
	const position = at === -1 ? "–" : at + 1;
	return `${position} of ${keys.length}${isDone ? "" : "…"}`;
}

interface FoundMarkProps {
	readonly query: string;
	/** The number of the jump to this row, if it is the current match. */
	readonly jump: number | undefined;
	/** Called when the row's first match is drawn, `below` pixels under the row's upper edge. */
	onDrawn(below: number): void;
}

/** Marks a row's matches, and again when the row changes. The CSS highlight API does not change elements. */
function FoundMark({ query, jump, onDrawn }: FoundMarkProps) {
	const isCurrent = jump !== undefined;
	const mark = useRef<HTMLSpanElement>(null);
	const report = useRef(onDrawn);
	report.current = onDrawn;
	useEffect(() => {
		const row = mark.current?.closest("article");
		if (!row) return;
		const highlight = highlightOf(isCurrent ? "found-here" : "found");
		let ranges: Range[] = [];
		const unmark = () => {
			for (const range of ranges) highlight?.delete(range);
		};
		const markMatches = () => {
			unmark();
			ranges = rangesOf(row, query);
			for (const range of ranges) highlight?.add(range);
			const place = ranges[0]?.getBoundingClientRect();
			if (place) report.current(place.top - row.getBoundingClientRect().top);
		};
		markMatches();
		const observer = new MutationObserver(markMatches);
		observer.observe(row, { childList: true, characterData: true, subtree: true });
		return () => {
			observer.disconnect();
			unmark();
		};
	}, [query, jump]);
	return <span ref={mark} class={isCurrent ? "found-mark is-current" : "found-mark"} hidden />;
}

/** Undefined if the browser lacks the highlight API. Then rows are marked, but not matches. */
function highlightOf(name: string): Highlight | undefined {
	if (!("highlights" in CSS)) return undefined;
	const known = CSS.highlights.get(name) ?? new Highlight();
	CSS.highlights.set(name, known);
	return known;
}

const MAX_CHARACTERS = 200_000;
const MAX_RANGES = 200;

/** Finds a query in an element's text. A range may span several children. */
function rangesOf(element: Element, query: string): Range[] {
	const nodes: { node: Node; from: number }[] = [];
	let text = "";
	const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
	while (walker.nextNode() && text.length < MAX_CHARACTERS) {
		const { currentNode } = walker;
		if (currentNode.parentElement?.closest(".hidden-text")) continue;
		nodes.push({ node: currentNode, from: text.length });
		text += currentNode.nodeValue ?? "";
	}
	const lower = text.toLowerCase();
	// In a few languages lower case is longer, so its offsets would be wrong.
	const searched = lower.length === text.length ? lower : text;
	const nodeAt = (place: number) => nodes.findLast(({ from }) => from <= place);
	const ranges: Range[] = [];
	let at = searched.indexOf(query);
	while (at !== -1 && ranges.length < MAX_RANGES) {
		const range = document.createRange();
		const start = nodeAt(at);
		// The range ends in the text node of its last character.
		const end = nodeAt(at + query.length - 1);
		if (start && end) {
			range.setStart(start.node, at - start.from);
			range.setEnd(end.node, at + query.length - end.from);
			ranges.push(range);
		}
		at = searched.indexOf(query, at + query.length);
	}
	return ranges;
}
