import { type Stats, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";
import { agentFolder } from "../core/places.ts";
import { readPartSync } from "../core/regular-file.ts";
import { nameOr } from "../economy/replay/index.ts";
import { storedMessages } from "./opencode-storage.ts";
import type { AgentName } from "./session-format.ts";

/** Pi's sub-agents are five folders below its sessions; a deeper tree is something else. */
const MAX_DEPTH = 6;
const MAX_FILES = 10_000;
/** A sub-agent of Claude Code has a `.meta.json` beside its transcript. */
const SESSION_FILE = /(?<!\.meta)\.(jsonl|json|db)$/;

export interface FilesFound {
	readonly files: readonly string[];
	readonly unreadable: readonly { readonly file: string; readonly reason: string }[];
}

/**
 * Files below a folder whose names are those of sessions, of any agent. Links are not followed.
 * Rejects if `folder` is unreadable.
 */
export async function findSessionFiles(folder: string, maxFiles = MAX_FILES): Promise<FilesFound> {
	const files: string[] = [];
	const unreadable: { file: string; reason: string }[] = [];
	await collect(folder, 1);
	return { files: files.sort(), unreadable };

	async function collect(at: string, depth: number): Promise<void> {
		const entries = await readdir(at, { withFileTypes: true });
		const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
		for (const entry of entries) {
			const path = join(at, entry.name);
			if (entry.isDirectory() && depth < MAX_DEPTH && !isPartOfSession(entry.name, folders)) {
				await collect(path, depth + 1).catch((error) => {
					if (errnoOf(error) === undefined) throw error;
					unreadable.push({ file: path, reason: describeError(error) });
				});
			}
			if (!entry.isFile() || !SESSION_FILE.test(entry.name)) continue;
			if (files.length === maxFiles) {
				throw new Error(`${folder} has more than ${maxFiles} sessions; use a subfolder`);
			}
			files.push(path);
		}
	}
}

/** Older versions of opencode keep each message in a file, in folders beside `session`. */
function isPartOfSession(name: string, siblings: readonly string[]): boolean {
	const isStorage = ["session", "message", "part"].every((one) => siblings.includes(one));
	return isStorage && name !== "session";
}

/** Of each file, as far as needed: most begin with their time and folder. */
const PEEK_BYTES = [8 * 1024, 64 * 1024] as const;

/** What the beginning of a session file says. */
interface Beginning {
	/** 0 if unknown, as for a database. */
	readonly startMs: number;
	readonly project?: string;
}

/** In the order in which the sessions began, so that a copy comes after its original. */
export function inOrderOfStart(files: readonly string[]): string[] {
	const started = files.map((file) => ({ file, startMs: beginningOf(file).startMs }));
	return started.sort((a, b) => a.startMs - b.startMs).map(({ file }) => file);
}

/** Synchronous, like `sessionState`, for the same reason. */
function beginningOf(file: string): Beginning {
	let beginning: Beginning = { startMs: 0 };
	for (const bytes of PEEK_BYTES) {
		const text = peek(file, bytes);
		if (text.startsWith(DATABASE_MARK)) return beginning;
		beginning = beginningIn(text);
		if (beginning.startMs > 0 && beginning.project !== undefined) break;
	}
	return beginning;
}

function beginningIn(text: string): Beginning {
	const [, stamp, ms] = TIME.exec(text) ?? [];
	const startMs = stamp === undefined ? Number(ms) : Date.parse(stamp);
	const [, folder] = FOLDER.exec(text) ?? [];
	return {
		startMs: Number.isFinite(startMs) ? startMs : 0,
		...(folder !== undefined && { project: unescaped(folder) }),
	};
}

const DATABASE_MARK = "SQLite format 3";
const TIME = /"(?:timestamp|startTime|created)"\s*:\s*(?:"([^"]{10,40})"|(\d{12,14})(?=\D))/;
const FOLDER = /"(?:cwd|directory)"\s*:\s*"((?:[^"\\]|\\.){1,1000})"/;

function unescaped(text: string): string {
	try {
		return nameOr(JSON.parse(`"${text}"`), "");
	} catch {
		return text; // an invalid escape
	}
}

/** Empty if the file cannot be read: reading all of it will report the fault. */
function peek(file: string, bytes: number): string {
	try {
		return readPartSync(file, 0, bytes).toString("utf8");
	} catch {
		return "";
	}
}

export interface FoundSession {
	readonly agent: AgentName | "openclaw";
	readonly file: string;
	/** The project's folder, if the file begins with it. */
	readonly project?: string;
	readonly lastUseMs: number;
	readonly bytes: number;
}

const MAX_FOUND = 100_000;

/** The session files in the places where agents keep them, the newest first. */
export async function findSessions(env: NodeJS.ProcessEnv = process.env): Promise<FoundSession[]> {
	const found: FoundSession[] = [];
	for (const { agent, folder, ending } of sessionPlaces(env)) {
		const { files } = await findSessionFiles(folder, MAX_FOUND).catch((error: unknown) => {
			if (errnoOf(error) === undefined) throw error; // too many: none must be missing silently
			return { files: [] }; // no such folder
		});
		for (const file of files) {
			if (!ending.test(file)) continue;
			const state = stateIfThere(file);
			if (!state) continue;
			const project = beginningOf(file).project ?? geminiProject(file);
			found.push({
				agent,
				file,
				...(project && { project }),
				lastUseMs: state.mtimeMs,
				bytes: state.size,
			});
		}
	}
	return found.sort((a, b) => b.lastUseMs - a.lastUseMs);
}

/**
 * Size and last change of a session, with the files beside it that hold a part of it. Throws if the
 * file is gone. Synchronous: ten times as fast for thousands of files.
 */
export function sessionState(file: string): { size: number; mtimeMs: number } {
	// A log has what SQLite has not moved into the database yet.
	const beside = file.endsWith(".db") ? [`${file}-wal`] : storedMessages(file);
	const parts = beside.map((part) => statSync(part, { throwIfNoEntry: false }));
	const all = [statSync(file), ...parts.filter((stats): stats is Stats => stats !== undefined)];
	return {
		size: all.reduce((sum, { size }) => sum + size, 0),
		mtimeMs: all.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0),
	};
}

function stateIfThere(file: string): ReturnType<typeof sessionState> | undefined {
	try {
		return sessionState(file);
	} catch {
		return undefined; // gone meanwhile
	}
}

/** Gemini CLI names the project in a file beside its chats. */
function geminiProject(file: string): string | undefined {
	const [folder, chat] = file.split(/[\\/]chats[\\/]/);
	if (folder === undefined || chat === undefined) return undefined;
	const text = peek(join(folder, ".project_root"), PEEK_BYTES[0]); // older versions have none
	return nameOr(text.trim(), "") || undefined;
}

/** A folder in which an agent keeps its sessions. It may not exist. */
export interface SessionPlace {
	readonly agent: FoundSession["agent"];
	readonly folder: string;
	/** Which of the folder's files are sessions. */
	readonly ending: RegExp;
}

export function sessionPlaces(env: NodeJS.ProcessEnv = process.env): SessionPlace[] {
	const home = env.HOME || homedir();
	const claude = env.CLAUDE_CONFIG_DIR || join(home, ".claude");
	const codex = env.CODEX_HOME || join(home, ".codex");
	const xdg = env.XDG_DATA_HOME;
	const data = xdg && isAbsolute(xdg) ? xdg : join(home, ".local", "share");
	const pi = env.PI_CODING_AGENT_DIR ? agentFolder(env) : join(home, ".pi", "agent");
	return [
		{ agent: "pi", folder: join(pi, "sessions"), ending: /\.jsonl$/ },
		{ agent: "claude-code", folder: join(claude, "projects"), ending: /\.jsonl$/ },
		{ agent: "codex", folder: join(codex, "sessions"), ending: /\.jsonl$/ },
		{ agent: "codex", folder: join(codex, "archived_sessions"), ending: /\.jsonl$/ },
		{
			agent: "opencode",
			folder: join(data, "opencode"),
			ending: /[\\/](opencode[^\\/]*\.db|ses_[^\\/]*\.json)$/,
		},
		{
			agent: "gemini-cli",
			folder: join(home, ".gemini", "tmp"),
			ending: /[\\/]chats[\\/].*\.jsonl?$/,
		},
		{
			agent: "openclaw",
			folder: join(home, ".openclaw", "agents"),
			ending: /[\\/]sessions[\\/].*\.jsonl$/,
		},
	];
}
