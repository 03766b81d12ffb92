import type { ComponentChildren, ComponentProps, TargetedSubmitEvent } from "preact";
import { PlainText } from "./text.tsx";

interface ButtonProps extends Omit<ComponentProps<"button">, "children"> {
	readonly label: ComponentChildren;
}

export function Button({ label, type = "button", ...attributes }: ButtonProps) {
	return (
		<button type={type} {...attributes}>
			{label}
		</button>
	);
}

interface IconButtonProps extends Omit<ButtonProps, "label"> {
	readonly icon: string;
	readonly label: string;
}

export function IconButton({ icon, label, ...attributes }: IconButtonProps) {
	const content = <span aria-hidden="true">{icon}</span>;
	return <Button class="quiet small" {...attributes} aria-label={label} label={content} />;
}

interface TextButtonProps extends Omit<ButtonProps, "label"> {
	readonly text: string;
	readonly max?: number;
}

/** A button with untrusted text. It looks like a link unless another class is given. */
export function TextButton({ text, max = 400, ...attributes }: TextButtonProps) {
	return <Button class="link" {...attributes} label={<PlainText text={text} max={max} />} />;
}

/** A scrolling section that can take the focus, so that it scrolls by keyboard. */
export function Scroller(attributes: ComponentProps<"section">) {
	// biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling must be possible by keyboard
	return <section tabIndex={0} {...attributes} />;
}

interface FoldProps {
	readonly summary: ComponentChildren;
	readonly isOpen: boolean;
	onToggle(isOpen: boolean): void;
	readonly class?: string;
	readonly children: ComponentChildren;
}

/** A foldable section. Its content is rendered only while the section is open. */
export function Fold({ summary, isOpen, onToggle, class: name = "", children }: FoldProps) {
	return (
		<div class={`fold ${isOpen ? "is-open" : ""} ${name}`}>
			<button
				type="button"
				class="fold-head line"
				aria-expanded={isOpen}
				onClick={() => onToggle(!isOpen)}
			>
				<span class="fold-arrow" aria-hidden="true" />
				<span class="fold-summary one-line grow">{summary}</span>
			</button>
			{isOpen && <div class="fold-body">{children}</div>}
		</div>
	);
}

/** Returns a submit handler that calls `work` and keeps the browser on the page. */
export function submitHandler(work: (data: FormData) => void) {
	return (event: TargetedSubmitEvent<HTMLFormElement>) => {
		event.preventDefault();
		work(new FormData(event.currentTarget));
	};
}
