import { rmSync } from "node:fs";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { sessionFolder } from "./session-files.ts";

/** A copy that is worked on in place of a session file which a running pi has open. */
export interface SessionFork {
	/** The copy. */
	readonly file: string;
	/** For the response to the command that opened it. */
	readonly about: { readonly forkedFrom: string; readonly warning: string };
	/** Deletes the copy. */
	discard(): void;
}

/** The processes of running pis that have session files open, by the files' paths without links. */
export type PiProcesses = () => Promise<ReadonlyMap<string, number>>;

/** Copies a session file, for a project, and remembers where it comes from. `pid` is the process that has it open. */
export function forkSession(options: {
	file: string;
	pid: number;
	cwd: string;
	agentDir: string;
}): SessionFork {
	const { file: forkedFrom, pid, cwd, agentDir } = options;
	const file = SessionManager.forkFrom(
		forkedFrom,
		cwd,
		sessionFolder(agentDir, cwd),
	).getSessionFile();
	if (file === undefined) throw new Error("the copy of the session has no file");
	const warning = `This session is open in pi (process ${pid}). Here you work on a copy: neither sees what happens in the other.`;
	return {
		file,
		about: { forkedFrom, warning },
		discard: () => rmSync(file, { force: true }),
	};
}
