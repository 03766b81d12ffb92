import { basename } from "node:path";
import { hashBytes } from "../../core/hash.ts";
import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { type Journal, JournalUnavailable, type SessionRecord } from "../journal/journal.ts";
import type { PiProcesses } from "./open-session-file.ts";
import {
	checkSessionFile,
	listStoredSessions,
	noSuchFile,
	type PathField,
	type SessionPlaces,
	type StoredSession,
} from "./session-files.ts";
import type { Slot } from "./slot.ts";
import type { Slots } from "./slots.ts";
import { parseSettings } from "./stored-settings.ts";

const MAX_LISTED = 200;

export type StoredFiles = ReturnType<typeof createStoredFiles>;

/** Session files as a principal sees them: those of others do not exist. */
export function createStoredFiles(
	places: SessionPlaces,
	slots: Pick<Slots, "openFiles">,
	owners: Pick<FileOwners, "of">,
	piProcesses: PiProcesses,
) {
	/** Open: visible to the session's principal only. Closed: to the owner, or to all without one. */
	function visible(files: readonly StoredSession[], principal: string): StoredSession[] {
		const open = slots.openFiles();
		const ofFiles = owners.of(files);
		return files.filter(({ path }, index) => {
			const owner = open.get(path)?.principal ?? ofFiles[index];
			return owner === undefined || owner === principal;
		});
	}

	return {
		async find(path: string, principal: string, field: PathField = "sessionPath") {
			const file = await checkSessionFile(path, field, places);
			if (visible([file], principal).length === 0) throw noSuchFile(path, field);
			return file;
		},
		/** Fails like a missing file if another principal owns it by now. */
		check(file: StoredSession, principal: string, path: string) {
			if (visible([file], principal).length === 0) throw noSuchFile(path, "sessionPath");
		},
		async list(folder: string, principal: string) {
			const { sessions, truncated } = await listStoredSessions(folder, MAX_LISTED, (files) =>
				visible(files, principal),
			);
			const inPi = await piProcesses();
			const open = slots.openFiles();
			const files = sessions.map(({ path, view }) => {
				const piProcess = inPi.get(path);
				return { ...listed(view, open.get(path)), ...(piProcess !== undefined && { piProcess }) };
			});
			return { files, ...(truncated && { truncated }) };
		},
	};
}

function listed(view: Data<"StoredSession">, slot: Slot | undefined): Data<"StoredSession"> {
	if (!slot) return view;
	const { sessionName = view.sessionName, messageCount } = slot.info();
	const { sessionId } = slot;
	return { ...view, sessionId, ...(sessionName && { sessionName }), messageCount };
}

/** From the file's first line; survives a move or copy. */
export type FileHeader = Pick<StoredSession, "id" | "cwd" | "parentSession">;

export type FileOwners = ReturnType<typeof createFileOwners>;

export type OwnersJournal = Pick<Journal, "own" | "disown" | "owners">;

/** The first principal to open a file owns it for good; without an owner it is open to all. */
export function createFileOwners(journal: OwnersJournal) {
	// The journal keeps unwritten records in memory and reports failures.
	const own = (principal: string, header: FileHeader): void =>
		void journal.own({ principal, conversation: conversationOf(header) }).catch(() => {});

	return {
		/** No effect if the file has an owner. It need not exist yet. */
		own,
		/** The file was never written. */
		disown: (principal: string, header: FileHeader): void =>
			void journal.disown({ principal, conversation: conversationOf(header) }).catch(() => {}),
		/** Includes files from before owners were stored. */
		ownAll(records: readonly SessionRecord[]) {
			for (const { principal, file, cwd, settings } of records) {
				const { piSessionId: id } = parseSettings(settings);
				if (file !== undefined && id !== undefined) own(principal, { id, cwd });
			}
		},
		/** In order. Throws a {@link CommandError} when the journal is unreadable. */
		of(files: readonly FileHeader[]) {
			const names = files.map((file) => ({ own: conversationOf(file), parent: parentOf(file) }));
			const all = names.flatMap(({ own, parent }) => [own, ...(parent ? [parent] : [])]);
			const owners = ownersOf(journal, all);
			return names.map(({ own, parent }) => owners.get(own) ?? owners.get(parent ?? ""));
		},
	};
}

function ownersOf(journal: OwnersJournal, conversations: string[]): ReadonlyMap<string, string> {
	try {
		return journal.owners(conversations);
	} catch (error) {
		if (!(error instanceof JournalUnavailable)) throw error;
		throw new CommandError(error.code, error.message, { cause: error });
	}
}

/** Pi's ids are unique per project only. A hash bounds the length. */
function conversationOf({ id, cwd }: FileHeader): string {
	return hashBytes(JSON.stringify([id, cwd]));
}

/** An unreported fork belongs to its parent's owner. Pi's file names end in the id. */
function parentOf({ parentSession, cwd }: FileHeader): string | undefined {
	const [, id] = /_(.+)\.jsonl$/.exec(basename(parentSession ?? "")) ?? [];
	return id && conversationOf({ id, cwd });
}
