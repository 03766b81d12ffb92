import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
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
	setTimeout(() => dismiss(id), kind === "error" ? SHOWN_MS * 2 : SHOWN_MS);
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

export function Toasts() {
	return (
		<div class="toasts stack" role="status" aria-live="polite">
			{toasts.value.map(({ id, kind, text }) => (
				<div key={id} class={`toast line is-${kind}`}>
					<PlainText class="toast-text grow" text={text} max={600} />
					<Button class="quiet" aria-label="Dismiss" onClick={() => dismiss(id)} label="✕" />
				</div>
			))}
		</div>
	);
}

export function orToast<Result>(work: Promise<Result>): Promise<Result | undefined> {
	return work.catch((error: unknown) => {
		toast(errorMessage(error), "error");
		return undefined;
	});
}
