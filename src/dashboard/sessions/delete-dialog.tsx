import type { SessionInfo } from "../../protocol/index.ts";
import { client } from "../connection/connection.ts";
import { Dialog } from "../parts/dialog.tsx";
import { baseName } from "../parts/figures.ts";
import { reporting } from "../parts/reporting.ts";
import { PlainText } from "../parts/text.tsx";

/** Asks before a session is closed. */
export function DeleteDialog({ session, onClose }: { session: SessionInfo; onClose(): void }) {
	const { sessionId, sessionName, cwd, isStreaming } = session;
	async function remove(): Promise<void> {
		await reporting(client().request("delete_session", { sessionId }));
		onClose();
	}
	return (
		<Dialog title="Delete this session?" onCancel={onClose}>
			<p>
				<strong>
					<PlainText text={sessionName ?? baseName(cwd)} most={120} />
				</strong>{" "}
				is removed from the server{isStreaming && " and what it is doing is stopped"}. Pi's file of
				it stays: it can be opened again from the stored sessions.
			</p>
			<div class="dialog-actions">
				<button type="button" autofocus onClick={onClose}>
					Cancel
				</button>
				<button type="button" class="danger" onClick={() => void remove()}>
					Delete
				</button>
			</div>
		</Dialog>
	);
}
