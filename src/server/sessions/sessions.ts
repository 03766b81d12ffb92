import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { initTheme } from "@earendil-works/pi-coding-agent";
import { markedSessions } from "../../core/session-marks.ts";
import type { ResponseData } from "../../protocol/index.ts";
import { CommandError, type Done, type Handlers } from "../engine/call.ts";
import type { StreamName } from "../journal/journal.ts";
import { createCodeHandlers } from "./code-handlers.ts";
import { createInsightHandlers } from "./inspector.ts";
import { checkFolder, checkProject } from "./session-files.ts";
import type { Slot } from "./slot.ts";
import { createSlots, type Slots, type SlotsOptions } from "./slots.ts";
import { createStateHandlers } from "./state-handlers.ts";
import {
	createFileOwners,
	createStoredFiles,
	type OwnersJournal,
	type StoredFiles,
} from "./stored-files.ts";
import type { StoredSettings } from "./stored-settings.ts";
import { talkHandlers } from "./talk-handlers.ts";
import { createTreeHandlers } from "./tree-handlers.ts";

export type Sessions = ReturnType<typeof createSessions>;

export interface SessionsOptions extends Omit<SlotsOptions, "owners" | "piProcesses"> {
	/** Session files in `.pi/sessions` here or above may be opened. */
	cwd: string;
	/** For a session without a `cwd`; undefined: it must name one. Default: the server's folder. */
	startFolder?: string | undefined;
	/** Makes a folder for each session without a `cwd` instead. */
	newFolder?: () => Promise<string>;
	/** Called with a deleted session's folders, and with those in use. */
	leaveFolders?: (left: readonly string[], inUse: readonly string[]) => Promise<void>;
	owners: OwnersJournal;
}

/**
 * One pi runtime per session, in process. Ids are the server's own: pi's ids change. Restores the
 * last process's sessions, none of them open yet.
 */
export function createSessions(options: SessionsOptions) {
	const { agentDir, cwd } = options;
	initTheme("dark"); // extensions may ask for a theme, which pi's modes set up
	const owners = createFileOwners(options.owners);
	owners.ownAll(options.recovered);
	const piProcesses = () => markedSessions(agentDir);
	const slots = createSlots({ ...options, owners, piProcesses });
	const files = createStoredFiles({ agentDir, cwd }, slots, owners, piProcesses);
	const code = createCodeHandlers();
	const inSession = {
		...talkHandlers,
		...createTreeHandlers(files, slots, { agentDir, piProcesses }),
		...createStateHandlers(files),
		...createInsightHandlers(agentDir),
		...code.handlers,
	};
	return {
		handlers: { ...slots.handlers(inSession), ...createLifeHandlers(options, slots, files) },
		/** Also true for a session not yet reopened after a restart. */
		has: (principal: string, id: string) => slots.get(principal, id) !== undefined,
		count: slots.count,
		openDialogs: ({ principal, sessionId }: StreamName) =>
			slots.get(principal, sessionId)?.current?.dialogs.current() ?? [],
		/** Rejects unless the principal may read the session file. Follows links. */
		readableFile: async (principal: string, path: string) =>
			(await files.find(path, principal)).path,
		async close() {
			await Promise.all([slots.close(), code.close()]);
		},
	};
}

function createLifeHandlers(options: SessionsOptions, slots: Slots, files: StoredFiles) {
	const { newFolder, leaveFolders } = options;
	const startFolder = "startFolder" in options ? options.startFolder : options.cwd;
	const startsIn = newFolder
		? { startsIn: { sample: true as const } }
		: startFolder !== undefined && { startsIn: { folder: startFolder } };
	const leave = async (left: readonly string[]) => leaveFolders?.(left, slots.folders());

	/** The error does not name the folder, which the client does not know. */
	async function ownFolder(): Promise<string> {
		const folder = (await newFolder?.()) ?? startFolder;
		if (folder === undefined) {
			const error =
				"cwd: name a folder: the server was started in pi-strata's own, which is no project";
			throw new CommandError("invalid_command", error);
		}
		return checkFolder(folder).catch(() => {
			const error = "The server's own folder is not there any more: name one with cwd";
			throw new CommandError("wrong_state", error);
		});
	}

	return {
		async create_session({ command, principal }) {
			const { trustProject } = command;
			if (trustProject && !options.allowProjectTrust) {
				throw new CommandError(
					"forbidden",
					"trustProject: this server does not load settings and extensions of projects",
				);
			}
			const cwd = await (command.cwd === undefined ? ownFolder() : checkFolder(command.cwd));
			const settings: StoredSettings = trustProject ? { trustedCwd: cwd } : {};
			const id = command.sessionId ?? randomUUID();
			const record = { principal, id, cwd, createdAtMs: Date.now(), settings };
			try {
				return opened(await slots.add(record));
			} catch (error) {
				if (command.cwd === undefined) await leave([cwd]);
				throw error;
			}
		},
		async load_session({ command, principal }) {
			const { sessionPath, sessionId: id = randomUUID() } = command;
			const file = await files.find(sessionPath, principal);
			const project = await checkProject(file.cwd, sessionPath).catch((error: Error) => error);
			await slots.settled(file.path);
			// No await from here to `add`: two could open the file at once.
			files.check(file, principal, sessionPath);
			const owner = slots.openFiles().get(file.path);
			if (owner) {
				await owner.live();
				if (slots.get(principal, owner.sessionId) !== owner) {
					const error = `sessionPath: "${sessionPath}" is being closed: try again in a moment`;
					throw new CommandError("wrong_state", error);
				}
				owner.refresh(); // the command that put the file there may be in flight
				return { data: answer(owner), session: owner.record };
			}
			if (typeof project !== "string") throw project;
			const record = { principal, id, cwd: project, file: file.path };
			const slot = await slots.add({ ...record, createdAtMs: Date.now(), settings: {} });
			const { forkedFrom, warning: forked } = slot.fork?.about ?? {};
			const warning = [forked, slot.current?.warning].filter(Boolean).join(" ");
			return {
				...opened(slot),
				data: { ...answer(slot), ...(forkedFrom && { forkedFrom }), ...(warning && { warning }) },
			};
		},
		async list_sessions({ principal }) {
			const sessions = slots.of(principal).map((slot) => slot.info());
			return { data: { sessions, ...startsIn } satisfies ResponseData["list_sessions"] };
		},
		async list_stored_sessions({ principal }) {
			const folder = join(options.agentDir, "sessions");
			const { files: sessions, ...more } = await files.list(folder, principal);
			return { data: { sessions, ...more } satisfies ResponseData["list_stored_sessions"] };
		},
		async delete_session({ command, principal }) {
			const slot = slots.find(principal, command.sessionId);
			const folders = slot.folders();
			await slots.remove(slot);
			await leave(folders);
			return { data: { deleted: true }, removed: slot.sessionId };
		},
	} satisfies Partial<Handlers>;
}

function opened(slot: Slot): Done {
	return { data: answer(slot), session: slot.record, opened: true };
}

function answer(slot: Slot): ResponseData["create_session"] {
	return { sessionId: slot.sessionId, sessionInfo: slot.info() };
}
