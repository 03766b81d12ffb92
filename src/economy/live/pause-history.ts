import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { property } from "../../core/property.ts";
import type { CacheRules } from "../rules.ts";
import { addPauses, type Pauses, pauseOf } from "../ttl-rule.ts";

/** Bounds of what is read: the ends of the newest session files. */
const MAX_FILES = 12;
const MAX_FILE_BYTES = 384 * 1024;

const NO_PAUSES: Pauses = { requests: 0, between: 0 };

/** The pauses in a folder's session files, apart from the file `own`. Never throws. */
export async function readPauses(
	folder: string,
	own: string | undefined,
	rules: Pick<CacheRules, "ttlMs">,
): Promise<Pauses> {
	let pauses = NO_PAUSES;
	for (const file of await newestFiles(folder, own)) {
		const text = await endOf(file).catch(() => "");
		pauses = addPauses(pauses, pausesIn(text, rules));
	}
	return pauses;
}

async function newestFiles(folder: string, own: string | undefined): Promise<string[]> {
	const names = await readdir(folder).catch(() => []);
	const files = names.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
	// Names begin with the time at which a session started.
	const newest = files
		.filter((file) => file !== own)
		.sort()
		.slice(-2 * MAX_FILES);
	const dated = await Promise.all(
		newest.map(async (file) => ({ file, ms: await modifiedMs(file) })),
	);
	return dated
		.sort((a, b) => b.ms - a.ms)
		.slice(0, MAX_FILES)
		.map(({ file }) => file);
}

async function modifiedMs(file: string): Promise<number> {
	return (await stat(file).catch(() => undefined))?.mtimeMs ?? 0;
}

async function endOf(path: string): Promise<string> {
	const file = await open(path, "r");
	try {
		const { size } = await file.stat();
		const length = Math.min(size, MAX_FILE_BYTES);
		const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
		return buffer.toString("utf8", 0, bytesRead);
	} finally {
		await file.close();
	}
}

/** The pauses between the answers in lines of a session file. Lines that are cut off do not count. */
export function pausesIn(lines: string, rules: Pick<CacheRules, "ttlMs">): Pauses {
	let pauses = NO_PAUSES;
	let beforeMs: number | undefined;
	for (const line of lines.split("\n")) {
		const atMs = line.includes('"role":"assistant"') ? startOf(line) : undefined;
		if (atMs === undefined) continue;
		if (beforeMs !== undefined) pauses = addPauses(pauses, pauseOf(atMs - beforeMs, rules));
		beforeMs = atMs;
	}
	return pauses;
}

/** When the request of an answer was sent. */
function startOf(line: string): number | undefined {
	try {
		const message = property(JSON.parse(line), "message");
		const atMs = property(message, "timestamp");
		const isAnswer = property(message, "role") === "assistant";
		return isAnswer && typeof atMs === "number" ? atMs : undefined;
	} catch {
		return undefined;
	}
}
