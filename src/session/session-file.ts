import {
	type FileState,
	type SessionFileWatch,
	watchSessionFile,
} from "../core/session-file-watch.ts";
import { markSession, type SessionMark } from "../core/session-marks.ts";
import type { SessionView, System } from "./system.ts";

/** Warns if a write failed or another program writes: pi continues silently, and entries would be lost. */
export function createSessionFileWatch(): System {
	let watched: SessionFileWatch | undefined;
	let warned: string | undefined;

	const check = ({ sessionManager, ui }: SessionView) => {
		const file = sessionManager.getSessionFile();
		if (file === undefined) return;
		if (watched?.file !== file) {
			watched = watchSessionFile(file);
			warned = undefined;
		}
		if (warned === "foreign") return; // this state is final, and each check would read all later lines again
		const header = sessionManager.getHeader();
		const entries = sessionManager.getEntries();
		try {
			const state = watched.check(header ? [header, ...entries] : entries);
			const hasAnswer = entries.some(
				(entry) => entry.type === "message" && entry.message.role === "assistant",
			);
			const warning = warningOf(state, hasAnswer);
			if (warning !== undefined && warning.about !== warned) {
				ui.notify(`pi-strata: ${warning.text}`, "warning");
			}
			warned = warning?.about;
		} catch {
			// An unreadable file gives no warning.
		}
	};

	return {
		name: "session file",
		start: check,
		onMessage: check,
		async onTurnEnd(_turn, session) {
			check(session);
			return [];
		},
		onRunEnd: check,
	};
}

/** Marks the session's file as open, so that the server works on a copy. */
export function createSessionMark(agentDir: string): System {
	let mark: SessionMark | undefined;
	return {
		name: "session mark",
		start({ sessionManager }) {
			void mark?.remove();
			const file = sessionManager.getSessionFile();
			mark = file === undefined ? undefined : markSession(agentDir, file);
		},
		async stop() {
			await mark?.remove();
			mark = undefined;
		},
	};
}

const KEEP_IT =
	"To keep the conversation, run /export with a .jsonl path on a disk with free space; /import restores it.";

const FOREIGN =
	"Another program has written to this session's file. When you reopen the session, it continues from the last entry in the file; /tree shows the other entries.";

/** If `hasAnswer`, the file must exist: pi writes it with the first answer at the latest. */
function warningOf(state: FileState, hasAnswer: boolean) {
	const missing = (text: string) => ({ about: "missing", text: `${text} ${KEEP_IT}` });
	switch (state.kind) {
		case "in-step":
			return undefined;
		case "unwritten":
			return hasAnswer ? missing("This session has no file: writing it failed.") : undefined;
		case "behind":
		case "lacking":
			return missing(
				`This session's file lacks ${state.missing} of its entries, because writing failed. Once later entries are written, reopening the session loses everything before the missing ones too.`,
			);
		case "foreign":
			if (state.entries > 0) return { about: "foreign", text: FOREIGN };
			return missing(
				"This session's file has a line that cannot be read: an entry was only partly written.",
			);
	}
}
