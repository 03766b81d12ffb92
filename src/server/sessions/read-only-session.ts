import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isRecord } from "../../core/property.ts";
import type { Data } from "../../protocol/index.ts";

/** Maximum bytes of a file that are read. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The entries of a session file, without opening a session: nothing is written, and no folder or model is needed. */
export async function readEntries({ path, bytes }: { path: string; bytes: number }) {
	const truncated = bytes > MAX_BYTES;
	const entries: Data<"SessionEntry">[] = [];
	const lines = createInterface({
		input: createReadStream(path, { encoding: "utf8", end: MAX_BYTES - 1 }),
		crlfDelay: Number.POSITIVE_INFINITY,
	});
	let skipped = 0;
	for await (const line of lines) {
		if (line.trim() === "") continue;
		const entry = parsed(line);
		if (!entry) skipped++;
		else if (entry.type !== "session") entries.push(entry);
	}
	return { entries, leafId: entries.at(-1)?.id ?? null, skipped, truncated };
}

/** Undefined for a damaged line. Entries of old versions without ids are of no use to a reader. */
function parsed(line: string): Data<"SessionEntry"> | undefined {
	try {
		const value: unknown = JSON.parse(line);
		if (!isRecord(value) || typeof value.type !== "string") return undefined;
		if (value.type !== "session" && typeof value.id !== "string") return undefined;
		const parentId = typeof value.parentId === "string" ? value.parentId : null;
		const timestamp = typeof value.timestamp === "string" ? value.timestamp : "";
		return { ...value, parentId, timestamp } as Data<"SessionEntry">;
	} catch {
		return undefined;
	}
}
