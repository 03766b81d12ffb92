import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";
import { forgetAnswers } from "../kept-answers.ts";
import { Button } from "./controls.tsx";
import { errorMessage } from "./figures.ts";
import { PlainText } from "./text.tsx";

export function Empty({ children }: { children: ComponentChildren }) {
	return <p class="empty soft">{children}</p>;
}

export function Problem(props: { text: string; onRetry?(): void; retryLabel?: string }) {
	const { text, onRetry, retryLabel = "Try again" } = props;
	return (
		<p class="problem" role="alert">
			<PlainText text={text} />{" "}
			{onRetry && <Button class="small" onClick={onRetry} label={retryLabel} />}
		</p>
	);
}

interface AnsweredProps<Data> {
	readonly answer: { data: Data | undefined; error: string | undefined; refresh(): void };
	readonly waiting?: string;
	children(data: Data): ComponentChildren;
}

/** Shows the latest answer. If a newer attempt has failed, its error is shown above the answer. */
export function Answered<Data>({ answer, waiting, children }: AnsweredProps<Data>) {
	const { data, error, refresh } = answer;
	return (
		<>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{waiting && !data && error === undefined && <Empty>{waiting}</Empty>}
			{data && children(data)}
		</>
	);
}

export function ErrorBoundary({ children }: { children: ComponentChildren }) {
	const [error, retry] = useErrorBoundary(forgetAnswers);
	if (error === undefined) return <>{children}</>;
	return <Problem text={`This could not be displayed: ${errorMessage(error)}`} onRetry={retry} />;
}

interface Toast {
	readonly id: number;
	readonly kind: "info" | "warning" | "error";
	readonly text: string;
}

/** Maximum number of toasts shown, so that an extension that notifies in a loop does not fill the page. */
const MAX_TOASTS = 4;
const SHOWN_MS = 8_000;

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

export function toast(text: string, kind: Toast["kind"] = "info"): void {
	const id = ++lastId;
	toasts.value = [...toasts.value.slice(1 - MAX_TOASTS), { id, kind, text }];
	setTimeout(() => expire(id), kind === "error" ? SHOWN_MS * 2 : SHOWN_MS);
}

/** A toast stays while someone is about to read or dismiss it. */
function expire(id: number): void {
	if (document.querySelector(".toasts:is(:hover, :focus-within)") === null) dismiss(id);
	else setTimeout(() => expire(id), SHOWN_MS / 4);
}

function dismiss(id: number): void {
	toasts.value = toasts.value.filter((shown) => shown.id !== id);
}

export function useToastsAbove(element: RefObject<HTMLElement | null>): void {
	useEffect(() => {
		const { current } = element;
		if (!current) return;
		const { style } = document.documentElement;
		const observer = new ResizeObserver(() => {
			style.setProperty("--below-toasts", `${current.offsetHeight}px`);
		});
		observer.observe(current);
		return () => {
			observer.disconnect();
			style.removeProperty("--below-toasts");
		};
	}, []);
}

/** The open dialogs, the topmost last. Nothing below it can be clicked on, so the toasts are shown in it. */
const dialogs = signal<readonly object[]>([]);

export function Toasts({ isInDialog = false }: { isInDialog?: boolean }) {
	const own = useRef({}).current;
	/** Where the focus came from, and goes back to after the last toast. */
	const before = useRef<EventTarget | null>(null);
	useLayoutEffect(() => {
		if (!isInDialog) return;
		dialogs.value = [...dialogs.peek(), own];
		return () => {
			dialogs.value = dialogs.peek().filter((one) => one !== own);
		};
	}, []);
	const isOnTop = dialogs.value.at(-1) === (isInDialog ? own : undefined);

	function onDismiss(id: number, button: HTMLElement): void {
		const row = button.closest(".toast");
		const next = (row?.nextElementSibling ?? row?.previousElementSibling)?.querySelector("button");
		const target = next ?? before.current;
		if (button === document.activeElement && target instanceof HTMLElement) target.focus();
		dismiss(id);
	}

	return (
		<div
			class="toasts stack"
			role="status"
			aria-live="polite"
			onFocusIn={({ relatedTarget: from, currentTarget }) => {
				if (!currentTarget.contains(from as Node | null)) before.current = from;
			}}
		>
			{isOnTop &&
				toasts.value.map(({ id, kind, text }) => (
					<div key={id} class={`toast line is-${kind}`}>
						<PlainText class="toast-text grow" text={text} max={600} />
						<Button
							class="quiet"
							aria-label="Dismiss"
							onClick={(event) => onDismiss(id, event.currentTarget)}
							label="✕"
						/>
					</div>
				))}
		</div>
	);
}

/** Gives the latest toast the focus, if there is one. */
export function focusToast(): void {
	const buttons = document.querySelectorAll<HTMLElement>(".toast button");
	buttons[buttons.length - 1]?.focus();
}

export function orToast<Result>(work: Promise<Result>): Promise<Result | undefined> {
	return work.catch((error: unknown) => {
		toast(errorMessage(error), "error");
		return undefined;
	});
}
