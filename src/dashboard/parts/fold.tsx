import type { ComponentChildren } from "preact";

interface FoldProps {
	summary: ComponentChildren;
	isOpen: boolean;
	onToggle(isOpen: boolean): void;
	class?: string;
	children: ComponentChildren;
}

/** Something that can be unfolded. Its content is made when it is open only. */
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
