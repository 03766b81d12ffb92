import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
	title: ComponentChildren;
	/** Escape, or a click on what is behind. */
	onCancel(): void;
	children: ComponentChildren;
	wide?: boolean;
}

/** A dialog over the page: it holds the focus while it is open and gives it back at the end. */
export function Dialog({ title, onCancel, children, wide = false }: DialogProps) {
	const element = useRef<HTMLDialogElement>(null);
	const titleId = useId();
	// Before the next key: one that is typed right away belongs to the dialog, or to what had the focus before.
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
			<div class="dialog-inside">
				<h2 id={titleId}>{title}</h2>
				{children}
			</div>
		</dialog>
	);
}
