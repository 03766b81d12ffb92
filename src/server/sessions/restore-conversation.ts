import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ConversationStore, SessionRecord } from "../journal/journal.ts";
import { replaceFile } from "./session-file.ts";
import { parseJson, sessionFolder } from "./stored-sessions.ts";
import { parseSettings } from "./stored-settings.ts";

/** The first `count` entries of pi's session `id` are in the journal. */
export interface RestoredConversation {
	readonly id: string;
	readonly count: number;
}

interface RestoreOptions {
	readonly store: ConversationStore;
	readonly agentDir: string;
	/** Files that a pi in a terminal has open, with its process. */
	readonly openInPi?: ReadonlyMap<string, number>;
	/**
	 * No other server had the session since this one wrote its file. The file may then have more than the journal:
	 * what pi wrote right before a crash, or what a pi in a terminal added.
	 */
	readonly isOwn?: boolean;
}

interface Restored {
	/** With the file's place on this machine. */
	readonly record: SessionRecord;
	readonly restored?: RestoredConversation;
	/** The file was missing, or lacked entries. */
	readonly isRewritten?: boolean;
}

/**
 * Writes pi's file from the journal, unless it has all of the journal's entries. A file with other content is
 * set aside, never merged; one that a pi in a terminal has open stays, and a new one is written beside it.
 */
export async function restoreConversation(
	record: SessionRecord,
	{ store, agentDir, openInPi, isOwn = false }: RestoreOptions,
): Promise<Restored> {
	const { piSessionId } = parseSettings(record.settings);
	if (piSessionId === undefined) return { record: isOwn ? record : withoutFile(record) };
	const name = { principal: record.principal, sessionId: record.id };
	const entries = await store.entries(name, piSessionId);
	if (entries.length === 0) {
		const isHere = record.file !== undefined && existsSync(record.file);
		return { record: isOwn || isHere ? record : withoutFile(record) };
	}
	const restored = { id: piSessionId, count: entries.length };
	const place = sessionFolder(agentDir, record.cwd);
	const folder = isOwn && record.file !== undefined ? dirname(record.file) : place;
	let file = join(folder, fileName(record, entries[0], piSessionId));
	const content = entries.map((entry) => `${entry}\n`).join("");
	const before = existsSync(file) ? readFileSync(file, "utf8") : undefined;
	if (before === content) return { record: { ...record, file }, restored };
	if (isOwn && before !== undefined && hasAll(before, entries)) {
		return { record: { ...record, file }, restored };
	}
	mkdirSync(folder, { recursive: true });
	if (before !== undefined && openInPi?.has(realpathSync(file))) {
		file = unused((number) => file.replace(/(\.jsonl)?$/, `-${number}.jsonl`));
	} else if (before !== undefined && !content.startsWith(before)) {
		renameSync(
			file,
			unused((number) => `${file}.old-${number}`),
		);
	}
	replaceFile(file, content, 0o600);
	return { record: { ...record, file }, restored, isRewritten: true };
}

/** Whether the file begins with these entries, however its lines are written. Unreadable lines do not count. */
function hasAll(content: string, entries: readonly string[]): boolean {
	if (content.startsWith(entries.map((entry) => `${entry}\n`).join(""))) return true;
	const own = content
		.split("\n")
		.map(parseJson)
		.filter((entry) => entry !== undefined);
	return entries.every((entry, n) => JSON.stringify(own[n]) === entry);
}

function withoutFile({ file: _, ...record }: SessionRecord): SessionRecord {
	return record;
}

/** As pi names it: by the time in the header and the id. */
function fileName({ file }: SessionRecord, header: string | undefined, id: string): string {
	if (file !== undefined) return basename(file);
	const { timestamp = "" } = (parseJson(header) ?? {}) as { timestamp?: string };
	return `${timestamp.replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
}

function unused(pathOf: (number: number) => string): string {
	for (let number = 1; ; number++) {
		const path = pathOf(number);
		if (!existsSync(path)) return path;
	}
}
