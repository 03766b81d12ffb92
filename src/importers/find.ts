import { open, readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";
import { agentFolder } from "../core/places.ts";
import { nameOr } from "../economy/replay/index.ts";
import type { AgentName } from "./session-format.ts";

/** Pi's sub-agents are five folders below its sessions; a deeper tree is something else. */
const MAX_DEPTH = 6;
const MAX_FILES = 10_000;
const SESSION_FILE = /\.(jsonl|json|db)$/;

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

const PEEK_BYTES = 64 * 1024;

/** What the beginning of a session file says. */
interface Beginning {
	/** 0 if unknown, as for a database. */
	readonly startMs: number;
	readonly project?: string;
}

/** In the order in which the sessions began, so that a copy comes after its original. */
export async function inOrderOfStart(files: readonly string[]): Promise<string[]> {
	const started: { file: string; startMs: number }[] = [];
	// One at a time: a folder may have more files than a process may open.
	for (const file of files) started.push({ file, startMs: (await beginningOf(file)).startMs });
	return started.sort((a, b) => a.startMs - b.startMs).map(({ file }) => file);
}

async function beginningOf(file: string): Promise<Beginning> {
	const text = await peek(file).catch(() => ""); // reading the whole file will report the fault
	if (text.startsWith(DATABASE_MARK)) return { startMs: 0 };
	const [, stamp, ms] = TIME.exec(text) ?? [];
	const startMs = stamp === undefined ? Number(ms) : Date.parse(stamp);
	const [, folder] = FOLDER.exec(text) ?? [];
	return {
		startMs: Number.isFinite(startMs) ? startMs : 0,
		...(folder !== undefined && { project: unescaped(folder) }),
	};
}

const DATABASE_MARK = "SQLite format 3";
const TIME = /"(?:timestamp|startTime|created)"\s*:\s*(?:"([^"]{10,40})"|(\d{12,14}))/;
const FOLDER = /"(?:cwd|directory)"\s*:\s*"((?:[^"\\]|\\.){1,1000})"/;

function unescaped(text: string): string {
	try {
		return nameOr(JSON.parse(`"${text}"`), "");
	} catch {
		return text; // an invalid escape
	}
}

async function peek(file: string): Promise<string> {
	const handle = await open(file);
	try {
		const { buffer, bytesRead } = await handle.read(Buffer.alloc(PEEK_BYTES), 0, PEEK_BYTES, 0);
		return buffer.toString("utf8", 0, bytesRead);
	} finally {
		await handle.close();
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
			const stats = await stat(file).catch(() => undefined); // gone meanwhile
			if (!stats) continue;
			const log = await stat(`${file}-wal`).catch(() => undefined); // most files have none
			const project = (await beginningOf(file)).project ?? (await geminiProject(file));
			found.push({
				agent,
				file,
				...(project && { project }),
				lastUseMs: Math.max(stats.mtimeMs, log?.mtimeMs ?? 0),
				bytes: stats.size + (log?.size ?? 0),
			});
		}
	}
	return found.sort((a, b) => b.lastUseMs - a.lastUseMs);
}

/** Gemini CLI names the project in a file beside its chats. */
async function geminiProject(file: string): Promise<string | undefined> {
	const [folder, chat] = file.split(/[\\/]chats[\\/]/);
	if (folder === undefined || chat === undefined) return undefined;
	const text = await peek(join(folder, ".project_root")).catch(() => ""); // older versions have none
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
