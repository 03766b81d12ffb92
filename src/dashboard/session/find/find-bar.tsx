import { useLayoutEffect, useRef } from "preact/hooks";
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
