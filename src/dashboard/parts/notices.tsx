import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { Button } from "./controls.tsx";
import { textOf } from "./figures.ts";
import { PlainText } from "./text.tsx";

export function Empty({ children }: { children: ComponentChildren }) {
	return <p class="empty soft">{children}</p>;
}

interface ProblemProps {
	text: string;
	onRetry?: () => void;
	retryWords?: string;
}

export function Problem({ text, onRetry, retryWords = "Try again" }: ProblemProps) {
	return (
		<p class="problem" role="alert">
			<PlainText text={text} />{" "}
			{onRetry && <Button class="small" onClick={onRetry} words={retryWords} />}
		</p>
	);
}

interface AnsweredProps<Data> {
	asked: { data: Data | undefined; error: string | undefined; refresh(): void };
	waiting?: string;
	children(data: Data): ComponentChildren;
}

/** The answer to a question, beside the error of a newer one. */
export function Answered<Data>({ asked, waiting, children }: AnsweredProps<Data>) {
	const { data, error, refresh } = asked;
	return (
		<>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{waiting && !data && error === undefined && <Empty>{waiting}</Empty>}
			{data && children(data)}
		</>
	);
}

export function Guarded({ children }: { children: ComponentChildren }) {
	const [error, retry] = useErrorBoundary();
	if (error === undefined) return <>{children}</>;
	return <Problem text={`This cannot be shown: ${textOf(error)}`} onRetry={retry} />;
}

interface Toast {
	id: number;
	kind: "info" | "warning" | "error";
	text: string;
}

/** An extension that notifies in a loop must not fill the page. */
const MOST = 4;
const SHOWN_MS = 8_000;

const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function toast(text: string, kind: Toast["kind"] = "info"): void {
	const id = ++count;
	toasts.value = [...toasts.value.slice(1 - MOST), { id, kind, text }];
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
					<PlainText class="toast-text grow" text={text} most={600} />
					<Button class="quiet" aria-label="Dismiss" onClick={() => dismiss(id)} words="✕" />
				</div>
			))}
		</div>
	);
}

export function reporting<Result>(work: Promise<Result>): Promise<Result | undefined> {
	return work.catch((error: unknown) => {
		toast(textOf(error), "error");
		return undefined;
	});
}
