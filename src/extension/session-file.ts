import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import {
	type FileState,
	type SessionFileWatch,
	watchSessionFile,
} from "../core/session-file-watch.ts";

/**
 * Warns at once when pi could not write to its session file, or when another program writes to it. Pi goes on as if
 * nothing had happened, and what was said is missing when the session is opened again.
 */
export function watchSessionFiles(pi: ExtensionAPI): void {
	let watched: SessionFileWatch | undefined;
	/** Of the state that the user knows of. */
	let warned: string | undefined;

	const look = (_event: unknown, { sessionManager, ui }: ExtensionContext) => {
		const file = sessionManager.getSessionFile();
		if (file === undefined) return;
		if (watched?.file !== file) {
			watched = watchSessionFile(file);
			warned = undefined;
		}
		if (warned === "foreign") return; // that does not pass, and all since then would be read again each time
		const header = sessionManager.getHeader();
		const entries = sessionManager.getEntries();
		try {
			const state = watched.look(header ? [header, ...entries] : entries);
			const hasAnswer = entries.some(
				(entry) => entry.type === "message" && entry.message.role === "assistant",
			);
			const warning = warningOf(state, hasAnswer);
			if (warning !== undefined && warning.about !== warned) {
				ui.notify(`pi-strata: ${warning.text}`, "warning");
			}
			warned = warning?.about;
		} catch {
			// Without a look at the file there is nothing to say about it.
		}
	};

	pi.on("session_start", look);
	pi.on("message_start", look);
	pi.on("turn_end", look);
	pi.on("agent_end", look);
}

const KEEP_IT =
	"/export <name>.jsonl on a disk with room keeps the conversation, and /import brings it back.";

/** `hasAnswer`: pi writes its file with the first answer at the latest. */
function warningOf(
	state: FileState,
	hasAnswer: boolean,
): { about: string; text: string } | undefined {
	switch (state.kind) {
		case "in-step":
			return undefined;
		case "unwritten":
			if (!hasAnswer) return undefined;
			return { about: "missing", text: `This session has no file: writing it failed. ${KEEP_IT}` };
		case "behind":
		case "lacking":
			return {
				about: "missing",
				text: `This session's file lacks ${state.missing} of its entries: writing it failed. Opened again, the session would lack what was said before them, too. ${KEEP_IT}`,
			};
		case "foreign":
			if (state.entries === 0) {
				return {
					about: "missing",
					text: `This session's file holds a line that cannot be read: an entry was not written whole. ${KEEP_IT}`,
				};
			}
			return {
				about: "foreign",
				text: "Another program writes to this session's file. Opened again, the session goes on from whatever was written last; /tree shows the rest.",
			};
	}
}
