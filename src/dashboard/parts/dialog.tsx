import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button, submitHandler } from "./controls.tsx";
import { Toasts } from "./notices.tsx";

interface DialogProps {
	readonly title: ComponentChildren;
	onCancel(): void;
	readonly children: ComponentChildren;
	readonly wide?: boolean;
}

/** A modal dialog. It traps the focus, and restores the previous focus when it closes. */
export function Dialog({ title, onCancel, children, wide = false }: DialogProps) {
	const element = useRef<HTMLDialogElement>(null);
	const titleId = useId();
	// A layout effect, so that the dialog is open before the user presses the next key.
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
			<Toasts isInDialog />
		</dialog>
	);
}

interface DialogFormProps {
	/** Text of the submit button. */
	readonly label: string;
	readonly disabled?: boolean;
	/** Whether the submit button has the focus at first: where there is nothing to fill in. */
	readonly autofocus?: boolean;
	onCancel(): void;
	onSubmit(data: FormData): void;
	readonly children: ComponentChildren;
}

export function DialogForm(props: DialogFormProps) {
	const { label, disabled, autofocus = false, onCancel, onSubmit, children } = props;
	return (
		<form class="stack" onSubmit={submitHandler(onSubmit)}>
			{children}
			<div class="dialog-actions row">
				<Button onClick={onCancel} label="Cancel" />
				<Button
					type="submit"
					class="primary"
					disabled={disabled}
					autofocus={autofocus}
					label={label}
				/>
			</div>
		</form>
	);
}
