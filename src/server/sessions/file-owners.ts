import { basename } from "node:path";
import { hashBytes } from "../../core/hash.ts";
import { CommandError } from "../engine/call.ts";
import { type Journal, JournalUnavailable, type SessionRecord } from "../journal/journal.ts";
import type { SessionFile } from "./session-files.ts";
import { parseSettings } from "./stored-settings.ts";

/** What a session file says of itself in its first line; it stays when the file is moved or copied. */
export type FileHeader = Pick<SessionFile, "id" | "cwd" | "parentSession">;

/** Whose session files are: those of whoever had them open first, for good; the others are everybody's. */
export interface FileOwners {
	/** The file of this header is the principal's, unless it is somebody's. It need not be written yet. */
	own(principal: string, header: FileHeader): void;
	/** There is no such file after all. */
	disown(principal: string, header: FileHeader): void;
	/** Sessions that have a file own it, also those from before owners were remembered. */
	ownAll(records: readonly SessionRecord[]): void;
	/**
	 * The owner of each file, in order; `undefined` for one that is everybody's. Throws a {@link CommandError} when nobody
	 * can tell.
	 */
	of(files: readonly FileHeader[]): (string | undefined)[];
}

/** What remembers them. */
export type OwnersJournal = Pick<Journal, "own" | "disown" | "owners">;

export function createFileOwners(journal: OwnersJournal): FileOwners {
	function own(principal: string, header: FileHeader): void {
		const conversation = conversationOf(header);
		journal.own({ principal, conversation }).catch(ignore);
	}

	return {
		own,
		disown(principal, header) {
			const conversation = conversationOf(header);
			journal.disown({ principal, conversation }).catch(ignore);
		},
		ownAll(records) {
			for (const { principal, file, cwd, settings } of records) {
				const { piSessionId: id } = parseSettings(settings);
				if (file !== undefined && id !== undefined) own(principal, { id, cwd });
			}
		},
		of(files) {
			const names = files.map((file) => ({ own: conversationOf(file), parent: parentOf(file) }));
			const all = names.flatMap(({ own, parent }) => [own, ...(parent ? [parent] : [])]);
			const owners = ownersOf(journal, all);
			return names.map(({ own, parent }) => owners.get(own) ?? owners.get(parent ?? ""));
		},
	};
}

/** The journal keeps in mind what it could not write, and says by itself that it cannot. */
function ignore(): void {}

function ownersOf(journal: OwnersJournal, conversations: string[]): ReadonlyMap<string, string> {
	try {
		return journal.owners(conversations);
	} catch (error) {
		if (!(error instanceof JournalUnavailable)) throw error;
		throw new CommandError(error.code, error.message, { cause: error });
	}
}

/** Pi's ids are its own in a project only, where the user may choose them. As a hash it is short, whatever the file says. */
function conversationOf({ id, cwd }: FileHeader): string {
	return hashBytes(JSON.stringify([id, cwd]));
}

/**
 * The conversation that a file was forked from. Pi writes a fork before it says that there is one, so until then, or after
 * a crash in between, its parent tells whose it is. Pi's names of files end in the id.
 */
function parentOf({ parentSession, cwd }: FileHeader): string | undefined {
	const [, id] = /_(.+)\.jsonl$/.exec(basename(parentSession ?? "")) ?? [];
	return id && conversationOf({ id, cwd });
}
