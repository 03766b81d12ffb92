import { randomUUID } from "node:crypto";
import { readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "./atomic-file.ts";
import { errnoOf } from "./errno.ts";
import { inTime } from "./in-time.ts";
import { property } from "./property.ts";
import { readRegularFile } from "./regular-file.ts";

/** Says to other processes that this one has a session file open. */
export interface SessionMark {
	/** Takes it back. Never throws, and gives a slow disk a second. */
	remove(): Promise<void>;
}

/**
 * Marks a session file as open in this process, in the background. Two processes that append to one file ruin its tree,
 * and pi has no lock. Without the mark, as on a disk that is full, others cannot know.
 */
export function markSession(agentDir: string, sessionFile: string): SessionMark {
	const path = join(marksFolder(agentDir), `${randomUUID()}.json`);
	const written = write(path, sessionFile).catch(() => undefined);
	void markedSessions(agentDir); // evicts the marks of processes that were killed
	return {
		async remove() {
			const removed = written.then(() => rm(path, { force: true }));
			await inTime(removed, REMOVE_MS).catch(() => undefined);
		},
	};
}

/**
 * The session files that running processes have marked, without links, each with its process. Evicts marks of processes
 * that have ended. Never throws: marks that cannot be read do not exist.
 */
export async function markedSessions(agentDir: string): Promise<ReadonlyMap<string, number>> {
	const folder = marksFolder(agentDir);
	const names = await readdir(folder).catch(() => []);
	const marked = new Map<string, number>();
	for (const name of names.slice(0, MAX_MARKS)) {
		const path = join(folder, name);
		const mark = await readMark(path).catch(() => undefined);
		if (mark?.host === hostname()) {
			if (await isRunning(mark)) {
				marked.set(await realpath(mark.sessionFile).catch(() => mark.sessionFile), mark.pid);
			} else {
				await rm(path, { force: true }).catch(() => undefined);
			}
		} else {
			await evictOld(path);
		}
	}
	return marked;
}

interface Mark {
	pid: number;
	/** Tells the process from a later one of the same id; absent where the system does not say. */
	started?: string;
	/** Process ids mean nothing on another machine that shares the folder. */
	host: string;
	sessionFile: string;
}

const REMOVE_MS = 1_000;
const MAX_MARKS = 1_000;
const MAX_MARK_BYTES = 16 * 1024;
/** Whether a process of another machine has ended cannot be known. */
const MAX_AGE_MS = 30 * 24 * 60 * 60_000;

function marksFolder(agentDir: string): string {
	return join(agentDir, "strata", "open-sessions");
}

async function write(path: string, sessionFile: string): Promise<void> {
	const started = await startOf(process.pid);
	const mark: Mark = {
		pid: process.pid,
		...(started !== undefined && { started }),
		host: hostname(),
		sessionFile,
	};
	await writeFileAtomic(path, JSON.stringify(mark));
}

async function readMark(path: string): Promise<Mark | undefined> {
	const file = await readRegularFile(path, MAX_MARK_BYTES);
	if (file.kind !== "read") return undefined;
	const given: unknown = JSON.parse(file.bytes.toString());
	const pid = property(given, "pid");
	const started = property(given, "started");
	const host = property(given, "host");
	const sessionFile = property(given, "sessionFile");
	if (!Number.isSafeInteger(pid) || Number(pid) <= 0) return undefined;
	if (typeof host !== "string" || typeof sessionFile !== "string") return undefined;
	return {
		pid: Number(pid),
		...(typeof started === "string" && { started }),
		host,
		sessionFile,
	};
}

async function isRunning({ pid, started }: Mark): Promise<boolean> {
	try {
		process.kill(pid, 0);
	} catch (error) {
		if (errnoOf(error) !== "EPERM") return false;
	}
	return started === undefined || started === (await startOf(pid));
}

/** When a process started, in the words of Linux; `undefined` on other systems, and for one that has ended. */
async function startOf(pid: number): Promise<string | undefined> {
	const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
	// The name of the program, in parentheses, may have spaces. The start is the 20th field behind it.
	return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19];
}

async function evictOld(path: string): Promise<void> {
	const file = await stat(path).catch(() => undefined);
	if (file && Date.now() - file.mtimeMs > MAX_AGE_MS) {
		await rm(path, { force: true }).catch(() => undefined);
	}
}
