import { existsSync, realpathSync } from "node:fs";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { CommandOf, CommandType, Data, ResponseData } from "../../protocol/index.ts";
import type { Call } from "../engine/call.ts";
import type { ConversationStore, SessionRecord, StreamName } from "../journal/journal.ts";
import { asCommandError, wrongState } from "../safe-text.ts";
import { Conversation, restoreConversation } from "./conversation.ts";
import { warningEvent } from "./dialogs.ts";
import type { FileOwners } from "./file-owners.ts";
import { LiveSession } from "./live-session.ts";
import { forkSession, type PiProcesses, type SessionFork } from "./open-session-file.ts";
import { isTrusted, type PiOptions } from "./pi-runtime.ts";
import { lastEntryOf } from "./session-file.ts";
import { SessionMirror } from "./session-mirror.ts";
import type { FileHeader } from "./stored-sessions.ts";
import { parseSettings, type StoredSettings } from "./stored-settings.ts";

/** Runs in the open session and returns the response's `data`; `undefined` becomes an empty object. */
export type SessionHandler<Type extends CommandType> = (
	live: LiveSession,
	command: CommandOf<Type>,
	context: { held: HeldSession; call: Call<Type> },
) => Answer<Type> | Promise<Answer<Type>>;

type Answer<Type extends CommandType> =
	| ResponseData[Type]
	// biome-ignore lint/suspicious/noConfusingVoidType: such a handler has no return value
	| (object extends ResponseData[Type] ? void : never);

export type SessionHandlers = { readonly [Name in CommandType]: SessionHandler<Name> };

export interface HeldSessionOptions extends PiOptions {
	emit(stream: StreamName, event: Data<"SessionEvent">): void;
	save(session: SessionRecord): void;
	readonly owners: Pick<FileOwners, "own" | "disown">;
	readonly piProcesses: PiProcesses;
	/** Private folder for copies of session files that are watched. Absent: nothing can be watched. */
	readonly watchFolder?: string;
	/** Keeps conversations beside pi's files, if other servers may have to go on with them. */
	readonly conversations?: ConversationStore | undefined;
	/** Whether the last server process crashed. Files may then be newer than their records. Default: false. */
	readonly afterCrash?: boolean;
}

/** One session of the server: its record and, from its first use on, a running pi. */
export class HeldSession implements StreamName {
	readonly principal: string;
	readonly sessionId: string;
	readonly #options: HeldSessionOptions;
	readonly #folders: Set<string>;
	// These three are read-only for callers.
	/** Immutable. Each change creates a new object. */
	record: SessionRecord;
	current: LiveSession | undefined;
	fork: SessionFork | undefined;
	#opening: Promise<LiveSession> | undefined;
	#movingTo: string | undefined;
	#mirror: SessionMirror | undefined;
	/** Whether clients know the session, and so need events about its changes. */
	#isKnown: boolean;
	#isClaimed: boolean;
	#wasOpen = false;
	#isClosed = false;
	#closedAs: SessionRecord | undefined;
	readonly #conversation: Conversation | undefined;
	/** The last known file, and whether it was ever on disk. */
	#ownFile: { header: FileHeader; file: string | undefined; isWritten: boolean } | undefined;

	/** `isClaimed`: another server may have had the session last, so this one's file may be old. */
	constructor(
		record: SessionRecord,
		options: HeldSessionOptions,
		isKnown: boolean,
		isClaimed = false,
	) {
		this.principal = record.principal;
		this.sessionId = record.id;
		this.#options = options;
		this.#folders = new Set([record.cwd]);
		this.record = record;
		this.#isKnown = isKnown;
		this.#isClaimed = isClaimed;
		// What is watched is the file of another program: it is neither kept nor written here.
		const store = this.watches === undefined ? options.conversations : undefined;
		this.#conversation =
			store &&
			new Conversation({
				store,
				name: this,
				manager: () => (this.current?.isBroken ? undefined : this.current?.session.sessionManager),
				emit: (event) => this.#emitNow(event),
			});
		if (!options.allowProjectTrust && "trustedCwd" in record.settings) this.#withdrawTrust();
	}

	live(): Promise<LiveSession> {
		if (this.current?.isBroken && !this.current.replacement) {
			this.current = undefined;
			this.#opening = undefined; // open it again, from its record
		}
		this.#opening ??= this.#open().catch((error) => {
			this.#opening = undefined; // a retry may succeed
			throw error;
		});
		return this.#opening;
	}

	/** While `move` runs, `file` counts as open in this session. */
	async whileMovingTo<T>(file: string, move: () => Promise<T>): Promise<T> {
		this.#movingTo = file;
		try {
			return await move();
		} finally {
			this.#movingTo = undefined;
		}
	}

	files(): string[] {
		const files = [this.current?.session.sessionFile, this.record.file, this.#movingTo];
		return [...new Set(files)].flatMap((file) => realFile(file) ?? []);
	}

	folders(): string[] {
		return [...this.#folders, ...(this.current ? [this.current.runtime.cwd] : [])];
	}

	/** Updates the record from the running pi. Returns whether it changed. */
	refreshRecord(): boolean {
		this.#conversation?.keep();
		if (!this.current || this.#isClosed || this.current.isBroken) return false;
		const next = recordOf(this.current, this.record);
		if (JSON.stringify(next) === JSON.stringify(this.record)) return false;
		this.record = next;
		this.#folders.add(next.cwd);
		return true;
	}

	info(): Data<"SessionInfo"> {
		const { id, file, cwd } = this.record;
		const { settings, createdAt } = parsedRecord(this.record);
		const { name, model: stored } = settings;
		const session = this.current?.session;
		const { modelRuntime } = this.#options;
		const model = session?.model ?? (stored && modelRuntime.getModel(stored.provider, stored.id));
		const level = session?.thinkingLevel ?? settings.thinkingLevel ?? "off";
		return {
			sessionId: id,
			...(name && { sessionName: name }),
			...((settings.watches ?? file) && { sessionFile: settings.watches ?? file }),
			...(settings.watches !== undefined && { watched: this.#watchedBy() }),
			cwd,
			...(isTrusted(settings, cwd, this.#options) && { projectTrusted: true }),
			...(model && { model: modelView(model) }),
			thinkingLevel: level as Data<"SessionInfo">["thinkingLevel"],
			isStreaming: session?.isStreaming ?? false,
			messageCount: session?.messages.length ?? settings.messageCount ?? 0,
			createdAt,
		};
	}

	#watchedBy(): NonNullable<Data<"SessionInfo">["watched"]> {
		const pid = this.#mirror?.piProcess;
		return pid === undefined ? {} : { piProcess: pid };
	}

	async close(): Promise<void> {
		const opened = await this.#opening?.catch(() => undefined);
		const live = opened?.isBroken ? undefined : opened;
		await live?.close();
		this.#mirror?.close();
		this.#mirror = undefined;
		this.#conversation?.flush();
		this.#isClosed = true; // up to here, pi's events are sent
		this.#closedAs = live && recordOf(live, this.record);
		this.current = undefined;
		this.#opening = undefined;
	}

	/** Ends the session without a word: another server has it. */
	async abandon(): Promise<void> {
		this.#isClosed = true;
		const live = await this.#opening?.catch(() => undefined);
		await live?.close().catch(() => {});
		this.#mirror?.close();
		this.#mirror = undefined;
		this.current = undefined;
		this.#opening = undefined;
	}

	/** Saves the final record. After a failed close or a crash, marks it: the file may be newer (`cutOff`). */
	saveClosed(): void {
		const { record } = this;
		const isUnknown = !this.#closedAs && (this.#options.afterCrash || this.#wasOpen);
		const cutOff = isUnknown && { ...record, settings: { ...record.settings, cutOff: true } };
		const last = this.#closedAs ?? (cutOff || record);
		if (JSON.stringify(last) !== JSON.stringify(record)) this.#options.save(last);
	}

	/** Disowns a file that was never written, as in a session without messages. */
	disownUnwritten(): void {
		const own = this.#ownFile;
		if (own && !own.isWritten && !(own.file && existsSync(own.file))) {
			this.#options.owners.disown(this.principal, own.header);
		}
		this.#ownFile = undefined;
	}

	/** Called before the file is written, so that other principals never see it. */
	#claimFile(live: LiveSession): void {
		const { sessionManager, sessionFile: file } = live.session;
		const header = sessionManager.getHeader();
		if (!header) return;
		if (header.id !== this.#ownFile?.header.id || file !== this.#ownFile.file) {
			this.disownUnwritten();
			this.#ownFile = { header, file, isWritten: false };
			this.#options.owners.own(this.principal, header);
		}
		this.#ownFile.isWritten ||= file !== undefined && existsSync(file);
	}

	async #open(): Promise<LiveSession> {
		const options = this.#options;
		const wasClaimed = this.#isClaimed;
		const { conversations } = options;
		if (wasClaimed && conversations && this.#conversation && existsSync(this.record.cwd)) {
			const { agentDir, piProcesses } = options;
			const openInPi = await piProcesses();
			const found = await restoreConversation(this.record, conversations, agentDir, openInPi);
			this.record = found.record;
			if (found.restored) this.#conversation.noteRestored(found.restored);
			this.#isClaimed = false;
		}
		const { file, cwd, id } = this.record;
		const settings = parseSettings(this.record.settings);
		if (!existsSync(cwd)) throw missing(id, "folder");
		if (settings.watches !== undefined) return await this.#watch(settings.watches, settings);
		if (file && !existsSync(file)) throw missing(id, "file");
		try {
			// Fork a file that pi has open: two processes appending to it would corrupt it.
			const pid = file && (await options.piProcesses()).get(realFile(file) ?? file);
			const { agentDir } = options;
			this.fork = file && pid ? forkSession(file, { pid, cwd, agentDir }) : undefined;
			const path = this.fork?.file ?? file;
			const live = await LiveSession.open({
				pi: options,
				cwd,
				settings,
				...(path && { file: path }),
				// A session is opened again only after it broke, which counts as a crash.
				afterCrash: options.afterCrash || this.#wasOpen || wasClaimed || settings.cutOff === true,
				emit: (event) => this.#emit(event),
				onChange: () => {
					if (this.current && !this.current.isBroken) this.#claimFile(this.current);
					this.#saveIfChanged();
				},
			});
			this.current = live;
			this.#conversation?.keep();
			this.#claimFile(live);
			if (this.#isKnown) this.#announce(live.warning);
			this.#isKnown = true;
			this.#wasOpen = true;
			return live;
		} catch (error) {
			this.fork?.discard();
			this.fork = undefined;
			throw asCommandError(error, "failed", [cwd]);
		}
	}

	/** Opens a copy that follows the file of another process. */
	async #watch(original: string, settings: StoredSettings): Promise<LiveSession> {
		const options = this.#options;
		const { piProcesses, watchFolder: folder } = options;
		const { cwd, id } = this.record;
		if (folder === undefined)
			throw wrongState("This server cannot watch sessions of other programs");
		if (!existsSync(original)) throw missing(id, "file");
		this.#mirror?.close();
		const mirror = await SessionMirror.open({ original, folder, piProcesses });
		this.#mirror = mirror;
		try {
			const live = await LiveSession.open({
				pi: options,
				cwd,
				settings,
				file: mirror.path,
				mirror,
				emit: (event) => {
					if (!this.#isClosed) options.emit(this, event);
				},
				onChange: () => this.#saveIfChanged(),
			});
			this.current = live;
			this.#isKnown = true;
			this.#wasOpen = true;
			return live;
		} catch (error) {
			mirror.close();
			throw asCommandError(error, "failed", [cwd]);
		}
	}

	/** The file that the session follows, if it is one in a terminal. */
	get watches(): string | undefined {
		const { watches } = this.record.settings;
		return typeof watches === "string" ? watches : undefined;
	}

	/** @throws CommandError `wrong_state` in a session that only follows another. */
	assertChangeable(): void {
		if (this.watches === undefined) return;
		const pid = this.#mirror?.piProcess;
		const where = pid === undefined ? "was opened to watch" : `runs in a terminal (process ${pid})`;
		throw wrongState(
			`This session ${where} and is read-only here: go on in the terminal, or open its file without watching it, which works on a copy while pi runs`,
		);
	}

	/** Sends events, because no response reports these changes. */
	#announce(warning: string | undefined): void {
		this.#saveIfChanged(); // pi may have added entries on opening
		if (this.fork) {
			const { file, about } = this.fork;
			const event = { type: "session_replaced", reason: "fork", sessionFile: file } as const;
			this.#emit(event);
			this.#warn(about.warning);
		}
		if (warning) this.#warn(warning);
	}

	/** Permanent: if the server allows trust later, a client must request it again. */
	#withdrawTrust(): void {
		const { trustedCwd: _, ...settings } = this.record.settings;
		this.record = { ...this.record, settings };
		this.#options.save(this.record);
		this.#warn(
			"This server does not load settings, extensions or skills from projects. This session no longer trusts its project.",
		);
	}

	#saveIfChanged(): void {
		if (this.refreshRecord()) this.#options.save(this.record);
	}

	#warn(message: string): void {
		this.#emit(warningEvent(message));
	}

	#emit(event: Data<"SessionEvent">): void {
		if (this.#conversation) this.#conversation.emit(event);
		else this.#emitNow(event);
	}

	#emitNow(event: Data<"SessionEvent">): void {
		if (!this.#isClosed) this.#options.emit(this, event);
	}
}

function missing(id: string, part: "folder" | "file"): Error {
	const state = `The ${part} of session "${id}" no longer exists`;
	return wrongState(`${state}: restore it, or delete the session`);
}

function realFile(file: string | undefined): string | undefined {
	try {
		return file && realpathSync(file);
	} catch {
		return undefined; // a missing file cannot be open in any session
	}
}

function recordOf(live: LiveSession, before: SessionRecord): SessionRecord {
	const { principal, id, createdAtMs, file: known } = before;
	const { session, chosen, runtime } = live;
	const { sessionFile, model, sessionName } = session;
	const isWritten = sessionFile !== undefined && (sessionFile === known || existsSync(sessionFile));
	const lastEntry = lastEntryOf(session.sessionManager);
	const lastInFile = live.guard.lastInFile;
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
	if (chosen.watches !== undefined) {
		// The copy and its entries are no state: the next process makes another.
		const { lastEntry: _, lastInFile: __, ...kept } = settings;
		return { principal, id, cwd: before.cwd, createdAtMs, settings: kept };
	}
	const file = isWritten && { file: sessionFile };
	return { principal, id, cwd: runtime.cwd, ...file, createdAtMs, settings };
}

const parsedRecords = new WeakMap<SessionRecord, { settings: StoredSettings; createdAt: string }>();

/** Memoized: every listing needs it. */
function parsedRecord(record: SessionRecord) {
	return getOrAdd(parsedRecords, record, () => ({
		settings: parseSettings(record.settings),
		createdAt: new Date(record.createdAtMs).toISOString(),
	}));
}

type PiModel = NonNullable<AgentSession["model"]>;

const modelViews = new WeakMap<PiModel, Data<"Model">>();

/** The model without addresses and headers, which may hold keys. Memoized. */
export function modelView(model: PiModel): Data<"Model"> {
	return getOrAdd(modelViews, model, () => {
		const { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost } = model;
		return { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost };
	});
}
