import { randomUUID } from "node:crypto";
import { readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "./atomic-file.ts";
import { inTime } from "./in-time.ts";
import { isAlive } from "./is-alive.ts";
import { isRecord } from "./property.ts";
import { readRegularFile } from "./regular-file.ts";

export interface SessionMark {
	/** Never throws; waits at most a second for a slow disk. */
	remove(): Promise<void>;
}

/** Marks a session file as open, best effort: two appending processes ruin its tree, and pi has no lock. */
export function markSession(agentDir: string, sessionFile: string): SessionMark {
	return mark(marksFolder(agentDir), sessionFile);
}

/** Maps real paths of open session files to process ids. Evicts marks of ended processes. Never throws. */
export function markedSessions(agentDir: string): Promise<ReadonlyMap<string, number>> {
	return marksIn(marksFolder(agentDir));
}

/** Marks this process as a running demo with an agent folder of its own. The user's server shows its sessions. */
export function markDemo(agentDir: string, demoAgentDir: string): SessionMark {
	return mark(demosFolder(agentDir), demoAgentDir);
}

/** Real paths of the agent folders of demos that run. Never throws. */
export async function runningDemos(agentDir: string): Promise<string[]> {
	const found = [...(await marksIn(demosFolder(agentDir))).keys()];
	const isOwn = await Promise.all(found.map(isOwnFolder));
	return found.filter((_, index) => isOwn[index]);
}

/** As {@link markedSessions}, with the sessions of demos that run. */
export async function sessionsInTerminals(agentDir: string): Promise<ReadonlyMap<string, number>> {
	const folders = [agentDir, ...(await runningDemos(agentDir))];
	const marked = await Promise.all(folders.map(markedSessions));
	return new Map(marked.flatMap((one) => [...one]));
}

function mark(folder: string, marked: string): SessionMark {
	const path = join(folder, `${randomUUID()}.json`);
	const written = write(path, marked).catch(() => undefined);
	void marksIn(folder); // also evicts the marks of killed processes
	return {
		async remove() {
			const removed = written.then(() => rm(path, { force: true }));
			await inTime(removed, REMOVE_MS).catch(() => undefined);
		},
	};
}

async function marksIn(folder: string): Promise<ReadonlyMap<string, number>> {
	const names = await readdir(folder).catch(() => []);
	const marked = new Map<string, number>();
	for (const name of names.slice(0, MAX_MARKS)) {
		const path = join(folder, name);
		const mark = await readMark(path).catch(() => undefined);
		if (mark?.host !== hostname()) await evictOld(path);
		else if (!(await isRunning(mark))) await rm(path, { force: true }).catch(() => undefined);
		else marked.set(await realpath(mark.sessionFile).catch(() => mark.sessionFile), mark.pid);
	}
	return marked;
}

interface Mark {
	readonly pid: number;
	/** Start time, on Linux only. It distinguishes a later process with the same id. */
	readonly started: string | undefined;
	/** The machine's name. Process ids mean nothing on another machine that shares the folder. */
	readonly host: string;
	/** A session file, or the agent folder of a demo. */
	readonly sessionFile: string;
}

const REMOVE_MS = 1_000;
const MAX_MARKS = 1_000;
const MAX_MARK_BYTES = 16 * 1024;
/** Maximum age of marks from other machines, since their processes cannot be checked. */
const MAX_AGE_MS = 30 * 24 * 60 * 60_000;

function marksFolder(agentDir: string): string {
	return join(agentDir, "strata", "open-sessions");
}

function demosFolder(agentDir: string): string {
	return join(agentDir, "strata", "running-demos");
}

/** The folder of a killed demo may be gone, and its path, in a folder of all users, another user's by now. */
async function isOwnFolder(path: string): Promise<boolean> {
	const found = await stat(path).catch(() => undefined);
	return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}

async function write(path: string, sessionFile: string): Promise<void> {
	const { pid } = process;
	// `JSON.stringify` leaves out `started` if it is `undefined`.
	const mark = { pid, started: await startOf(pid), host: hostname(), sessionFile };
	await writeFileAtomic(path, JSON.stringify(mark));
}

async function readMark(path: string): Promise<Mark | undefined> {
	const file = await readRegularFile(path, MAX_MARK_BYTES);
	if (file.kind !== "read") return undefined;
	const given: unknown = JSON.parse(file.bytes.toString());
	const { pid, started, host, sessionFile } = isRecord(given) ? given : {};
	if (!Number.isSafeInteger(pid) || Number(pid) <= 0) return undefined;
	if (typeof host !== "string" || typeof sessionFile !== "string") return undefined;
	const start = typeof started === "string" ? started : undefined;
	return { pid: Number(pid), started: start, host, sessionFile };
}

async function isRunning({ pid, started }: Mark): Promise<boolean> {
	if (!isAlive(pid)) return false;
	return started === undefined || started === (await startOf(pid));
}

/** The start time of a process on Linux; `undefined` on other systems, or if it ended. */
async function startOf(pid: number): Promise<string | undefined> {
	const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
	// The program name, in parentheses, may contain spaces. The start time is the 20th field after it.
	return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19];
}

async function evictOld(path: string): Promise<void> {
	const file = await stat(path).catch(() => undefined);
	if (file && Date.now() - file.mtimeMs > MAX_AGE_MS) {
		await rm(path, { force: true }).catch(() => undefined);
	}
}
