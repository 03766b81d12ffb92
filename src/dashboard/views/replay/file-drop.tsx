import { useId, useState } from "preact/hooks";
import { MOST_CHARACTERS } from "./report.ts";

interface FileDropProps {
	isBusy: boolean;
	onFile(file: File): void;
}

/** A place to drop a file on, or to choose one. */
export function FileDrop({ isBusy, onFile }: FileDropProps) {
	const id = useId();
	const [isOver, setIsOver] = useState(false);
	return (
		<section
			class={isOver ? "file-drop is-over" : "file-drop"}
			aria-label="Session file"
			onDragOver={(event) => {
				event.preventDefault();
				setIsOver(true);
			}}
			onDragLeave={() => setIsOver(false)}
			onDrop={(event) => {
				// Otherwise the browser would leave the page and show the file.
				event.preventDefault();
				setIsOver(false);
				const file = event.dataTransfer?.files[0];
				if (file && !isBusy) onFile(file);
			}}
		>
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
