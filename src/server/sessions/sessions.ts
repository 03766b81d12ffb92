import { initTheme } from "@earendil-works/pi-coding-agent";
import { sessionsInTerminals } from "../../core/session-marks.ts";
import type { SessionRecord, StreamName } from "../journal/journal.ts";
import { createCodeHandlers, IndexPool } from "./code-handlers.ts";
import { createFileOwners, type OwnersJournal, VisibleFiles } from "./file-owners.ts";
import type { HeldSession } from "./held-session.ts";
import { createLifecycleHandlers, type LifecycleOptions } from "./lifecycle-handlers.ts";
import { createProgressHandlers } from "./progress-handlers.ts";
import { promptHandlers } from "./prompt-handlers.ts";
import { SessionTable, type SessionTableOptions } from "./session-table.ts";
import { createStateHandlers } from "./state-handlers.ts";
import { createTreeHandlers } from "./tree-handlers.ts";
import { createViewHandlers } from "./view-handlers.ts";

export type Sessions = ReturnType<typeof createSessions>;

export type SessionsOptions = Omit<SessionTableOptions, "owners" | "piProcesses"> &
	LifecycleOptions & {
		owners: OwnersJournal;
		/** Whether a client gets the session's events. Default: always. */
		hasListeners?(name: StreamName): boolean;
	};

/** One pi per session, in this process. Session ids are the server's own, because pi's ids change. */
export function createSessions(options: SessionsOptions) {
	const { agentDir, cwd } = options;
	initTheme("dark"); // extensions may read the theme, which only pi's own modes set
	const owners = createFileOwners(options.owners);
	owners.ownRecovered(options.recovered);
	const piProcesses = () => sessionsInTerminals(agentDir);
	const table = new SessionTable({ ...options, owners, piProcesses });
	const files = new VisibleFiles({ agentDir, cwd }, table, owners, piProcesses);
	const indexes = new IndexPool();
	const inSession = {
		...promptHandlers,
		...createTreeHandlers(files, table, { agentDir, piProcesses }),
		...createStateHandlers(files),
		...createViewHandlers(agentDir),
		...createCodeHandlers(indexes),
	};
	return {
		handlers: {
			...table.bindHandlers(inSession),
			...createLifecycleHandlers(options, table, files),
			...createProgressHandlers(table, options.hasListeners),
		},
		/** Also true for a session not yet reopened after a restart. */
		has: (principal: string, id: string) => table.get(principal, id) !== undefined,
		count: () => table.count,
		isBusy: () => table.isBusy,
		/** `isOwn`: no other server had the session since its file was written here. */
		hold: (record: SessionRecord, isOwn = false) =>
			table.hold(record, isOwn ? "recovered" : "claimed"),
		idle: () => table.idle(),
		rest: (held: HeldSession) => table.rest(held),
		park: (held: HeldSession) => table.park(held),
		lose: (names: readonly StreamName[]) => table.lose(names),
		release: (names: readonly StreamName[]) => table.release(names),
		names: (): StreamName[] => table.names(),
		isRunning: ({ principal, sessionId }: StreamName) =>
			table.get(principal, sessionId)?.info().isStreaming === true,
		openDialogs: ({ principal, sessionId }: StreamName) =>
			table.get(principal, sessionId)?.current?.dialogs.current() ?? [],
		/** Resolves to the real path. Rejects if the principal may not read the file. */
		readableFile: async (principal: string, path: string) =>
			(await files.resolve(path, principal)).path,
		/** A session file of pi that the server found, if the principal may read it. */
		storedFile: (principal: string, path: string) => files.look(path, principal),
		/** Whether no other principal owns a session file. */
		isSoleOwner: owners.isSole,
		async close() {
			await Promise.all([table.close(), indexes.close()]);
		},
	};
}
