import type { ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty } from "../parts/notices.tsx";
import { PictureDialog } from "../parts/picture.tsx";
import type { Picture } from "../parts/picture-facts.ts";
import { PlainText, Sought } from "../parts/text.tsx";
import { type ListHandle, VirtualList } from "../parts/virtual-list.tsx";
import { Composer } from "./composer.tsx";
import { DemoBanner } from "./demo-banner.tsx";
import type { Desk } from "./desk.ts";
import type { Find } from "./find.ts";
import { FindBar, FoundMark } from "./find-bar.tsx";
import type { OpenSession } from "./open-session.ts";
import { type RowActions, RowView } from "./row-view.tsx";
import { estimatedHeight, type Row } from "./rows.ts";

interface ConversationViewProps extends Desk {
	session: OpenSession;
	rows: ReadonlySignal<readonly Row[]>;
	find: Find;
}

export function ConversationView({ session, draft, outbox, rows, find }: ConversationViewProps) {
	const list = useRef<ListHandle>(null);
	const match = find.current.value;
	const [shown, showPicture] = useState<Picture>();
	const actions: RowActions = { ...useUnfolded(find), showPicture, reload: session.reload };
	const markOf = useMatches(find, list);
	useFindKey(find);
	/** Sending scrolls to the end. */
	const toEnd = () => list.current?.toEnd();
	const isLoading = session.status.value.name === "loading";
	return (
		<section class="conversation" aria-label="Conversation">
			<DemoBanner session={session} outbox={outbox} onSend={toEnd} />
			<FindBar find={find} focusList={() => list.current?.focus()} />
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

/** What runs now, announced to screen readers. */
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
		<p class={`activity ${words ? "" : "is-idle"}`} role="status" aria-live="polite">
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
		setUnfolded(changed(unfolded, { without: passed, by: found }));
	}, [found, isOpen.value]);
	return {
		isUnfolded: (key: string) => unfolded.has(key),
		toggle(key: string, isUnfolded: boolean) {
			setUnfolded(changed(unfolded, isUnfolded ? { by: key } : { without: key }));
		},
	};
}

function changed(
	keys: ReadonlySet<string>,
	{ without, by }: { without?: string | undefined; by?: string | undefined },
): ReadonlySet<string> {
	const next = new Set(keys);
	if (without !== undefined) next.delete(without);
	if (by !== undefined) next.add(by);
	return next;
}
