import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { Button } from "./controls.tsx";
import { textOf } from "./figures.ts";
import { PlainText } from "./text.tsx";

type ToastKind = "info" | "warning" | "error";

interface Toast {
	id: number;
	kind: ToastKind;
	text: string;
}

/** An extension that notifies in a loop must not fill the page. */
const MOST = 4;
const SHOWN_MS = 8_000;

const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function toast(text: string, kind: ToastKind = "info"): void {
	const id = ++count;
	toasts.value = [...toasts.value.slice(1 - MOST), { id, kind, text }];
	setTimeout(() => dismiss(id), kind === "error" ? SHOWN_MS * 2 : SHOWN_MS);
}

function dismiss(id: number): void {
	toasts.value = toasts.value.filter((shown) => shown.id !== id);
}

/** Keeps toasts above an element at the bottom of the page. */
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
		<div class="toasts" role="status" aria-live="polite">
			{toasts.value.map(({ id, kind, text }) => (
				<div key={id} class={`toast is-${kind}`}>
					<PlainText class="toast-text grow" text={text} most={600} />
					<Button class="quiet" aria-label="Dismiss" onClick={() => dismiss(id)} words="✕" />
				</div>
			))}
		</div>
	);
}

/** Reports a failure to the user and resolves to undefined. */
export async function reporting<Result>(work: Promise<Result>): Promise<Result | undefined> {
	try {
		return await work;
	} catch (error) {
		toast(textOf(error), "error");
		return undefined;
	}
}
