import { useEffect } from "preact/hooks";

/**
 * Keeps the browser from leaving the page for a file that is dropped somewhere on it. Words and links may still be dragged,
 * into the prompt box for example.
 */
export function holdDraggedFiles(): void {
	for (const type of ["dragover", "drop"] as const) {
		addEventListener(type, (event) => {
			if (hasFiles(event)) event.preventDefault();
		});
	}
}

/** Told where files are that are dragged over the page while a component is shown. */
export interface DragListener {
	/** Whether a file is over the page now. */
	onOver(isOver: boolean): void;
	onDrop(file: File): void;
}

/** Takes files that are dropped anywhere on the page. */
export function useDraggedFiles(listener: DragListener): void {
	useEffect(() => {
		const stop = new AbortController();
		const { signal } = stop;
		const { onOver, onDrop } = listener;
		const onDragOver = (event: DragEvent) => hasFiles(event) && onOver(true);
		// Without a target it has left the window, not one element for another.
		const onLeave = ({ relatedTarget }: DragEvent) => relatedTarget === null && onOver(false);
		addEventListener("dragover", onDragOver, { signal });
		addEventListener("dragleave", onLeave, { signal });
		addEventListener(
			"drop",
			({ dataTransfer }) => {
				onOver(false);
				const file = dataTransfer?.files[0];
				if (file) onDrop(file);
			},
			{ signal },
		);
		return () => stop.abort();
	});
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
	return dataTransfer?.types.includes("Files") ?? false;
}
