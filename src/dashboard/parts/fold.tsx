import type { ComponentChildren } from "preact";

interface FoldProps {
	summary: ComponentChildren;
	isOpen: boolean;
	onToggle(isOpen: boolean): void;
	class?: string;
	children: ComponentChildren;
}

/** Its content exists only while it is open. */
export function Fold({ summary, isOpen, onToggle, class: name = "", children }: FoldProps) {
	return (
		<div class={`fold ${isOpen ? "is-open" : ""} ${name}`}>
			<button
				type="button"
				class="fold-head"
				aria-expanded={isOpen}
				onClick={() => onToggle(!isOpen)}
			>
				<span class="fold-arrow" aria-hidden="true" />
				<span class="fold-summary one-line">{summary}</span>
			</button>
			{isOpen && <div class="fold-body">{children}</div>}
		</div>
	);
}
