import { basename } from "node:path";
import { hashBytes } from "../../core/hash.ts";
import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { type Journal, JournalUnavailable, type SessionRecord } from "../journal/journal.ts";
import type { HeldSession } from "./held-session.ts";
import type { PiProcesses } from "./open-session-file.ts";
import type { SessionTable } from "./session-table.ts";
import {
	checkSessionFile,
	listStoredSessions,
	noSuchFile,
	type PathField,
	type SessionPlaces,
	type StoredSession,
} from "./stored-sessions.ts";
import { parseSettings } from "./stored-settings.ts";

const MAX_LISTED = 200;

export type VisibleFiles = ReturnType<typeof createVisibleFiles>;

/** Session files as a principal sees them: files of other principals seem not to exist. */
export function createVisibleFiles(
	places: SessionPlaces,
	table: Pick<SessionTable, "openFiles">,
	owners: Pick<FileOwners, "ownersOf">,
	piProcesses: PiProcesses,
) {
	/** Visible: an open file to its session's principal, a closed one to its owner, an unowned one to all. */
	function visible(files: readonly StoredSession[], principal: string): StoredSession[] {
		const open = table.openFiles();
		const ownersByFile = owners.ownersOf(files);
		return files.filter(({ path }, index) => {
			const owner = open.get(path)?.principal ?? ownersByFile[index];
			return owner === undefined || owner === principal;
		});
	}

	return {
		/** Follows links. Rejects if the file is not visible to the principal. */
		async resolve(path: string, principal: string, field: PathField = "sessionPath") {
			const file = await checkSessionFile(path, field, places);
			if (visible([file], principal).length === 0) throw noSuchFile(path, field);
			return file;
		},
		/** Throws the error for a missing file if another principal has become the owner. */
		assertVisible(file: StoredSession, principal: string, path: string) {
			if (visible([file], principal).length === 0) throw noSuchFile(path, "sessionPath");
		},
		async list(folder: string, principal: string) {
			const { sessions, truncated } = await listStoredSessions(folder, MAX_LISTED, (files) =>
				visible(files, principal),
			);
			const inPi = await piProcesses();
			const open = table.openFiles();
			const files = sessions.map(({ path, view }) => {
				const piProcess = inPi.get(path);
				return { ...listed(view, open.get(path)), ...(piProcess !== undefined && { piProcess }) };
			});
			return { files, ...(truncated && { truncated }) };
		},
	};
}

function listed(view: Data<"StoredSession">, held: HeldSession | undefined): Data<"StoredSession"> {
	if (!held) return view;
	const { sessionName = view.sessionName, messageCount } = held.info();
	return { ...view, sessionId: held.sessionId, ...(sessionName && { sessionName }), messageCount };
}

/** Identifies a conversation. The header is the file's first line, so it survives a move or copy. */
export type FileHeader = Pick<StoredSession, "id" | "cwd" | "parentSession">;

export type FileOwners = ReturnType<typeof createFileOwners>;

export type OwnersJournal = Pick<Journal, "own" | "disown" | "owners">;

/** The first principal to open a file owns it permanently. A file without an owner is open to all. */
export function createFileOwners(journal: OwnersJournal) {
	// Errors are ignored: the journal keeps unwritten records in memory and reports failures.
	const own = (principal: string, header: FileHeader): void =>
		void journal.own({ principal, conversation: conversationOf(header) }).catch(() => {});

	return {
		/** No effect if the file has an owner. The file need not exist yet. */
		own,
		/** Only for a file that was never written. */
		disown: (principal: string, header: FileHeader): void =>
			void journal.disown({ principal, conversation: conversationOf(header) }).catch(() => {}),
		/** Sets the owners of recovered files. Some were opened before owners were stored. */
		ownRecovered(records: readonly SessionRecord[]) {
			for (const { principal, file, cwd, settings } of records) {
				const { piSessionId: id } = parseSettings(settings);
				if (file !== undefined && id !== undefined) own(principal, { id, cwd });
			}
		},
		/** Returns owners in the order of `files`. Throws a {@link CommandError} if the journal is unreadable. */
		ownersOf(files: readonly FileHeader[]) {
			const names = files.map((file) => ({ own: conversationOf(file), parent: parentOf(file) }));
			const all = names.flatMap(({ own, parent }) => [own, ...(parent ? [parent] : [])]);
			const owners = readOwners(journal, all);
			return names.map(({ own, parent }) => owners.get(own) ?? owners.get(parent ?? ""));
		},
	};
}

function readOwners(journal: OwnersJournal, conversations: string[]): ReadonlyMap<string, string> {
	try {
		return journal.owners(conversations);
	} catch (error) {
		if (!(error instanceof JournalUnavailable)) throw error;
		throw new CommandError(error.code, error.message, { cause: error });
	}
}

/** Includes `cwd`, because pi's ids are unique only within a project. Hashing bounds the key's length. */
function conversationOf({ id, cwd }: FileHeader): string {
	return hashBytes(JSON.stringify([id, cwd]));
}

/** The parent's owner owns a fork that has no owner. Pi's file names end in the id. */
function parentOf({ parentSession, cwd }: FileHeader): string | undefined {
	const [, id] = /_(.+)\.jsonl$/.exec(basename(parentSession ?? "")) ?? [];
	return id && conversationOf({ id, cwd });
}
