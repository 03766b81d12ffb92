import { rmSync, statSync } from "node:fs";
import { type SessionEntry, SessionManager } from "@earendil-works/pi-coding-agent";
import type { GarbledLine } from "../../core/session-file-watch.ts";
import { counted } from "../../text/figures.ts";
import { CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";
import type { PiOptions } from "./pi-runtime.ts";
import { lastEntryOf, moveTo } from "./session-file.ts";
import { sessionFolder } from "./stored-sessions.ts";
import type { StoredSettings } from "./stored-settings.ts";

export interface SessionFileOptions {
	readonly pi: Pick<PiOptions, "agentDir">;
	readonly cwd: string;
	/** Pi's session file. If absent, the id in `settings` is used to find or create it. */
	readonly file?: string;
	readonly settings: StoredSettings;
	/** Whether the server or this session ended uncleanly last time. The file may then be newer than the record. */
	readonly afterCrash?: boolean;
}

/** The session continues at the returned `leaf`; without one, after the last entry. */
export function openSessionFile(options: SessionFileOptions) {
	const { pi, cwd, file, settings, afterCrash = false } = options;
	const folder = sessionFolder(pi.agentDir, cwd);
	const { piSessionId: id } = settings;
	// Searches by id, because a crashed process may have written the file but not the record.
	const found = file ?? (id && SessionManager.findById(cwd, id, folder));
	if (!found) return { manager: SessionManager.create(cwd, folder, { ...(id && { id }) }) };
	const manager = openNonEmpty(found, folder, options);
	const { leaf, warning } = resumePoint(manager.getEntries(), settings, afterCrash);
	const afterEntry = lastEntryOf(manager);
	if (leaf !== undefined) moveTo(manager, leaf);
	return {
		manager,
		...(leaf !== undefined && afterEntry && { leaf: { id: leaf, afterEntry } }),
		...(warning && { warning }),
	};
}

/** Refuses an empty file, because pi would silently start a new session in it. */
function openNonEmpty(file: string, folder: string, options: SessionFileOptions): SessionManager {
	try {
		if (statSync(file).size === 0) throw new Error("The file of the session is empty (0 bytes)");
		return SessionManager.open(file, folder, options.cwd);
	} catch (error) {
		if (error instanceof Error && "syscall" in error) {
			const message = `The server cannot open the session's file now (${safeText(error)}): try again later`;
			throw new CommandError("wrong_state", message, { cause: error });
		}
		const { messageCount } = options.settings;
		const lost = messageCount ? `Its ${messageCount} messages` : "Its content";
		throw new CommandError(
			"wrong_state",
			`${safeText(error)}. ${lost} cannot be read: restore the file, or delete the session`,
			{ cause: error },
		);
	}
}

/** `leaf` is `null` before the first entry, absent after the last, and never in another program's branch. */
export function resumePoint(
	entries: readonly SessionEntry[],
	{ leaf, lastEntry, lastInFile }: Pick<StoredSettings, "leaf" | "lastEntry" | "lastInFile">,
	afterCrash: boolean,
): { readonly leaf?: string | null; readonly warning?: string } {
	const last = entries.at(-1)?.id;
	const recorded = lastEntry ?? leaf?.afterEntry;
	const moved = leaf && leaf.afterEntry === recorded ? leaf.id : undefined;
	const ids = new Set(entries.map(({ id }) => id));
	const own = typeof moved === "string" && !ids.has(moved) ? undefined : moved;
	if (last === recorded) return own === undefined ? {} : { leaf: own };
	if (lastEntry === undefined) return {};
	if (!ids.has(lastEntry)) {
		const lost = `The session's file lacks the last entry that this server wrote to it (${lastEntry}). The latest messages may be missing.`;
		if (lastInFile === undefined || !ids.has(lastInFile)) return { warning: lost };
		const earlier = { ...(leaf && { leaf }), lastEntry: lastInFile };
		const place = resumePoint(entries, earlier, afterCrash);
		return { ...place, warning: [lost, place.warning].filter(Boolean).join(" ") };
	}
	const place = own === undefined ? lastEntry : own;
	const added = entries.slice(entries.findIndex(({ id }) => id === lastEntry) + 1);
	const count = counted(added.length, "entry", "entries");
	const growth = `Another program has added ${count} to the session's file since this server had it open`;
	if (continues(added, place)) {
		return afterCrash ? {} : { warning: `${growth}. The session continues from there.` };
	}
	return {
		leaf: place,
		warning: `${growth}, in another branch. The session stays in its own branch; get_tree shows both.`,
	};
}

function continues(added: readonly SessionEntry[], place: string | null): boolean {
	let above = added.at(-1)?.parentId;
	for (const { id, parentId } of added.toReversed()) if (id === above) above = parentId;
	return above === place;
}

/** Returns `undefined` without damage. Pi skips unreadable lines, which hides the entries before them. */
export function describeDamage(garbled: readonly GarbledLine[], manager: SessionManager) {
	const lines = garbledText(garbled);
	const hidden = hiddenBefore(manager);
	if (!lines && !hidden) return undefined;
	return [
		lines ?? "The session's file lacks entries.",
		hidden ?? "No other entries are hidden.",
		"The server removes nothing from the file.",
	].join(" ");
}

const MAX_NAMED = 3;

function garbledText(garbled: readonly GarbledLine[]): string | undefined {
	if (garbled.length === 0) return undefined;
	const named = garbled
		.slice(0, MAX_NAMED)
		.map(({ number, from, to }) => `line ${number} (bytes ${from} to ${to})`);
	const more = garbled.length - named.length;
	const which = `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
	return `The session's file is damaged: ${which} cannot be read and ${garbled.length === 1 ? "is" : "are"} lost.`;
}

function hiddenBefore(manager: SessionManager): string | undefined {
	const [first] = manager.getBranch();
	if (!first?.parentId) return undefined; // not damage: other programs may leave out `parentId`
	const entries = manager.getEntries();
	const before = entries.slice(0, entries.indexOf(first));
	const messages = before.filter(({ type }) => type === "message").length;
	const last = before.at(-1);
	const missing = `The parent ${first.parentId} of entry ${first.id} is missing`;
	if (!last) return `${missing}; there are no entries before it in the file.`;
	const hidden = `${counted(before.length, "entry", "entries")}, including ${counted(messages, "message")}`;
	return `${missing}, so everything before it is hidden: ${hidden}. get_tree shows them, and navigate_tree to ${last.id} returns to them.`;
}

export type SessionFork = ReturnType<typeof forkSession>;

/** Ids of running pi processes, keyed by the real paths of their open session files. */
export type PiProcesses = () => Promise<ReadonlyMap<string, number>>;

/** Copies a session file that a running pi has open. */
export function forkSession(
	forkedFrom: string,
	{ pid, cwd, agentDir }: { pid: number; cwd: string; agentDir: string },
) {
	const copy = SessionManager.forkFrom(forkedFrom, cwd, sessionFolder(agentDir, cwd));
	const file = copy.getSessionFile();
	if (file === undefined) throw new Error("the copy of the session has no file");
	const warning = `This session is open in pi (process ${pid}). Here you work on a copy. Changes in one do not appear in the other.`;
	return { file, about: { forkedFrom, warning }, discard: () => rmSync(file, { force: true }) };
}
