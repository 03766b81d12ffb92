import { join } from "node:path";
import { initTheme, ModelRuntime } from "@earendil-works/pi-coding-agent";
import { markedSessions } from "../../core/session-marks.ts";
import { type CommandType, rowOf, type SessionEvent } from "../../protocol/index.ts";
import type { Call, Done, Handlers } from "../engine/call.ts";
import type { Recovered, SessionRecord, StreamName } from "../journal/journal.ts";
import { asCommandError, safeText } from "../safe-text.ts";
import { createCodeHandlers } from "./code-handlers.ts";
import { createFileOwners, type OwnersJournal } from "./file-owners.ts";
import { createInsightHandlers } from "./insight-handlers.ts";
import { createSessionInspect, type Inspect } from "./inspector.ts";
import { createKeptAnswers, type KeptAnswers } from "./kept-answers.ts";
import { basisOf, readName } from "./kept-commands.ts";
import { createLifeHandlers } from "./life-handlers.ts";
import type { LiveSession } from "./live-session.ts";
import { lastEntryOf } from "./pi-session-file.ts";
import type { SessionHandler, SessionHandlers } from "./session-handler.ts";
import { settingsHandlers } from "./settings-handlers.ts";
import type { Slot } from "./slot.ts";
import { createSlots, type Slots } from "./slots.ts";
import { createStateHandlers } from "./state-handlers.ts";
import { createStoredFiles } from "./stored-files.ts";
import { talkHandlers } from "./talk-handlers.ts";
import { createTreeHandlers } from "./tree-handlers.ts";

/**
 * The agent sessions of the server: one pi runtime each, in this process, with pi-strata's extension loaded. Ids are the
 * server's own, since a runtime changes pi's on new, switch and fork.
 */
export interface Sessions {
	/** The commands that sessions carry out. */
	readonly handlers: Pick<Handlers, SessionCommandType>;
	/** Whether a principal has a session of that id; also true for one not yet reopened after a restart. */
	has(principal: string, sessionId: string): boolean;
	count(): number;
	/** The dialogs that wait for an answer, and the status lines and widgets that stand, for a client that subscribes late. */
	openDialogs(stream: StreamName): SessionEvent[];
	/** Proves that a path from a client is a session file that the principal may read; resolves with it, links followed. */
	readableFile(principal: string, path: string): Promise<string>;
	/** Aborts what runs, disposes every runtime. */
	close(): Promise<void>;
}

/** Every command but those that the server answers by itself. */
export type SessionCommandType = Exclude<
	keyof Handlers,
	| "subscribe"
	| "unsubscribe"
	| "switch_session"
	| "get_metrics"
	| "health_check"
	| "get_startup_recovery"
	| "get_command_history"
	| "replay_session"
>;

export interface SessionsOptions {
	/** Pi's agent folder: models, keys, settings, session files. Extensions find it through pi's `getAgentDir()`. */
	agentDir: string;
	/** The server's folder: session files in its `.pi/sessions`, or in one above it, may be opened. */
	cwd: string;
	/** Where a session starts without a `cwd`; undefined: it must name one. Default: in the server's folder. */
	startFolder?: string | undefined;
	/** Makes a folder for each such session instead. */
	newFolder?: () => Promise<string>;
	/** Takes note of the folders that a session has left for good, and of those in use. */
	leaveFolders?: (left: readonly string[], inUse: readonly string[]) => Promise<void>;
	/** The models are the demo's, and to be used in this folder only. */
	sampleProjects?: string;
	/** Sessions of the process before; each is reopened when it is first used. */
	recovered: Recovered["sessions"];
	/** The process before did not end by itself. Default: it did. */
	wasCutOff?: boolean;
	emit(stream: StreamName, event: SessionEvent): void;
	/** A session changed outside a command: keep its record. */
	save(session: SessionRecord): void;
	/** Remembers whose session files are. */
	owners: OwnersJournal;
	/** In all, and of one principal; by default that may have them all. */
	maxSessions: number;
	maxSessionsPerPrincipal?: number;
	/** Whether a project's own settings and extensions may be asked for, and sessions that did have them. Default: no. */
	allowProjectTrust?: boolean;
	/** How long a dialog of an extension waits that sets no time itself, in milliseconds. Default: a minute. */
	dialogTimeoutMs?: number;
	/** The models and keys of all sessions. Default: those of the agent folder. */
	modelRuntime?: ModelRuntime;
	/** Looks into a session's context and costs. Default: as far as pi itself tells. */
	inspect?: Inspect;
	now?: () => number;
}

/** Starts with the sessions of the process before, none of them open yet. */
export async function createSessions(options: SessionsOptions): Promise<Sessions> {
	const { agentDir, cwd, dialogTimeoutMs, sampleProjects } = options;
	initTheme("dark"); // extensions may ask for a theme, which pi's own modes set up
	const modelRuntime =
		options.modelRuntime ??
		(await ModelRuntime.create({
			authPath: join(agentDir, "auth.json"),
			modelsPath: join(agentDir, "models.json"),
		}));
	const host = {
		agentDir,
		modelRuntime,
		allowProjectTrust: options.allowProjectTrust ?? false,
		...(dialogTimeoutMs !== undefined && { dialogTimeoutMs }),
		...(sampleProjects !== undefined && { sampleProjects }),
	};
	const owners = createFileOwners(options.owners);
	owners.ownAll(options.recovered);
	const piProcesses = () => markedSessions(agentDir);
	const kept = createKeptAnswers();
	const onRemoved = (slot: Slot) => kept.forget(slot);
	const slots = createSlots({ ...options, host, owners, piProcesses, onRemoved });
	const places = { agentDir, cwd };
	const files = createStoredFiles(places, slots, owners, piProcesses);
	const code = createCodeHandlers();
	const inSession = {
		...talkHandlers,
		...settingsHandlers,
		...createTreeHandlers(files, slots, { agentDir, piProcesses }),
		...createStateHandlers(files),
		...createInsightHandlers(options.inspect ?? createSessionInspect(agentDir)),
		...code.handlers,
	};
	const life = createLifeHandlers({
		agentDir,
		startFolder: "startFolder" in options ? options.startFolder : cwd,
		...(options.newFolder && { newFolder: options.newFolder }),
		...(options.leaveFolders && { leaveFolders: options.leaveFolders }),
		slots,
		files,
		allowProjectTrust: options.allowProjectTrust ?? false,
		now: options.now ?? Date.now,
	});

	return {
		handlers: { ...openingFirst(inSession, slots, kept), ...life },
		has: (principal, sessionId) => slots.get(principal, sessionId) !== undefined,
		count: () => slots.count(),
		openDialogs: ({ principal, sessionId }) =>
			slots.get(principal, sessionId)?.current?.dialogs.current() ?? [],
		async readableFile(principal, given) {
			const { path } = await files.find(given, principal);
			return path;
		},
		async close() {
			await Promise.all([slots.close(), code.close()]);
		},
	};
}

/** Opens the session of each command first; after a change, its record goes with the outcome. */
function openingFirst<Type extends CommandType>(
	inSession: SessionHandlers<Type>,
	slots: Slots,
	kept: KeptAnswers,
): Pick<Handlers, Type> {
	const entries = Object.entries<SessionHandler<CommandType>>(inSession as never);
	const handlers = entries.map(([type, run]) => {
		const { effect, path } = rowOf(type) ?? {};
		const isChange = effect === "change";
		// What reaches into a run must get through, whatever has become of the file.
		const isGuarded = isChange && path === "lane";
		const handler = async (call: Call): Promise<Done> => {
			const { sessionId = "" } = call.command as { sessionId?: string };
			const slot = slots.find(call.principal, sessionId);
			const before = slot.record;
			try {
				const isOpen = slot.current !== undefined;
				const live = await slot.live();
				if (!isOpen) await call.turn?.();
				const make = () => run(live, call.command as never, { slot, call: call as never });
				const isThere = () => slots.get(slot.principal, slot.sessionId) === slot;
				if (!isChange) {
					const basis = isThere() ? basisOf(call.command, live) : undefined;
					if (!basis) return { data: await make() };
					return kept.answer(slot, readName(call.command), basis, make);
				}
				live.touch();
				const change = async () => ({ data: await make() });
				const made = isGuarded ? guarded(live, change) : change();
				const done = await made.finally(() => live.touch());
				slot.refresh();
				return { ...done, ...(isThere() && slot.record !== before && { session: slot.record }) };
			} catch (error) {
				throw asCommandError(error);
			}
		};
		return [type, handler];
	});
	return Object.fromEntries(handlers);
}

/** Makes a change whose effect is to be in the session's file. Throws if it was not made. */
async function guarded(live: LiveSession, change: () => Promise<Done>): Promise<Done> {
	live.checkFile();
	const { sessionManager } = live.session;
	const last = lastEntryOf(sessionManager);
	try {
		const done = await change();
		const notDurable = lossIn(live);
		return { ...done, ...(notDurable && { notDurable }) };
	} catch (error) {
		const loss = lossIn(live);
		// Pi goes on with an entry that it could not append.
		if (lastEntryOf(sessionManager) === last || !isOfSystem(error)) throw error;
		const mended = `It was carried out, but pi could not write to the session's file (${safeText(error)}). Nothing is missing in the file now.`;
		return { notDurable: loss ?? mended };
	}
}

/** What to say of a change that is in memory only. */
function lossIn(live: LiveSession): string | undefined {
	try {
		live.checkFile();
		return undefined;
	} catch (error) {
		return `It was carried out and may be lost. ${asCommandError(error).message}`;
	}
}

function isOfSystem(error: unknown): boolean {
	return error instanceof Error && ("syscall" in error || isOfSystem(error.cause));
}
