import type { ComponentChildren, ComponentProps, TargetedSubmitEvent } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { PlainText } from "./text.tsx";

interface ButtonProps extends Omit<ComponentProps<"button">, "children"> {
	words: ComponentChildren;
}

export function Button({ words, type = "button", ...attributes }: ButtonProps) {
	return (
		<button type={type} {...attributes}>
			{words}
		</button>
	);
}

interface SignButtonProps extends Omit<ButtonProps, "words"> {
	sign: string;
	label: string;
}

export function SignButton({ sign, label, ...attributes }: SignButtonProps) {
	const words = <span aria-hidden="true">{sign}</span>;
	return <Button class="quiet small" {...attributes} aria-label={label} words={words} />;
}

interface TextButtonProps extends Omit<ButtonProps, "words"> {
	text: string;
	most?: number;
}

/** A button of untrusted text; it looks like a link unless another class is given. */
export function TextButton({ text, most = 400, ...attributes }: TextButtonProps) {
	return <Button class="link" {...attributes} words={<PlainText text={text} most={most} />} />;
}

/** What scrolls must be reachable by keyboard. */
export function Scroller(attributes: ComponentProps<"section">) {
	// biome-ignore lint/a11y/noNoninteractiveTabindex: see above
	return <section tabIndex={0} {...attributes} />;
}

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

interface DialogProps {
	title: ComponentChildren;
	onCancel(): void;
	children: ComponentChildren;
	wide?: boolean;
}

/** A modal dialog: it holds the focus and gives it back when it closes. */
export function Dialog({ title, onCancel, children, wide = false }: DialogProps) {
	const element = useRef<HTMLDialogElement>(null);
	const titleId = useId();
	// A layout effect, because the next key may follow at once.
	useLayoutEffect(() => {
		const dialog = element.current;
		dialog?.showModal();
		return () => dialog?.close();
	}, []);
	return (
		<dialog
			ref={element}
			class={wide ? "dialog is-wide" : "dialog"}
			aria-labelledby={titleId}
			onCancel={(event) => {
				event.preventDefault();
				onCancel();
			}}
			onClick={(event) => {
				if (event.target === element.current) onCancel();
			}}
			onKeyDown={(event) => event.stopPropagation()}
		>
			<div class="dialog-inside stack">
				<h2 id={titleId}>{title}</h2>
				{children}
			</div>
		</dialog>
	);
}

/** A form's handler. The browser does not leave the page. */
export function submitting(work: (data: FormData) => void) {
	return (event: TargetedSubmitEvent<HTMLFormElement>) => {
		event.preventDefault();
		work(new FormData(event.currentTarget));
	};
}

interface DialogFormProps {
	words: string;
	disabled?: boolean;
	onCancel(): void;
	onSubmit(data: FormData): void;
	children: ComponentChildren;
}

export function DialogForm({ words, disabled, onCancel, onSubmit, children }: DialogFormProps) {
	return (
		<form class="stack" onSubmit={submitting(onSubmit)}>
			{children}
			<div class="dialog-actions row">
				<Button onClick={onCancel} words="Cancel" />
				<Button type="submit" class="primary" disabled={disabled} words={words} />
			</div>
		</form>
	);
}
