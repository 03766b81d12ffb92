import { basename, join } from "node:path";
import { hashBytes } from "../../core/hash.ts";
import { type Later, whenThere } from "../../core/later.ts";
import { isWithin } from "../../core/places.ts";
import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { type Journal, JournalUnavailable, type SessionRecord } from "../journal/journal.ts";
import type { HeldSession } from "./held-session.ts";
import type { PiProcesses } from "./open-session-file.ts";
import type { SessionTable } from "./session-table.ts";
import {
	checkSessionFile,
	demoFolders,
	type FileHeader,
	type Lineage,
	lineageOf,
	listStoredSessions,
	noSuchFile,
	type PathField,
	readHead,
	realRoots,
	type SessionPlaces,
	type StoredSession,
} from "./stored-sessions.ts";
import { parseSettings } from "./stored-settings.ts";

const MAX_LISTED = 200;

/** Session files as a principal sees them: files of other principals seem not to exist. */
export class VisibleFiles {
	readonly #places: SessionPlaces;
	readonly #table: Pick<SessionTable, "openFiles">;
	readonly #owners: Pick<FileOwners, "ownersOf" | "isSole">;
	readonly #piProcesses: PiProcesses;

	constructor(
		places: SessionPlaces,
		table: Pick<SessionTable, "openFiles">,
		owners: Pick<FileOwners, "ownersOf" | "isSole">,
		piProcesses: PiProcesses,
	) {
		this.#places = places;
		this.#table = table;
		this.#owners = owners;
		this.#piProcesses = piProcesses;
	}

	/** Follows links. Rejects if the file is not visible to the principal. */
	async resolve(path: string, principal: string, field: PathField = "sessionPath") {
		const file = await checkSessionFile(path, field, this.#places);
		const roots = await realRoots(this.#places);
		const lineage = await lineageOf({ path: file.path, head: file }, roots);
		if (!(await this.#isVisible(lineage, principal))) throw noSuchFile(path, field);
		return { ...file, lineage };
	}

	/** Throws the error for a missing file if another principal has become the owner. */
	assertVisible({ lineage }: { lineage: Lineage }, principal: string, path: string): Later<void> {
		return whenThere(this.#isVisible(lineage, principal), (isVisible) => {
			if (!isVisible) throw noSuchFile(path, "sessionPath");
		});
	}

	/** For a path that the server itself found. `undefined` if the file is not visible, or gone. */
	async look(found: string, principal: string) {
		const file = await readHead(found).catch(() => undefined); // gone meanwhile
		if (!file) return undefined;
		const lineage = await lineageOf(file, await realRoots(this.#places));
		if (!(await this.#isVisible(lineage, principal))) return undefined;
		const { path, head } = file;
		return { path, title: head?.view.sessionName ?? head?.view.firstMessage };
	}

	/** The newest first. Without `folder`: those of pi's own folder and of running demos. */
	async list(principal: string, folder?: string) {
		const { agentDir } = this.#places;
		const demos = await demoFolders(agentDir);
		const folders = folder === undefined ? [join(agentDir, "sessions"), ...demos] : [folder];
		const { sessions, truncated } = await listStoredSessions(folders, MAX_LISTED, (files) =>
			this.#visible(files, principal),
		);
		const inPi = await this.#piProcesses();
		const open = this.#table.openFiles();
		const files = sessions.map(({ path, view }) => {
			const piProcess = inPi.get(path);
			return {
				...listed(view, open.get(path)),
				...(piProcess !== undefined && { piProcess }),
				...(demos.some((folder) => isWithin(folder, path)) && { isDemo: true }),
			};
		});
		return { files, ...(truncated && { truncated }) };
	}

	/**
	 * Visible: an open file to its session's principal, a closed one to its owner, an unowned one to all. A file
	 * of a sub-agent is its session's. If that is unknown, it is visible unless another principal could own it.
	 */
	#isVisible({ sessions, isComplete }: Lineage, principal: string): Later<boolean> {
		return whenThere(this.#owners.ownersOf(sessions), (ownersBySession) => {
			const open = this.#table.openFiles();
			const owner = sessions
				.map(({ path }, index) => open.get(path)?.principal ?? ownersBySession[index])
				.find((one) => one !== undefined);
			if (owner !== undefined) return owner === principal;
			return isComplete || this.#owners.isSole(principal);
		});
	}

	async #visible(files: readonly StoredSession[], principal: string) {
		const roots = await realRoots(this.#places);
		const read: { head: StoredSession; lineage: Lineage }[] = [];
		for (const head of files) {
			read.push({ head, lineage: await lineageOf({ path: head.path, head }, roots) });
		}
		const visible = await Promise.all(
			read.map(({ lineage }) => this.#isVisible(lineage, principal)),
		);
		return read.filter((_, index) => visible[index]).map(({ head }) => head);
	}
}

function listed(view: Data<"StoredSession">, held: HeldSession | undefined): Data<"StoredSession"> {
	if (!held) return view;
	const { sessionName = view.sessionName, messageCount } = held.info();
	return { ...view, sessionId: held.sessionId, ...(sessionName && { sessionName }), messageCount };
}

export type FileOwners = ReturnType<typeof createFileOwners>;

export type OwnersJournal = Pick<Journal, "own" | "disown" | "owners" | "hasOtherOwner">;

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
			return whenThere(
				readOwners(() => journal.owners(all)),
				(owners) => names.map(({ own, parent }) => owners.get(own) ?? owners.get(parent ?? "")),
			);
		},
		/** Whether no other principal owns a file. Throws a {@link CommandError} if the journal is unreadable. */
		isSole: (principal: string) =>
			whenThere(
				readOwners(() => journal.hasOtherOwner(principal)),
				(isShared) => !isShared,
			),
	};
}

function readOwners<Answer>(read: () => Later<Answer>): Later<Answer> {
	const explain = (error: unknown): never => {
		if (!(error instanceof JournalUnavailable)) throw error;
		throw new CommandError(error.code, error.message, { cause: error });
	};
	try {
		const answer = read();
		return answer instanceof Promise ? answer.catch(explain) : answer;
	} catch (error) {
		return explain(error);
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
