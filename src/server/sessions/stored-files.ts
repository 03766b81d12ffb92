import type { StoredSession as StoredView } from "../../protocol/index.ts";
import type { FileOwners } from "./file-owners.ts";
import {
	checkSessionFile,
	type GivenPath,
	listStoredSessions,
	noSuchFile,
	type SessionFile,
	type SessionPlaces,
	type StoredSession,
} from "./session-files.ts";
import type { PiProcesses } from "./session-fork.ts";
import type { Slot } from "./slot.ts";
import type { Slots } from "./slots.ts";

/** The session files of the server as its principals see them: another's file does not exist. */
export interface StoredFiles {
	/** Proves that a path from a client is a session file that exists for the principal. */
	find(path: string, principal: string, field?: GivenPath["field"]): Promise<SessionFile>;
	/** Throws as for a file that is not there, if by now it is another's. */
	check(file: SessionFile, principal: string, given: string): void;
	/** The newest session files in a folder that exist for the principal. */
	list(folder: string, principal: string): Promise<{ files: StoredView[]; truncated: boolean }>;
}

const MAX_LISTED = 200;

export function createStoredFiles(
	places: SessionPlaces,
	slots: Pick<Slots, "openFiles">,
	owners: Pick<FileOwners, "of">,
	piProcesses: PiProcesses,
): StoredFiles {
	function check(file: SessionFile, principal: string, given: GivenPath): void {
		if (visible([file], principal).length === 0) throw noSuchFile(given);
	}

	/** Who has a file open sees it, and nobody else; of the others, each sees what is its own or everybody's. */
	function visible<File extends SessionFile>(files: readonly File[], principal: string): File[] {
		const open = slots.openFiles();
		const ofFiles = owners.of(files);
		return files.filter(({ path }, index) => {
			const owner = open.get(path)?.principal ?? ofFiles[index];
			return owner === undefined || owner === principal;
		});
	}

	return {
		async find(path, principal, field = "sessionPath") {
			const file = await checkSessionFile({ path, field }, places);
			check(file, principal, { path, field });
			return file;
		},
		check: (file, principal, path) => check(file, principal, { path, field: "sessionPath" }),
		async list(folder, principal) {
			const { sessions, truncated } = await listStoredSessions(folder, MAX_LISTED, (files) =>
				visible(files, principal),
			);
			const inPi = await piProcesses();
			const open = slots.openFiles();
			const files = sessions.map((stored) => {
				const piProcess = inPi.get(stored.path);
				const view = storedView(stored, open.get(stored.path));
				return { ...view, ...(piProcess !== undefined && { piProcess }) };
			});
			return { files, truncated };
		},
	};
}

function storedView(stored: StoredSession, slot: Slot | undefined): StoredView {
	const info = slot?.info();
	const name = info?.sessionName ?? stored.name;
	return {
		sessionPath: stored.path,
		...(slot && { sessionId: slot.sessionId }),
		...(name && { sessionName: name }),
		cwd: stored.cwd,
		createdAt: new Date(stored.createdMs).toISOString(),
		modifiedAt: new Date(stored.modifiedMs).toISOString(),
		messageCount: info?.messageCount ?? stored.messageCount,
		...(stored.firstMessage && { firstMessage: stored.firstMessage }),
		...(stored.damagedLines > 0 && { damagedLines: stored.damagedLines }),
		fileExists: true,
	};
}
