import { useState } from "preact/hooks";
import { client } from "../connection/connection.ts";
import { textOf } from "../error-text.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notices.tsx";
import { FIRST_VIEW, go } from "../route.ts";

interface NewSessionDialogProps {
	/** The server has the demo's model only, which works on nothing but sample projects. */
	isDemo: boolean;
	onClose(): void;
}

/** Asks where a new session works, and makes it. */
export function NewSessionDialog({ isDemo, onClose }: NewSessionDialogProps) {
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
				{isDemo ? <SampleProject /> : <Folder />}
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

function Folder() {
	return (
		<>
			<label class="stack">
				Folder
				<input
					name="cwd"
					class="mono"
					placeholder="the folder of the server"
					autocomplete="off"
					spellcheck={false}
					autofocus
				/>
			</label>
			<p class="small soft">
				A folder on the server's machine. The agent reads and changes files there. Left empty, it is
				the folder the server was started in.
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
