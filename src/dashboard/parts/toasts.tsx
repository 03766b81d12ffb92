import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { textOf } from "../error-text.ts";
import { Button } from "./button.tsx";
import { PlainText } from "./text.tsx";

/** How bad it is. */
type ToastKind = "info" | "warning" | "error";

interface Toast {
	id: number;
	kind: ToastKind;
	text: string;
}

/** No more than these at once: an extension that talks in a loop must not fill the page. */
const MOST = 4;
const SHOWN_MS = 8_000;

const toasts = signal<readonly Toast[]>([]);
let count = 0;

/** Tells the user something for a moment. */
export function toast(text: string, kind: ToastKind = "info"): void {
	const id = ++count;
	toasts.value = [...toasts.value.slice(1 - MOST), { id, kind, text }];
	setTimeout(() => dismiss(id), kind === "error" ? SHOWN_MS * 2 : SHOWN_MS);
}

function dismiss(id: number): void {
	toasts.value = toasts.value.filter((shown) => shown.id !== id);
}

/** Keeps toasts above something at the bottom of the page, as high as it may become. */
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

/** The place where toasts show: in the lower corner, where they cover least. */
export function Toasts() {
	return (
		<div class="toasts" role="status" aria-live="polite">
			{toasts.value.map(({ id, kind, text }) => (
				<div key={id} class={`toast is-${kind}`}>
					<PlainText class="toast-text" text={text} most={600} />
					<Button class="quiet" aria-label="Dismiss" onClick={() => dismiss(id)} words="✕" />
				</div>
			))}
		</div>
	);
}

/** Waits for something, and tells the user when it fails. Resolves to undefined then. */
export async function reporting<Result>(work: Promise<Result>): Promise<Result | undefined> {
	try {
		return await work;
	} catch (error) {
		toast(textOf(error), "error");
		return undefined;
	}
}
