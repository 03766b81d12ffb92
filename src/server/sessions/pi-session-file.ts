import {
	closeSync,
	mkdirSync,
	openSync,
	readSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type AgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
import { temporaryName } from "../../core/atomic-file.ts";
import { errnoOf } from "../../core/errno.ts";
import { sessionFolder } from "./session-files.ts";
import type { StoredSettings } from "./stored-settings.ts";

export interface SessionFileOptions {
	readonly agentDir: string;
	readonly cwd: string;
	/** Pi's file to go on with; without one the session is made from `settings`. */
	readonly file?: string;
	readonly settings: StoredSettings;
}

/** Opens a session in pi's file of it, at the place in its tree where it was left. */
export function openSessionFile(options: SessionFileOptions): SessionManager {
	const { agentDir, cwd, file, settings } = options;
	const folder = sessionFolder(agentDir, cwd);
	const { piSessionId: id } = settings;
	// A process that died may have written the file and not the record.
	const found = file ?? (id && SessionManager.findById(cwd, id, folder));
	if (!found) return SessionManager.create(cwd, folder, { ...(id && { id }) });
	const manager = SessionManager.open(found, folder, cwd);
	const { leaf } = settings;
	if (leaf && manager.getEntries().at(-1)?.id === leaf.afterEntry) {
		if (leaf.id === null) manager.resetLeaf();
		else if (manager.getEntry(leaf.id)) manager.branch(leaf.id);
	}
	return manager;
}

/**
 * Writes pi's file of a session if there is none: pi does so with the first answer (or the first message, by version), and
 * a process that dies before loses what the user said. Once there is a file, pi adds every entry to it at once; if somebody
 * has deleted it, to one that lacks all before, so such a file is written again too.
 */
export function ensureSessionFile(session: AgentSession): void {
	const { sessionManager } = session;
	const file = sessionManager.getSessionFile();
	const header = sessionManager.getHeader();
	if (!file || !header || session.isStreaming || hasHeader(file)) return;
	const lines = [header, ...sessionManager.getEntries()].map((entry) => JSON.stringify(entry));
	mkdirSync(dirname(file), { recursive: true });
	const temporary = join(dirname(file), temporaryName());
	try {
		writeFileSync(temporary, `${lines.join("\n")}\n`, { flag: "wx" });
		renameSync(temporary, file);
	} catch (error) {
		rmSync(temporary, { force: true });
		throw error;
	}
	sessionManager.setSessionFile(file);
	session.refreshContext();
}

const HEADER = '{"type":"session",';

function hasHeader(path: string): boolean {
	try {
		const file = openSync(path, "r");
		try {
			const start = Buffer.alloc(HEADER.length);
			readSync(file, start);
			return start.toString() === HEADER;
		} finally {
			closeSync(file);
		}
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return false;
		throw error;
	}
}
