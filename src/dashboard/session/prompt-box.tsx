import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Attachments } from "./attachments.tsx";
import type { Draft } from "./composer-state.ts";
import type { OpenSession } from "./open-session.ts";
import { type HistoryPlace, historyStep, sentTexts } from "./prompt-history.ts";
import { type Proposal, ProposalList, useProposals } from "./proposals.tsx";

/** Not on a phone, where the keyboard would cover the conversation. */
export function mayFocusUnasked(): boolean {
	return matchMedia("(hover: hover)").matches;
}

interface PromptBoxProps {
	readonly session: OpenSession;
	readonly draft: Draft;
	readonly attachments: Attachments;
	readonly placeholder: string;
	onSend(how: "steer" | "followUp"): void;
	onEscape?(): void;
}

/**
 * Enter sends. Typing `/` proposes commands and `@` files: arrows choose, Tab or Enter accepts, Escape closes the
 * list. In an empty box, the arrow up brings back what was sent before.
 */
export function PromptBox(props: PromptBoxProps) {
	const { session, draft, attachments, placeholder, onSend, onEscape } = props;
	const box = useRef<HTMLTextAreaElement>(null);
	const text = draft.text.value;
	const { focuses } = draft;
	const [caret, setCaret] = useState(text.length);
	/** Where a text that was put in has its caret. A new object for each, so that it is set once. */
	const [placed, setPlaced] = useState<{ readonly at: number }>();
	const proposals = useProposals(session, text, Math.min(caret, text.length));
	const { offered, chosen } = proposals;
	const listId = useId();
	const place = useRef<HistoryPlace>(undefined);
	useEffect(() => {
		// The focus on a tab, too: who goes back to the conversation writes on. `main` has it when what had it is gone.
		const { activeElement: at, body } = document;
		const isFree = at === body || at === null || at.matches(".tabs a, main");
		if (isFree && mayFocusUnasked()) box.current?.focus();
	}, []);
	useLayoutEffect(() => {
		if (focuses.value > 0) box.current?.focus();
	}, [focuses.value]);
	useLayoutEffect(() => {
		const element = box.current;
		if (!element) return;
		// The box is as tall as its text, within the limits of its CSS.
		element.style.height = "auto";
		element.style.height = `${element.scrollHeight + 2}px`;
	}, [text]);

	useLayoutEffect(() => {
		// With the text, not in a later frame: by then the user may have typed on.
		if (placed) box.current?.setSelectionRange(placed.at, placed.at);
	}, [placed]);

	function put(next: string, at = next.length): void {
		draft.text.value = next;
		setCaret(at);
		setPlaced({ at });
	}

	function take(proposal: Proposal): void {
		put(proposal.text, proposal.caret);
		box.current?.focus();
	}

	function onKeyDown(event: KeyboardEvent): void {
		if (event.isComposing) return;
		const isPlain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
		if (isPlain && (onProposalKey(event.key) || onHistoryKey(event.key))) {
			event.preventDefault();
		} else if (event.key === "Enter" && !event.shiftKey) {
			event.preventDefault();
			place.current = undefined;
			onSend(event.altKey ? "followUp" : "steer");
		} else if (isPlain && event.key === "Escape" && onEscape) {
			event.preventDefault();
			event.stopPropagation();
			onEscape();
		}
	}

	function onProposalKey(key: string): boolean {
		if (key === "ArrowDown" || key === "ArrowUp") {
			// While the history is shown, the arrows walk through it.
			return place.current === undefined && proposals.move(key === "ArrowDown" ? 1 : -1);
		}
		if (!chosen) return false;
		if (key === "Escape") proposals.close();
		// If the name is complete, Enter sends it.
		else if (key === "Tab" || (key === "Enter" && !chosen.isComplete)) take(chosen);
		else return false;
		return true;
	}

	/** The arrow up in an empty box, and both arrows from then on. */
	function onHistoryKey(key: string): boolean {
		if (key !== "ArrowUp" && key !== "ArrowDown") return false;
		if (text !== "" && place.current === undefined) return false;
		const texts = sentTexts(session.conversation.peek().items);
		const from = place.current ?? { back: 0, draft: text };
		const next = historyStep(texts, from, key === "ArrowUp" ? 1 : -1);
		if (!next) return place.current !== undefined;
		place.current = next.place.back === 0 ? undefined : next.place;
		put(next.text);
		return true;
	}

	function onFiles(event: ClipboardEvent | DragEvent, data: DataTransfer | null): void {
		const files = [...(data?.files ?? [])];
		if (files.length === 0) return;
		event.preventDefault();
		void attachments.add(files, (inserted) => {
			const at = box.current?.selectionStart ?? draft.text.value.length;
			const now = draft.text.value;
			put(now.slice(0, at) + inserted + now.slice(at), at + inserted.length);
		});
	}

	// Typed `object`, because the types lack multi-line comboboxes. Screen readers support them.
	const combobox: object | false = offered.length > 0 && {
		role: "combobox",
		"aria-autocomplete": "list",
		"aria-haspopup": "listbox",
		"aria-expanded": chosen !== undefined,
		...(chosen && {
			"aria-controls": listId,
			"aria-activedescendant": `${listId}-${offered.indexOf(chosen)}`,
		}),
	};
	return (
		<div class="prompt-box">
			{chosen && (
				<ProposalList
					id={listId}
					label={proposals.kind}
					offered={offered}
					chosen={chosen}
					onPoint={proposals.choose}
					onTake={take}
				/>
			)}
			<textarea
				ref={box}
				rows={1}
				aria-label="Message"
				placeholder={placeholder}
				value={text}
				{...combobox}
				onInput={(event) => {
					place.current = undefined;
					setCaret(event.currentTarget.selectionStart);
					draft.text.value = event.currentTarget.value;
				}}
				onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
				onPaste={(event) => onFiles(event, event.clipboardData)}
				onDrop={(event) => onFiles(event, event.dataTransfer)}
				onFocus={() => proposals.setFocused(true)}
				onBlur={() => proposals.setFocused(false)}
				onKeyDown={onKeyDown}
			/>
		</div>
	);
}
