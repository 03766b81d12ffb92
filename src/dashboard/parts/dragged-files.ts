import { useEffect } from "preact/hooks";

/** A file dropped on the page must not replace the page. */
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
		// Without a target the pointer has left the window.
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
