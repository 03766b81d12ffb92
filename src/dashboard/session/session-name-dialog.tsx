import { client } from "../connection/connection.ts";
import { Dialog } from "../parts/dialog.tsx";
import { reporting } from "../parts/reporting.ts";

/** Asks for another name of a session. */
export function SessionNameDialog(props: { sessionId: string; name: string; onClose(): void }) {
	const { sessionId, name, onClose } = props;
	return (
		<Dialog title="Name of this session" onCancel={onClose}>
			<form
				class="stack"
				onSubmit={(event) => {
					event.preventDefault();
					const given = String(new FormData(event.currentTarget).get("name")).trim();
					onClose();
					if (given && given !== name) {
						void reporting(client().request("set_session_name", { sessionId, name: given }));
					}
				}}
			>
				<input name="name" aria-label="Name" defaultValue={name} maxLength={200} autofocus />
				<div class="dialog-actions">
					<button type="button" onClick={onClose}>
						Cancel
					</button>
					<button type="submit" class="primary">
						Rename
					</button>
				</div>
			</form>
		</Dialog>
	);
}
