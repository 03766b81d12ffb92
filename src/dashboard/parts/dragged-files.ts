import { useEffect } from "preact/hooks";

/** Prevents the browser from opening a dropped file in place of the page. */
export function preventFileNavigation(): void {
	for (const type of ["dragover", "drop"] as const) {
		addEventListener(type, (event) => {
			if (hasFiles(event)) event.preventDefault();
		});
	}
}

interface DragListener {
	onOver(isOver: boolean): void;
	onDrop(file: File): void;
}

export function useDraggedFiles({ onOver, onDrop }: DragListener): void {
	useEffect(() => {
		const stop = new AbortController();
		const { signal } = stop;
		const onDragOver = (event: DragEvent) => hasFiles(event) && onOver(true);
		// `relatedTarget` is null when the pointer leaves the window.
		const onLeave = ({ relatedTarget }: DragEvent) => relatedTarget === null && onOver(false);
		const onFile = ({ dataTransfer }: DragEvent) => {
			onOver(false);
			const file = dataTransfer?.files[0];
			if (file) onDrop(file);
		};
		addEventListener("dragover", onDragOver, { signal });
		addEventListener("dragleave", onLeave, { signal });
		addEventListener("drop", onFile, { signal });
		return () => stop.abort();
	});
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
	return dataTransfer?.types.includes("Files") ?? false;
}
