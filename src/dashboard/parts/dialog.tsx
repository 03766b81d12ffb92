import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
	title: ComponentChildren;
	/** Escape, or a click on the backdrop. */
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
			<div class="dialog-inside">
				<h2 id={titleId}>{title}</h2>
				{children}
			</div>
		</dialog>
	);
}
