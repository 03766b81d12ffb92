import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ResponseData } from "../../protocol/index.ts";
import { CommandError, type Done, type Handlers } from "../engine/call.ts";
import { checkFolder, checkProject } from "./session-files.ts";
import type { Slot } from "./slot.ts";
import type { Slots } from "./slots.ts";
import type { StoredFiles } from "./stored-files.ts";
import type { StoredSettings } from "./stored-settings.ts";

export interface LifeOptions {
	agentDir: string;
	slots: Slots;
	files: StoredFiles;
	/** Whether clients may have a project's own settings and extensions loaded, which run code of the project. */
	allowProjectTrust: boolean;
	/** Where a session starts that names no folder; undefined: it must name one. */
	startFolder: string | undefined;
	/** Makes a sample project for each such session instead. */
	newFolder?(): Promise<string>;
	/** Takes note of the folders that a session has left for good, and of those in use. */
	leaveFolders?(left: readonly string[], inUse: readonly string[]): Promise<void>;
	now(): number;
}

type LifeCommand =
	| "create_session"
	| "load_session"
	| "list_sessions"
	| "list_stored_sessions"
	| "delete_session";

/** How sessions come and go. */
export function createLifeHandlers(options: LifeOptions): Pick<Handlers, LifeCommand> {
	const { slots, files, agentDir, allowProjectTrust, now } = options;

	const { startFolder, newFolder } = options;
	const startsIn = newFolder
		? { startsIn: { sample: true as const } }
		: startFolder !== undefined && { startsIn: { folder: startFolder } };

	/** The failure does not name the folder, which the client does not know. */
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

	const leave = async (left: readonly string[]) => options.leaveFolders?.(left, slots.folders());

	return {
		async create_session({ command, principal }) {
			const { trustProject } = command;
			if (trustProject && !allowProjectTrust) {
				throw new CommandError(
					"forbidden",
					"trustProject: this server does not load settings and extensions of projects",
				);
			}
			const cwd = await (command.cwd === undefined ? ownFolder() : checkFolder(command.cwd));
			const settings: StoredSettings = trustProject ? { trustedCwd: cwd } : {};
			const record = {
				principal,
				id: command.sessionId ?? randomUUID(),
				cwd,
				createdAtMs: now(),
				settings: { ...settings },
			};
			try {
				return opened(await slots.add(record));
			} catch (error) {
				if (command.cwd === undefined) await leave([cwd]);
				throw error;
			}
		},

		async load_session({ command, principal }) {
			const { sessionPath, sessionId } = command;
			const file = await files.find(sessionPath, principal);
			const project = await checkProject(file.cwd, sessionPath).catch((error: Error) => error);
			await slots.settled(file.path);
			// Nothing is awaited from here to `add`, or two could open the file at once.
			files.check(file, principal, sessionPath);
			const owner = slots.openFiles().get(file.path);
			if (owner) {
				await owner.live();
				if (slots.get(principal, owner.sessionId) !== owner) {
					const error = `sessionPath: "${sessionPath}" is being closed: try again in a moment`;
					throw new CommandError("wrong_state", error);
				}
				owner.refresh(); // the command that has put the file there may not be done yet
				return { data: answer(owner), session: owner.record };
			}
			if (typeof project !== "string") throw project;
			const slot = await slots.add({
				principal,
				id: sessionId ?? randomUUID(),
				cwd: project,
				file: file.path,
				createdAtMs: now(),
				settings: {},
			});
			const { forkedFrom, warning: forked } = slot.fork?.about ?? {};
			const warning = [forked, slot.current?.warning].filter(Boolean).join(" ");
			return {
				...opened(slot),
				data: { ...answer(slot), ...(forkedFrom && { forkedFrom }), ...(warning && { warning }) },
			};
		},

		async list_sessions({ principal }) {
			const data: ResponseData["list_sessions"] = {
				sessions: slots.of(principal).map((slot) => slot.info()),
				...startsIn,
			};
			return { data };
		},

		async list_stored_sessions({ principal }) {
			const found = await files.list(join(agentDir, "sessions"), principal);
			const data: ResponseData["list_stored_sessions"] = {
				sessions: found.files,
				...(found.truncated && { truncated: true }),
			};
			return { data };
		},

		async delete_session({ command, principal }) {
			const slot = slots.find(principal, command.sessionId);
			const folders = slot.folders();
			await slots.remove(slot);
			await leave(folders);
			const data: ResponseData["delete_session"] = { deleted: true };
			return { data, removed: slot.sessionId };
		},
	};
}

function opened(slot: Slot): Done {
	return { data: answer(slot), session: slot.record, opened: true };
}

function answer(slot: Slot): ResponseData["create_session"] {
	return { sessionId: slot.sessionId, sessionInfo: slot.info() };
}
