import { useId, useState } from "preact/hooks";
import { client } from "../connection/connection.ts";
import { textOf } from "../error-text.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notices.tsx";
import { visibleString } from "../parts/visible-text.ts";
import { FIRST_VIEW, go } from "../route.ts";
import type { StartsIn } from "./sessions.ts";

interface NewSessionDialogProps {
	startsIn: StartsIn;
	/** Folders to choose from. */
	folders: readonly string[];
	onClose(): void;
}

/** Asks where a new session works, and makes it. */
export function NewSessionDialog({ startsIn, folders, onClose }: NewSessionDialogProps) {
	const [error, setError] = useState<string>();
	const [isMaking, setMaking] = useState(false);
	async function make(cwd: string): Promise<void> {
		setMaking(true);
		setError(undefined);
		try {
			const { data } = await client().request("create_session", cwd ? { cwd } : {});
			go({ page: "session", sessionId: data.sessionId, view: FIRST_VIEW });
		} catch (problem) {
			setError(textOf(problem));
			setMaking(false);
		}
	}
	return (
		<Dialog title="New session" onCancel={onClose}>
			<form
				class="stack"
				onSubmit={(event) => {
					event.preventDefault();
					const cwd = new FormData(event.currentTarget).get("cwd");
					void make(String(cwd ?? "").trim());
				}}
			>
				{startsIn && "sample" in startsIn ? (
					<SampleProject />
				) : (
					<Folder start={startsIn?.folder} folders={folders} />
				)}
				{error !== undefined && <Problem text={error} />}
				<div class="dialog-actions">
					<button type="button" onClick={onClose}>
						Cancel
					</button>
					<button type="submit" class="primary" disabled={isMaking}>
						{isMaking ? "Starting…" : "Start"}
					</button>
				</div>
			</form>
		</Dialog>
	);
}

interface FolderProps {
	/** Where it works if none is named; without one, one must be. */
	start: string | undefined;
	folders: readonly string[];
}

function Folder({ start, folders }: FolderProps) {
	const listId = useId();
	return (
		<>
			<label class="stack">
				Folder
				<input
					name="cwd"
					class="mono"
					placeholder={start === undefined ? "/home/me/project" : visibleString(start)}
					required={start === undefined}
					list={listId}
					autocomplete="off"
					spellcheck={false}
					autofocus
				/>
			</label>
			<datalist id={listId}>
				{folders.map((folder) => (
					<option key={folder} value={folder} />
				))}
			</datalist>
			<p class="small soft">
				A folder on the server's machine. The agent reads and changes files there.{" "}
				{start === undefined
					? "Write its whole path."
					: "Left empty, it is the folder the server was started in."}
			</p>
		</>
	);
}

function SampleProject() {
	return (
		<p>
			The demo makes a new sample project for it. To work in a folder of your own, set up a model
			with pi and start the server again.
		</p>
	);
}
