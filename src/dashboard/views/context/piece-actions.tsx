import { client } from "../../connection/connection.ts";
import { Button } from "../../parts/controls.tsx";
import { orToast } from "../../parts/notices.tsx";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../route.ts";
import type { Piece } from "./piece-bar.ts";

interface PieceActionsProps {
	readonly sessionId: string;
	readonly piece: Piece;
	onDone(): void;
}

/** What can be done with a piece. The commands say why, if one of them is refused. */
export function PieceActions({ sessionId, piece, onDone }: PieceActionsProps) {
	const { entryId } = piece;
	const { run, attributes } = useAction();
	async function send(message: string): Promise<void> {
		if (await orToast(client().request("prompt", { sessionId, message }))) onDone();
	}
	return (
		<>
			{entryId !== undefined && (
				<a
					class="button"
					href={hrefOf({ page: "session", sessionId, view: "conversation", entryId })}
				>
					Show in the conversation
				</a>
			)}
			{actionsOf(piece).map(({ label, title, command }) => (
				<Button
					key={label}
					title={title}
					{...attributes}
					onClick={() => void run(() => send(command))}
					label={label}
				/>
			))}
		</>
	);
}

interface PieceAction {
	readonly label: string;
	readonly title: string;
	/** The command of the session that does it. */
	readonly command: string;
}

/** The actions that make sense for a piece, in the order of use. */
export function actionsOf(piece: Piece): PieceAction[] {
	const { callId, path, kind, pinned, pending } = piece;
	const actions: PieceAction[] = [];
	if (callId !== undefined && /^[^"\s\p{Cc}]+$/u.test(callId)) {
		const isStub = pending === undefined ? kind === "stub" : pending === "stub";
		if (isStub) {
			actions.push({
				label: pending === "stub" ? "Keep it" : "Restore",
				title: "The next request has the full text again; the result is pinned",
				command: `/kota restore ${callId}`,
			});
		} else if (pinned) {
			actions.push({
				label: "Unpin",
				title: "Pruning may replace the result with a stub",
				command: `/kota unpin ${callId}`,
			});
		} else {
			actions.push(
				{
					label: "Pin",
					title: "Never replace the result with a stub",
					command: `/kota pin ${callId}`,
				},
				{
					label: "Drop",
					title: "The next request has a stub in its place, if the rules of the model allow it",
					command: `/kota drop ${callId}`,
				},
			);
		}
	}
	if (path !== undefined && isPlain(path) && kind !== "system") {
		actions.push(
			kind === "file"
				? {
						label: "Remove from the working set",
						title: "The file is no longer kept up to date in every request",
						command: `/workset drop "${path}"`,
					}
				: {
						label: "Add to the working set",
						title: "Every request shows the file as it is then",
						command: `/workset add "${path}"`,
					},
		);
	}
	return actions;
}

/** Whether a path can stand between quotes in a command. */
function isPlain(path: string): boolean {
	return /^[^"\p{Cc}]+$/u.test(path);
}
