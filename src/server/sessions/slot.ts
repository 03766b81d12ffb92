import { existsSync, realpathSync } from "node:fs";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type {
	CommandOf,
	CommandType,
	Model,
	ResponseData,
	SessionEvent,
	SessionInfo,
} from "../../protocol/index.ts";
import { type Call, CommandError } from "../engine/call.ts";
import type { SessionRecord, StreamName } from "../journal/journal.ts";
import { asCommandError } from "../safe-text.ts";
import { warningOf } from "./dialogs.ts";
import { LiveSession } from "./live-session.ts";
import { forkSession, type PiProcesses, type SessionFork } from "./open-session-file.ts";
import { type Host, isTrusted } from "./pi-runtime.ts";
import { lastEntryOf } from "./session-file.ts";
import type { FileHeader, FileOwners } from "./stored-files.ts";
import { parseSettings, type StoredSettings } from "./stored-settings.ts";

/** Runs the commands of one type in their open session. Returns the response's `data`. */
export type SessionHandler<Type extends CommandType> = (
	live: LiveSession,
	command: CommandOf<Type>,
	context: { slot: Slot; call: Call<Type> },
) => ResponseData[Type] | Promise<ResponseData[Type]>;

export type SessionHandlers<Type extends CommandType> = {
	readonly [Name in Type]: SessionHandler<Name>;
};

/** One session: its record, and its pi from the first use on. */
export interface Slot extends StreamName {
	/** As it should be in the journal. Immutable: a change makes a new object. */
	readonly record: SessionRecord;
	/** The copy it works on, if a running pi had its file open. */
	readonly fork: SessionFork | undefined;
	readonly current: LiveSession | undefined;
	/** Opens the session if needed. */
	live(): Promise<LiveSession>;
	/** Runs `move`, which puts the session into another file: meanwhile that one counts as open. */
	moving<T>(file: string, move: () => Promise<T>): Promise<T>;
	/** The files that no other session may open. */
	files(): string[];
	/** The folders it has worked in since it was opened. */
	folders(): string[];
	/** Updates the record from the session. Returns whether it changed. */
	refresh(): boolean;
	info(): SessionInfo;
}

/** A slot as its registry sees it. */
export interface OwnedSlot extends Slot {
	close(): Promise<void>;
	/** Saves for the next process what extensions have added while the session was closed, or that this is unknown. */
	keep(): void;
	/** The session is deleted, and nothing runs in it. */
	leave(): void;
}

export interface SlotOptions extends Host {
	emit(stream: StreamName, event: SessionEvent): void;
	/** A session changed outside a command: keep its record. */
	save(session: SessionRecord): void;
	owners: Pick<FileOwners, "own" | "disown">;
	piProcesses: PiProcesses;
	/** The last process crashed: files may hold more of its work than the records say. Default: no. */
	wasCutOff?: boolean;
}

/** The slot of a session that is not open yet. `isKnown`: clients know the session already. */
export function createSlot(first: SessionRecord, host: SlotOptions, isKnown: boolean): OwnedSlot {
	const { emit, save, owners } = host;
	const folders = new Set([first.cwd]);
	const stream: StreamName = { principal: first.principal, sessionId: first.id };
	let record = first;
	if (!host.allowProjectTrust && "trustedCwd" in first.settings) withdrawTrust();
	let opening: Promise<LiveSession> | undefined;
	let current: LiveSession | undefined;
	let closed = false;
	let closedAs: SessionRecord | undefined;
	let movingTo: string | undefined;
	let fork: SessionFork | undefined;
	let isAnnounced = isKnown;
	let wasOpen = false;
	/** The last known file of the session, and whether it was ever seen. */
	let own: { header: FileHeader; file: string | undefined; isWritten: boolean } | undefined;

	const slot: OwnedSlot = {
		...stream,
		get record() {
			return record;
		},
		get fork() {
			return fork;
		},
		get current() {
			return current;
		},
		live() {
			if (current?.isBroken && !current.replacement) {
				current = undefined;
				opening = undefined; // again from its record
			}
			opening ??= open().catch((error) => {
				opening = undefined; // a retry may succeed
				throw error;
			});
			return opening;
		},
		async moving(file, move) {
			movingTo = file;
			try {
				return await move();
			} finally {
				movingTo = undefined;
			}
		},
		files() {
			const files = [current?.session.sessionFile, record.file, movingTo];
			return [...new Set(files)].flatMap((file) => realFile(file) ?? []);
		},
		folders: () => [...folders, ...(current ? [current.runtime.cwd] : [])],
		refresh() {
			if (!current || closed || current.isBroken) return false;
			const next = recordOf(current, record);
			if (JSON.stringify(next) === JSON.stringify(record)) return false;
			record = next;
			folders.add(next.cwd);
			return true;
		},
		info: () => infoOf(record, current, host),
		async close() {
			const opened = await opening?.catch(() => undefined);
			const live = opened?.isBroken ? undefined : opened;
			await live?.close();
			closed = true; // until here its events were sent
			closedAs = live && recordOf(live, record);
			current = undefined;
			opening = undefined;
		},
		keep() {
			const isUnknown = !closedAs && (host.wasCutOff || wasOpen);
			const cutOff = isUnknown && { ...record, settings: { ...record.settings, cutOff: true } };
			const last = closedAs ?? (cutOff || record);
			if (JSON.stringify(last) !== JSON.stringify(record)) save(last);
		},
		leave: leaveFile,
	};
	return slot;

	/** The principal owns the file before anything is said in it: it is never open to others. */
	function ownFile(live: LiveSession): void {
		const { sessionManager, sessionFile: file } = live.session;
		const header = sessionManager.getHeader();
		if (!header) return;
		if (header.id !== own?.header.id || file !== own.file) {
			leaveFile();
			own = { header, file, isWritten: false };
			owners.own(stream.principal, header);
		}
		own.isWritten ||= file !== undefined && existsSync(file);
	}

	/** A session without messages leaves no file, and needs no owner. */
	function leaveFile(): void {
		if (own && !own.isWritten && !(own.file && existsSync(own.file))) {
			owners.disown(stream.principal, own.header);
		}
		own = undefined;
	}

	async function open(): Promise<LiveSession> {
		const { file, cwd } = record;
		const settings = parseSettings(record.settings);
		if (!existsSync(cwd)) throw gone(record.id, "folder");
		if (file && !existsSync(file)) throw gone(record.id, "file");
		try {
			fork = file ? await forkIfOpen(file, cwd) : undefined;
			const path = fork?.file ?? file;
			current = await LiveSession.open({
				host,
				cwd,
				settings,
				...(path && { file: path }),
				// A broken session is like one of a crashed process.
				wasCutOff: host.wasCutOff || wasOpen || settings.cutOff === true,
				emit: (event) => {
					if (!closed) emit(stream, event);
				},
				onChange: () => {
					if (current && !current.isBroken) ownFile(current);
					if (slot.refresh()) save(record);
				},
			});
			ownFile(current);
			if (isAnnounced) announce();
			isAnnounced = true;
			wasOpen = true;
			return current;
		} catch (error) {
			fork?.discard();
			fork = undefined;
			throw asCommandError(error, "failed", [cwd]);
		}
	}

	/** Two processes that append to one file would corrupt it. */
	async function forkIfOpen(file: string, cwd: string): Promise<SessionFork | undefined> {
		const pid = (await host.piProcesses()).get(realFile(file) ?? file);
		return pid === undefined ? undefined : forkSession(file, { pid, cwd, agentDir: host.agentDir });
	}

	/** No command asked for this: clients learn it from events. */
	function announce(): void {
		if (slot.refresh()) save(record); // pi may have added to the file
		if (fork) {
			emit(stream, { type: "session_replaced", reason: "fork", sessionFile: fork.file });
			notify(fork.about.warning);
		}
		if (current?.warning) notify(current.warning);
	}

	/** Permanent: a later server that allows it must be asked again. */
	function withdrawTrust(): void {
		const { trustedCwd: _, ...settings } = record.settings;
		record = { ...record, settings };
		save(record);
		notify(
			"This server does not load settings, extensions and skills of projects. This session no longer trusts its project.",
		);
	}

	function notify(message: string): void {
		emit(stream, warningOf(message));
	}
}

function gone(id: string, what: "folder" | "file"): CommandError {
	return new CommandError(
		"wrong_state",
		`The ${what} of session "${id}" is no longer there: bring it back, or delete the session`,
	);
}

function realFile(file: string | undefined): string | undefined {
	try {
		return file && realpathSync(file);
	} catch {
		return undefined; // gone, so no other session can open it either
	}
}

function recordOf(
	live: LiveSession,
	{ principal, id, createdAtMs, file: known }: SessionRecord,
): SessionRecord {
	const { session, chosen, runtime } = live;
	const { sessionFile, model, sessionName } = session;
	const isWritten = sessionFile !== undefined && (sessionFile === known || existsSync(sessionFile));
	const lastEntry = lastEntryOf(session.sessionManager);
	const { lastInFile } = live;
	const settings: StoredSettings = {
		...chosen,
		piSessionId: session.sessionId,
		...(sessionName && { name: sessionName }),
		...(model && { model: { provider: model.provider, id: model.id } }),
		thinkingLevel: session.thinkingLevel,
		messageCount: session.messages.length,
		...(isWritten && lastEntry && { lastEntry }),
		...(isWritten && lastInFile && lastInFile !== lastEntry && { lastInFile }),
	};
	const file = isWritten && { file: sessionFile };
	return { principal, id, cwd: runtime.cwd, ...file, createdAtMs, settings: { ...settings } };
}

function infoOf(record: SessionRecord, live: LiveSession | undefined, host: Host): SessionInfo {
	const { settings, createdAt } = factsOf(record);
	const stored = settings.model;
	const model =
		live?.session.model ?? (stored && host.modelRuntime.getModel(stored.provider, stored.id));
	const level = live?.session.thinkingLevel ?? settings.thinkingLevel ?? "off";
	return {
		sessionId: record.id,
		...(settings.name && { sessionName: settings.name }),
		...(record.file && { sessionFile: record.file }),
		cwd: record.cwd,
		...(isTrusted(settings, record.cwd, host) && { projectTrusted: true }),
		...(model && { model: modelView(model) }),
		thinkingLevel: level as SessionInfo["thinkingLevel"],
		isStreaming: live?.session.isStreaming ?? false,
		messageCount: live?.session.messages.length ?? settings.messageCount ?? 0,
		createdAt,
	};
}

/** Worked out once for each record. */
const facts = new WeakMap<SessionRecord, { settings: StoredSettings; createdAt: string }>();

function factsOf(record: SessionRecord) {
	const known = facts.get(record);
	if (known) return known;
	const settings = parseSettings(record.settings);
	const found = { settings, createdAt: new Date(record.createdAtMs).toISOString() };
	facts.set(record, found);
	return found;
}

type PiModel = NonNullable<AgentSession["model"]>;

/** A model for clients: without addresses and headers, which may hold keys. */
export function modelView(model: PiModel): Model {
	const known = views.get(model);
	if (known) return known;
	const { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost } = model;
	const view = { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost };
	views.set(model, view);
	return view;
}

/** Needed with every state. */
const views = new WeakMap<PiModel, Model>();
