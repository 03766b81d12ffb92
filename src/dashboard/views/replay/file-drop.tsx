import { useId, useState } from "preact/hooks";
import { useDraggedFiles } from "../../parts/dragged-files.ts";
import { MOST_CHARACTERS } from "./report.ts";

interface FileDropProps {
	isBusy: boolean;
	onFile(file: File): void;
}

/** A place to drop a file on, or to choose one. A file may miss it: the whole page takes it. */
export function FileDrop({ isBusy, onFile }: FileDropProps) {
	const id = useId();
	const [isOver, setIsOver] = useState(false);
	useDraggedFiles({ onOver: setIsOver, onDrop: (file) => !isBusy && onFile(file) });
	return (
		<section class={isOver ? "file-drop is-over" : "file-drop"} aria-label="Session file">
			<p>
				<label for={id}>Drop a session file here, or choose one</label>
			</p>
			<input
				id={id}
				type="file"
				accept=".jsonl"
				disabled={isBusy}
				onChange={(event) => {
					const file = event.currentTarget.files?.[0];
					// So that the same file can be chosen again.
					event.currentTarget.value = "";
					if (file) onFile(file);
				}}
			/>
			<p class="soft small">.jsonl, at most {MOST_CHARACTERS / 1e6} MB</p>
		</section>
	);
}
