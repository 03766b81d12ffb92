import { existsSync, realpathSync } from "node:fs";
import type { SessionEvent, SessionInfo } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { SessionRecord, StreamName } from "../journal/journal.ts";
import { asCommandError } from "../safe-text.ts";
import type { FileHeader, FileOwners } from "./file-owners.ts";
import { type Host, isTrusted, type LiveSession, openLiveSession } from "./live-session.ts";
import { modelView } from "./model-view.ts";
import { notice } from "./notice.ts";
import { lastEntryOf } from "./pi-session-file.ts";
import { forkSession, type PiProcesses, type SessionFork } from "./session-fork.ts";
import { parseSettings, type StoredSettings } from "./stored-settings.ts";

/** The place of one session: its record, and its pi once it was first used. */
export interface Slot extends StreamName {
	/** As it should be in the journal. A new object whenever something in it changes. */
	readonly record: SessionRecord;
	/** What the session works on, if a running pi had its file open when it was last opened. */
	readonly fork: SessionFork | undefined;
	/** The session, if it is open. */
	readonly current: LiveSession | undefined;
	/** Opens the session if it is not open yet. */
	live(): Promise<LiveSession>;
	/** Runs `move`, which puts the session into another file: meanwhile that one is taken already. */
	moving<T>(file: string, move: () => Promise<T>): Promise<T>;
	/** The files that nobody else may open now. */
	files(): string[];
	/** The folders it has worked in since it was opened. */
	folders(): string[];
	/** Brings the record up to date with the session. Returns whether it changed. */
	refresh(): boolean;
	info(): SessionInfo;
}

/** A slot as those see it who keep it. */
export interface OwnedSlot extends Slot {
	/** Closes the session. */
	close(): Promise<void>;
	/** Writes down for the next process what extensions have added while the session was closed, or that it is not known. */
	keep(): void;
	/** The session is gone for good, and nothing runs in it any more. */
	leave(): void;
}

export interface SlotOptions {
	host: Host;
	emit(stream: StreamName, event: SessionEvent): void;
	/** The record changed outside a command. */
	save(session: SessionRecord): void;
	/** Told of the files that sessions have, or will have. */
	owners: Pick<FileOwners, "own" | "disown">;
	piProcesses: PiProcesses;
	/** The process before did not end by itself: files may hold more of its work than the records say. */
	wasCutOff?: boolean;
	/** Clients know the session already. Default: it is new. */
	isKnown?: boolean;
}

/** A place for a session that is not open yet. */
export function createSlot(first: SessionRecord, options: SlotOptions): OwnedSlot {
	const { host, emit, save, owners } = options;
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
	let isKnown = options.isKnown ?? false;
	let wasOpen = false;
	/** The file that the session was last known to have, and whether it was ever seen. */
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
			if (current?.isBroken() && !current.replacementUnderWay()) {
				current = undefined;
				opening = undefined; // from its record once more
			}
			opening ??= open().catch((error) => {
				opening = undefined; // what is missing may come back
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
			// Pi's own first: the record follows when a command or a run has ended.
			const files = [current?.session.sessionFile, record.file, movingTo];
			return [...new Set(files)].flatMap((file) => realFile(file) ?? []);
		},
		folders: () => [...folders, ...(current ? [current.runtime.cwd] : [])],
		refresh() {
			if (!current || closed || current.isBroken()) return false;
			const next = recordOf(current, record);
			if (JSON.stringify(next) === JSON.stringify(record)) return false;
			record = next;
			folders.add(next.cwd);
			return true;
		},
		info: () => infoOf(record, current, host),
		async close() {
			const opened = await opening?.catch(() => undefined);
			const live = opened?.isBroken() ? undefined : opened;
			// What stops now still tells its subscribers.
			await live?.close();
			closed = true;
			closedAs = live && recordOf(live, record);
			current = undefined;
			opening = undefined;
		},
		keep() {
			const isUnknown = !closedAs && (options.wasCutOff || wasOpen);
			const cutOff = isUnknown && { ...record, settings: { ...record.settings, cutOff: true } };
			const last = closedAs ?? (cutOff || record);
			if (JSON.stringify(last) !== JSON.stringify(record)) save(last);
		},
		leave: leaveFile,
	};
	return slot;

	/** Before anything is said in a session, its file is the principal's: there is no moment in which it is everybody's. */
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

	/** A session in which nothing was said leaves no file, and need not be remembered. */
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
			current = await openLiveSession({
				host,
				cwd,
				settings,
				...(path && { file: path }),
				// A session that broke is like one of a process that did.
				wasCutOff: options.wasCutOff || wasOpen || settings.cutOff === true,
				emit: (event) => {
					if (!closed) emit(stream, event);
				},
				onChange: () => {
					if (current && !current.isBroken()) ownFile(current);
					if (slot.refresh()) save(record);
				},
			});
			ownFile(current);
			if (isKnown) {
				if (fork) announce(fork);
				if (current.warning) emit(stream, notice(current.warning, "warning"));
				if (slot.refresh()) save(record); // pi may have added to the file
			}
			isKnown = true;
			wasOpen = true;
			return current;
		} catch (error) {
			fork?.discard();
			fork = undefined;
			throw asCommandError(error, "failed", [cwd]);
		}
	}

	/** Two processes that append to one file would ruin it. */
	async function forkIfOpen(file: string, cwd: string): Promise<SessionFork | undefined> {
		const pid = (await options.piProcesses()).get(realFile(file) ?? file);
		return pid === undefined ? undefined : forkSession({ file, pid, cwd, agentDir: host.agentDir });
	}

	/** No command asked for this: clients learn it from events. */
	function announce({ file, about }: SessionFork): void {
		if (slot.refresh()) save(record);
		emit(stream, { type: "session_replaced", reason: "fork", sessionFile: file });
		notify(about.warning);
	}

	/** For good: a later server that allows it again must be asked again. */
	function withdrawTrust(): void {
		const { trustedCwd: _, ...settings } = record.settings;
		record = { ...record, settings };
		save(record);
		notify(
			"This server does not load settings, extensions and skills of projects. This session no longer trusts its project.",
		);
	}

	function notify(message: string): void {
		emit(stream, notice(message, "warning"));
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
		return undefined; // gone, so nobody can open it a second time either
	}
}

function recordOf(
	live: LiveSession,
	{ principal, id, createdAtMs, file }: SessionRecord,
): SessionRecord {
	const { session, chosen, runtime } = live;
	const { sessionFile, model, sessionName } = session;
	const isWritten = sessionFile !== undefined && (sessionFile === file || existsSync(sessionFile));
	const lastEntry = lastEntryOf(session.sessionManager);
	const lastInFile = live.lastInFile();
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
	return {
		principal,
		id,
		cwd: runtime.cwd,
		...(isWritten && { file: sessionFile }),
		createdAtMs,
		settings: { ...settings },
	};
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

interface Facts {
	readonly settings: StoredSettings;
	readonly createdAt: string;
}

/** Worked out once for each record, which is replaced and never changed. */
const facts = new WeakMap<SessionRecord, Facts>();

function factsOf(record: SessionRecord): Facts {
	const known = facts.get(record);
	if (known) return known;
	const settings = parseSettings(record.settings);
	const found = { settings, createdAt: new Date(record.createdAtMs).toISOString() };
	facts.set(record, found);
	return found;
}
