import { appendFileSync } from "node:fs";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { type SessionFileWatch, watchSessionFile } from "../../core/session-file-watch.ts";
import { CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";
import { describeDamage } from "./file-damage.ts";
import { fileEntriesOf, moveToCopy, reopen, writeSessionFile } from "./pi-session-file.ts";

/**
 * Keeps the file of a session in step with what pi holds. Pi moves on before it appends, and if that fails it goes on
 * as if it had not: later entries then hang on a parent that is not in the file.
 */
export interface FileGuard {
	/**
	 * Compares, and mends what is missing. Throws a {@link CommandError} if that fails, and tries again every second.
	 * In a session in which nothing was appended it asks for the size of the file, no more.
	 */
	check(): void;
	/** The same between the steps of a run: what it finds is reported, never thrown. */
	watch(): void;
	/** The last entry that was seen in the file. */
	lastInFile(): string | undefined;
	/** What the file had lost already when it was opened. */
	damage(): string | undefined;
	/** Tries a last time, if something is missing. From then on the file is left alone. */
	close(): void;
}

export interface FileGuardOptions {
	/** Pi's session of the moment; `undefined` while there is none. */
	session(): AgentSession | undefined;
	notify(message: string, type: "info" | "warning" | "error"): void;
	/** The session has moved to another file, which pi uses from now on. */
	moved(): void;
	/** The file holds what it had lacked. */
	mended(): void;
}

const RETRY_MS = 1000;

export function createFileGuard(options: FileGuardOptions): FileGuard {
	const { session, notify, moved, mended } = options;
	let watched: SessionFileWatch | undefined;
	let retry: NodeJS.Timeout | undefined;
	/** The file in which another's lines were reported. */
	let reported: string | undefined;
	let isClosed = false;

	function check(): void {
		const pi = session();
		if (!pi || isClosed) return; // another session may have the file by now
		try {
			mend(pi);
		} catch (error) {
			const message = `What was said last is not in the session's file, which cannot be written (${safeText(error)}). Changes are refused until it can be; reads go on.`;
			if (!retry) {
				retry = setInterval(watch, RETRY_MS).unref();
				notify(message, "error");
			}
			throw new CommandError("wrong_state", message, { cause: error });
		}
		if (!retry) return;
		stopRetrying();
		notify("The session's file is whole again: nothing is missing in it.", "info");
		mended();
	}

	function watch(): void {
		try {
			check();
		} catch {
			// reported, and tried again
		}
	}

	function stopRetrying(): void {
		clearInterval(retry);
		retry = undefined;
	}

	return {
		check,
		watch,
		lastInFile() {
			const file = session()?.sessionManager.getSessionFile();
			return watched?.file === file ? watched?.last : undefined;
		},
		damage() {
			const sessionManager = session()?.sessionManager;
			if (!sessionManager) return undefined;
			return describeDamage(
				watched?.garbled ?? [],
				sessionManager.getEntries(),
				sessionManager.getBranch(),
			);
		},
		close() {
			if (retry) watch();
			stopRetrying();
			isClosed = true;
		},
	};

	function mend(pi: AgentSession): void {
		const { sessionManager } = pi;
		const file = sessionManager.getSessionFile();
		if (file === undefined) return;
		if (watched?.file !== file) watched = watchSessionFile(file);
		const { isSeen } = watched;
		const state = watched.look(fileEntriesOf(sessionManager));
		if (state.kind === "in-step" || state.kind === "unwritten") return;
		if (state.kind === "foreign") {
			if (pi.isStreaming && state.missing > 0) throw new Error("another program writes to it");
			leave(pi, file, state.entries > 0);
			return;
		}
		// Pi has not written the file whole itself yet, and would refuse to: it has to read what was written for it.
		if (!isSeen && pi.isStreaming) throw new Error("the run must end first");
		if (state.kind === "behind") {
			appendFileSync(file, state.rest);
			if (!isSeen) reopen(pi, file);
		} else {
			writeSessionFile(pi, file);
		}
		const after = watched.look(fileEntriesOf(sessionManager));
		if (after.kind !== "in-step") throw new Error("it still lacks entries");
	}

	/** Goes on in a copy. What another program writes to the file, and what has become of it, is left to it. */
	function leave(pi: AgentSession, file: string, isAnother: boolean): void {
		const what = isAnother
			? "Another program writes to the file of this session"
			: "The file of this session holds something that was not written whole";
		const isNew = reported !== file;
		reported = file;
		if (pi.isStreaming) {
			const later = "At the end of the run the session goes on in a copy, with all that is its own";
			if (isNew) notify(`${what}. ${later}.`, "warning");
			return;
		}
		moveToCopy(pi);
		moved();
		if (isNew) {
			notify(`${what}. The session goes on in a copy, with all that is its own.`, "warning");
		}
		mend(pi);
	}
}
