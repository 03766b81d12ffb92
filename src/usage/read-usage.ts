import { readSessions } from "../importers/index.ts";
import { type FileUsage, usageOf } from "./file-usage.ts";

/** Throws if the file is no session. */
export async function readUsage(file: string): Promise<FileUsage> {
	return usageOf(await readSessions(file, { detail: "bills" }));
}
