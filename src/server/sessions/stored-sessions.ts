import { constants, open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, parse, resolve } from "node:path";
import { CONFIG_DIR_NAME } from "@earendil-works/pi-coding-agent";
import { errnoOf } from "../../core/errno.ts";
import { isWithin } from "../../core/places.ts";
import { property } from "../../core/property.ts";
import { runningDemos } from "../../core/session-marks.ts";
import type { Data } from "../../protocol/index.ts";
import { collapsed } from "../../text/one-line.ts";
import { CommandError } from "../engine/call.ts";
import type { ServerOptions } from "../options.ts";
import { notFound } from "../safe-text.ts";

/** Session files may be in `sessions` of `agentDir` and of running demos, and in `.pi/sessions` of `cwd` and its parents. */
export type SessionPlaces = Pick<ServerOptions, "agentDir" | "cwd">;

/** Identifies a conversation. The header is the file's first line, so it survives a move or copy. */
export type FileHeader = Pick<StoredSession, "id" | "cwd" | "parentSession">;

export type StoredSession = NonNullable<Awaited<ReturnType<typeof readStored>>>;

export function sessionFolder(agentDir: string, cwd: string): string {
	const name = resolve(cwd)
		.replace(/^[/\\]/, "")
		.replaceAll(/[/\\:]/g, "-");
	return join(agentDir, "sessions", `--${name}--`);
}

/** Throws unless `cwd` is the absolute path of an existing folder. Resolves no links. */
export async function checkFolder(cwd: string): Promise<string> {
	// The path may be absolute only on another operating system.
	const found = isAbsolute(cwd) ? await stat(cwd).catch(() => undefined) : undefined;
	if (!found?.isDirectory()) {
		throw notFound(`cwd: there is no folder "${cwd}" on the server`);
	}
	return resolve(cwd);
}

export type PathField = "sessionPath" | "parentSession";

export function noSuchFile(path: string, field: PathField): CommandError {
	return notFound(`${field}: there is no file "${path}"`);
}

/** The error names only the file, because the client may not know the folder. */
export async function checkProject(cwd: string, sessionPath: string): Promise<string> {
	return checkFolder(cwd).catch(() => {
		throw notFound(`sessionPath: the project folder of "${sessionPath}" does not exist`);
	});
}

/** Follows links. Outside `places`, the error is the same whether a file exists or not. */
export async function checkSessionFile(path: string, field: PathField, places: SessionPlaces) {
	if (!isAbsolute(path)) throw noSuchFile(path, field); // absolute only on another operating system
	const real = await realpath(path).catch(() => undefined);
	const folders = await realRoots(places);
	const isInside = (file: string) => folders.some((folder) => isWithin(folder, file));
	if (!real && isInside(resolve(path))) throw noSuchFile(path, field);
	if (!real || !isInside(real)) {
		const message = `${field}: "${path}" is not in a sessions folder of the server`;
		throw new CommandError("forbidden", message);
	}
	const head = await readStored(real, HEAD_BYTES);
	if (head) return head;
	const isEmpty = (await stat(real)).size === 0;
	const why = isEmpty ? "is empty (0 bytes): its content is lost" : "is not a session of pi";
	throw notFound(`${field}: "${path}" ${why}`);
}

/** Session files that decide whose a file is. */
export interface Lineage {
	/** The file itself, if it has a header, and the sessions whose folders it is in: the nearest first. */
	readonly sessions: readonly (FileHeader & { readonly path: string })[];
	/** The last of them is where pi keeps sessions, and not a sub-agent of a session that is gone. */
	readonly isComplete: boolean;
}

/** A sub-agent's files are in a folder with the name of its session: `a/run/b.jsonl` is of `a.jsonl`. */
export async function lineageOf(
	{ path, head }: { readonly path: string; readonly head?: StoredSession | undefined },
	roots: readonly string[],
): Promise<Lineage> {
	const [shared] = roots;
	const above = roots.filter((folder) => isWithin(folder, path));
	const root = above.toSorted((a, b) => b.length - a.length)[0];
	const sessions: StoredSession[] = head ? [head] : [];
	if (root === undefined) return { sessions, isComplete: false };
	for (let folder = dirname(path); isWithin(root, folder); folder = dirname(folder)) {
		const session = await readStored(`${folder}.jsonl`, HEAD_BYTES).catch(() => undefined);
		if (session) sessions.push(session);
	}
	const last = sessions.at(-1);
	const folder = last && dirname(last.path);
	// The agent's own folder has a folder for each project.
	const isProject = root === shared && folder !== undefined && dirname(folder) === root;
	return { sessions, isComplete: folder === root || isProject };
}

/** The head of a session file, and its real path. The head is missing if pi did not write the file. */
export async function readHead(path: string) {
	const real = await realOrGiven(path);
	return { path: real, head: await readStored(real, HEAD_BYTES) };
}

/** Lists the newest first. `filter` gets sessions of which only the head was read. */
export async function listStoredSessions(
	folders: readonly string[],
	limit: number,
	filter: (files: readonly StoredSession[]) => Promise<readonly StoredSession[]>,
): Promise<{ sessions: StoredSession[]; truncated: boolean }> {
	const files = await sessionFilesIn(await Promise.all(folders.map(realOrGiven)), 2);
	files.sort((a, b) => b.modifiedMs - a.modifiedMs);
	const sessions: StoredSession[] = [];
	let bytesLeft = MAX_LISTING_BYTES;
	let at = 0;
	for (; at < Math.min(files.length, MAX_HEADS) && sessions.length < limit; at += limit) {
		const heads: StoredSession[] = [];
		for (const { path } of files.slice(at, at + limit)) {
			const head = await readStored(path, HEAD_BYTES).catch(() => undefined);
			if (head) heads.push(head);
		}
		for (const head of await filter(heads)) {
			const isCut = head.bytes > HEAD_BYTES && bytesLeft > HEAD_BYTES;
			const stored = isCut ? await readStored(head.path, bytesLeft).catch(() => undefined) : head;
			bytesLeft -= head.bytes;
			if (stored) sessions.push(stored);
		}
	}
	return {
		sessions: sessions.slice(0, limit),
		truncated: files.length > at || sessions.length > limit,
	};
}

const HEAD_BYTES = 64 * 1024;
const MAX_HEADS = 2_000;
/** Maximum bytes read per listing. After that, only the head of each file is read. */
const MAX_LISTING_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 20_000;
const MAX_FIRST_MESSAGE = 200;

/** The agent's own folder first. */
export async function realRoots(places: SessionPlaces): Promise<string[]> {
	const roots = await Promise.all(sessionRoots(places).map(realOrGiven));
	return [...roots, ...(await demoFolders(places.agentDir))];
}

/** The session folders of the projects of demos that run in terminals of this user. */
export async function demoFolders(agentDir: string): Promise<string[]> {
	const found = (await runningDemos(agentDir)).map(async (demo) => {
		const sessions = join(demo, "sessions");
		const names = await readdir(sessions).catch(() => []);
		return names.map((name) => join(sessions, name));
	});
	return (await Promise.all(found)).flat();
}

function sessionRoots({ agentDir, cwd }: SessionPlaces): string[] {
	const roots = [join(agentDir, "sessions")];
	const { root } = parse(resolve(cwd));
	for (let at = resolve(cwd); ; at = dirname(at)) {
		roots.push(join(at, CONFIG_DIR_NAME, "sessions"));
		if (at === root) return roots;
	}
}

/** The native `realpath`, as for files. The JavaScript one keeps short names (Windows) and case (macOS). */
async function realOrGiven(path: string): Promise<string> {
	return realpath(path).catch(() => path);
}

async function sessionFilesIn(folders: readonly string[], depth: number) {
	const found: { path: string; modifiedMs: number }[] = [];
	for (const folder of folders) await collect(folder, depth);
	return found;

	async function collect(at: string, levels: number): Promise<void> {
		const entries = await readdir(at, { withFileTypes: true }).catch((error) => {
			if (errnoOf(error) !== undefined) return []; // a missing or unreadable folder counts as empty
			throw error;
		});
		for (const entry of entries) {
			if (found.length >= MAX_FILES) return;
			const path = join(at, entry.name);
			if (entry.isDirectory() && levels > 1) await collect(path, levels - 1);
			if (!entry.isFile() || !entry.name.endsWith(".jsonl")) continue;
			const file = await stat(path).catch(() => undefined);
			if (file) found.push({ path, modifiedMs: file.mtimeMs });
		}
	}
}

/** Reads up to `maxBytes` and counts messages without parsing them. `path` must be a real path. */
async function readStored(path: string, maxBytes: number) {
	// Non-blocking: opening a pipe would wait for a writer.
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		const { mtimeMs, size, birthtimeMs } = await file.stat();
		if (size === 0) return undefined;
		const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(maxBytes, size)), 0);
		const lines = buffer.toString("utf8", 0, bytesRead).split("\n");
		const header = parseJson(lines[0]);
		const id = property(header, "id");
		const cwd = property(header, "cwd");
		if (property(header, "type") !== "session") return undefined;
		if (typeof id !== "string" || typeof cwd !== "string") return undefined;
		const parentSession = property(header, "parentSession");
		const name = property(parseJson(lines.findLast(hasType("session_info"))), "name");
		const firstMessage = firstMessageIn(lines);
		const complete = bytesRead === size ? lines : lines.slice(0, -1);
		const damagedLines = complete.filter(isDamaged).length;
		const createdMs = Date.parse(String(property(header, "timestamp"))) || birthtimeMs;
		const view: Data<"StoredSession"> = {
			piSessionId: id,
			sessionPath: path,
			...(typeof name === "string" && name && { sessionName: name }),
			cwd,
			createdAt: new Date(createdMs).toISOString(),
			modifiedAt: new Date(mtimeMs).toISOString(),
			messageCount: lines.filter(hasType("message")).length,
			...(firstMessage && { firstMessage }),
			...(damagedLines > 0 && { damagedLines }),
			fileExists: true,
		};
		const parent = typeof parentSession === "string" && { parentSession };
		return { path, id, cwd, ...parent, bytes: size, view };
	} finally {
		await file.close();
	}
}

/** Pi writes `type` first, so no parsing is needed. */
function hasType(type: string): (line: string) => boolean {
	const beginning = `{"type":"${type}",`;
	return (line) => line.startsWith(beginning);
}

function isDamaged(line: string): boolean {
	const text = line.trim();
	return text !== "" && !(text.startsWith("{") && text.endsWith("}"));
}

function firstMessageIn(lines: readonly string[]): string | undefined {
	for (const line of lines.filter(hasType("message"))) {
		const message = property(parseJson(line), "message");
		if (property(message, "role") !== "user") continue;
		const content = property(message, "content");
		const parts = Array.isArray(content)
			? content.map((part) => property(part, "text"))
			: [content];
		const text = parts.filter((part) => typeof part === "string").join(" ");
		return collapsed(text).slice(0, MAX_FIRST_MESSAGE);
	}
	return undefined;
}

/** Returns `undefined` for text that is not JSON, such as a line cut off by a limit. */
export function parseJson(text: string | undefined): unknown {
	try {
		return text ? JSON.parse(text) : undefined;
	} catch {
		return undefined;
	}
}
