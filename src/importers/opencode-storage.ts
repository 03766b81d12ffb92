import { readdirSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isRecord, property } from "../core/property.ts";
import type { JsonValue } from "./json-values.ts";

/** Whether a document is a session of the older opencode, whose messages are in other files. */
export function isStoredSession(value: unknown): value is Record<string, unknown> {
	const id = property(value, "id");
	return typeof id === "string" && /^ses_\w+$/.test(id) && isRecord(property(value, "time"));
}

/** The files with the messages of `storage/session/<project>/<id>.json`; none for another file. */
export function storedMessages(file: string): string[] {
	const projects = dirname(dirname(file));
	const [, id] = /^(ses_\w+)\.json$/.exec(basename(file)) ?? [];
	if (id === undefined || basename(projects) !== "session") return [];
	const folder = join(dirname(projects), "message", id);
	try {
		return readdirSync(folder).map((name) => join(folder, name));
	} catch {
		return []; // no message yet
	}
}

/** The lines of an export, from `storage/session/<project>/<id>.json` and the files beside. */
export async function* readStoredSession(
	file: string,
	session: Record<string, unknown>,
	maxFileBytes: number,
): AsyncGenerator<JsonValue> {
	yield { value: { info: session } };
	const storage = dirname(dirname(dirname(file)));
	const messages = join(storage, "message", String(session.id));
	for await (const message of documentsIn(messages, maxFileBytes)) {
		if (typeof message === "string") yield message;
		else {
			const id = property(message.value, "id");
			if (typeof id !== "string" || !/^\w+$/.test(id)) yield "damaged";
			else {
				const parts: unknown[] = [];
				for await (const part of documentsIn(join(storage, "part", id), maxFileBytes)) {
					if (typeof part === "string") yield part;
					else parts.push(part.value);
				}
				yield { value: { info: message.value, parts } };
			}
		}
	}
}

/** In order of their names, which are in order of time. A missing folder is empty. */
async function* documentsIn(folder: string, maxFileBytes: number): AsyncGenerator<JsonValue> {
	const names = await readdir(folder).catch((): string[] => []); // a message may have no parts
	for (const name of names.filter((one) => one.endsWith(".json")).sort()) {
		const file = join(folder, name);
		try {
			const stats = await stat(file);
			if (!stats.isFile()) yield "damaged";
			else if (stats.size > maxFileBytes) yield "tooLong";
			else yield { value: JSON.parse(await readFile(file, "utf8")) };
		} catch {
			yield "damaged"; // the caller counts it
		}
	}
}
