import { randomUUID } from "node:crypto";
import type { ResponseData } from "../../protocol/index.ts";
import { type Call, CommandError, type Done, type Handlers } from "../engine/call.ts";
import { wrongState } from "../safe-text.ts";
import type { VisibleFiles } from "./file-owners.ts";
import { listFolders } from "./folder-listing.ts";
import type { HeldSession } from "./held-session.ts";
import { readEntries } from "./read-only-session.ts";
import type { SessionTable } from "./session-table.ts";
import { checkFolder, checkProject, type SessionPlaces } from "./stored-sessions.ts";
import type { StoredSettings } from "./stored-settings.ts";

export interface LifecycleOptions extends SessionPlaces {
	/** Folder of sessions created without `cwd`. Default: the server's. If `undefined`, `cwd` is required. */
	readonly startFolder?: string | undefined;
	/** Creates a new folder for each session without `cwd`. Replaces `startFolder`. */
	readonly newFolder?: () => Promise<string>;
	/** Called with the folders of a deleted session, and with those that other sessions use. */
	readonly releaseFolders?: (left: readonly string[], inUse: readonly string[]) => Promise<void>;
	readonly allowProjectTrust?: boolean;
}

const NO_FOLDER =
	"cwd: name a folder, because this server has no default (it runs in pi-strata's own folder)";
const NO_TRUST = "trustProject: this server does not load settings or extensions from projects";

export function createLifecycleHandlers(
	options: LifecycleOptions,
	table: SessionTable,
	files: VisibleFiles,
) {
	const { newFolder, releaseFolders } = options;
	const startFolder = "startFolder" in options ? options.startFolder : options.cwd;
	const startsIn = newFolder
		? { startsIn: { sample: true as const } }
		: startFolder !== undefined && { startsIn: { folder: startFolder } };
	const release = async (left: readonly string[]) => releaseFolders?.(left, table.folders());

	/** Error messages do not name the folder, because the client does not know it. */
	async function defaultFolder(): Promise<string> {
		const folder = (await newFolder?.()) ?? startFolder;
		if (folder === undefined) throw new CommandError("invalid_command", NO_FOLDER);
		return checkFolder(folder).catch(() => {
			throw wrongState("The server's default folder no longer exists: name a folder with cwd");
		});
	}

	return {
		...createStoredReads(files),
		async create_session({ command, principal }) {
			const { trustProject } = command;
			if (trustProject && !options.allowProjectTrust) throw new CommandError("forbidden", NO_TRUST);
			const cwd = await (command.cwd === undefined ? defaultFolder() : checkFolder(command.cwd));
			const id = command.sessionId ?? randomUUID();
			const settings: StoredSettings = {
				...(trustProject && { trustedCwd: cwd }),
				// A generated id is unique, so pi can use it too: the file names the session, also once it is deleted here.
				...(command.sessionId === undefined && { piSessionId: id }),
			};
			const record = { principal, id, cwd, createdAtMs: Date.now(), settings };
			try {
				return opened(await table.add(record));
			} catch (error) {
				if (command.cwd === undefined) await release([cwd]);
				throw error;
			}
		},
		load_session: (call) => loadSession(call, table, files),
		async list_sessions({ principal }) {
			const sessions = await table.list(principal);
			return { data: { sessions, ...startsIn } satisfies ResponseData["list_sessions"] };
		},
		async delete_session({ command, principal }) {
			const held = table.getOrThrow(principal, command.sessionId);
			const folders = held.folders();
			await table.remove(held);
			await release(folders);
			return { data: { deleted: true }, removed: held.sessionId };
		},
	} satisfies Partial<Handlers>;
}

/** Reads of the disk. They open no session. */
function createStoredReads(files: VisibleFiles) {
	return {
		async get_stored_session({ command, principal }) {
			const file = await files.resolve(command.sessionPath, principal);
			const data = { stored: file.view, ...(await readEntries(file)) };
			return { data: data satisfies ResponseData["get_stored_session"] };
		},
		async list_folders({ command }) {
			return { data: await listFolders(command.path) };
		},
		async list_stored_sessions({ principal }) {
			const { files: sessions, ...more } = await files.list(principal);
			return { data: { sessions, ...more } satisfies ResponseData["list_stored_sessions"] };
		},
	} satisfies Partial<Handlers>;
}

async function loadSession(
	{ command, principal }: Call<"load_session">,
	table: SessionTable,
	files: VisibleFiles,
): Promise<Done> {
	const { sessionPath, sessionId: id = randomUUID() } = command;
	const file = await files.resolve(sessionPath, principal);
	const project = await checkProject(file.cwd, sessionPath).catch((error: Error) => error);
	await table.claimParked(principal, file.path);
	await table.waitForMoves(file.path);
	const visible = files.assertVisible(file, principal, sessionPath);
	if (visible) await visible;
	// No await between here and `add`; otherwise two calls could open the same file.
	const watching = command.watch && table.watching(principal, file.path);
	const owner = watching || table.openFiles().get(file.path);
	if (owner) {
		await owner.live();
		if (table.get(principal, owner.sessionId) !== owner) {
			throw wrongState(`sessionPath: "${sessionPath}" is being closed: try again in a moment`);
		}
		owner.refreshRecord(); // the command that moved the session to this file may still be in flight
		return { data: answer(owner), session: owner.record };
	}
	if (typeof project !== "string") throw project;
	const record = { principal, id, cwd: project, createdAtMs: Date.now() };
	if (command.watch)
		return opened(await table.add({ ...record, settings: { watches: file.path } }));
	const held = await table.add({ ...record, file: file.path, settings: {} });
	const { forkedFrom, warning: forked } = held.fork?.about ?? {};
	const warning = [forked, held.current?.warning].filter(Boolean).join(" ");
	const about = { ...(forkedFrom && { forkedFrom }), ...(warning && { warning }) };
	return { ...opened(held), data: { ...answer(held), ...about } };
}

function opened(held: HeldSession): Done {
	return { data: answer(held), session: held.record, opened: true };
}

function answer(held: HeldSession): ResponseData["create_session"] {
	return { sessionId: held.sessionId, sessionInfo: held.info() };
}
