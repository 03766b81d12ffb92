import { existsSync, realpathSync } from "node:fs";
import type { CommandOf, CommandType, Data, ResponseData } from "../../protocol/index.ts";
import type { Call } from "../engine/call.ts";
import type { ConversationStore, SessionRecord, StreamName } from "../journal/journal.ts";
import { asCommandError, wrongState } from "../safe-text.ts";
import { Conversation } from "./conversation.ts";
import { warningEvent } from "./dialogs.ts";
import type { FileOwners } from "./file-owners.ts";
import { LiveSession } from "./live-session.ts";
import { forkSession, type PiProcesses, type SessionFork } from "./open-session-file.ts";
import { OwnFile } from "./own-file.ts";
import type { PiOptions } from "./pi-runtime.ts";
import { restoreConversation } from "./restore-conversation.ts";
import { infoOf } from "./session-info.ts";
import { SessionMirror } from "./session-mirror.ts";
import { parseSettings, type StoredSettings } from "./stored-settings.ts";

/** Runs in the open session and returns the response's `data`; `undefined` becomes an empty object. */
type SessionHandler<Type extends CommandType> = (
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

/**
 * `recovered`: the last process of this data folder had it, or this one, so the file on this machine is the newest.
 * `claimed`: another server may have had it since.
 */
export type SessionOrigin = "new" | "recovered" | "claimed";

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
	/** Whether the journal may know entries that the file on this machine lacks. */
	#mustRestore: boolean;
	readonly #origin: SessionOrigin;
	#wasOpen = false;
	/** The record is that of a session that was closed in order. */
	#isIntact = false;
	#resting: Promise<void> | undefined;
	/** When it was last used, by a monotonic clock. */
	usedMs = performance.now();
	#isClosed = false;
	#closedAs: SessionRecord | undefined;
	readonly #conversation: Conversation | undefined;
	readonly #ownFile: OwnFile;

	constructor(record: SessionRecord, options: HeldSessionOptions, origin: SessionOrigin) {
		this.principal = record.principal;
		this.sessionId = record.id;
		this.#options = options;
		this.#folders = new Set([record.cwd]);
		this.record = record;
		this.#isKnown = origin !== "new";
		this.#origin = origin;
		this.#mustRestore = origin !== "new";
		this.#ownFile = new OwnFile(options.owners, record.principal);
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
		this.usedMs = performance.now();
		if (this.#resting) return this.#resting.then(() => this.live());
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

	/** Whether it can be closed without interrupting anything. */
	get isIdle(): boolean {
		if (this.#resting || this.#movingTo !== undefined) return false;
		if (this.#opening && !this.current) return false;
		return this.current?.isBusy !== true;
	}

	/** Closes pi. The next use opens it again, from its record. */
	rest(): Promise<void> {
		this.#resting ??= this.#rest().finally(() => {
			this.#resting = undefined;
		});
		return this.#resting;
	}

	async #rest(): Promise<void> {
		const live = this.current;
		try {
			await live?.close();
			this.#conversation?.flush();
			if (!live || live.isBroken) return;
			const record = live.recordAfter(this.record);
			if (JSON.stringify(record) !== JSON.stringify(this.record)) this.#options.save(record);
			this.record = record;
			this.#wasOpen = false;
			this.#isIntact = true;
		} catch {
			// The next use opens it as after a crash.
		} finally {
			this.#mirror?.close();
			this.#mirror = undefined;
			this.current = undefined;
			this.#opening = undefined;
		}
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
		const next = this.current.recordAfter(this.record);
		if (JSON.stringify(next) === JSON.stringify(this.record)) return false;
		this.record = next;
		this.#folders.add(next.cwd);
		return true;
	}

	info(): Data<"SessionInfo"> {
		const info = infoOf(this.record, this.current, this.#options);
		if (this.watches === undefined) return info;
		const pid = this.#mirror?.piProcess;
		return { ...info, watched: pid === undefined ? {} : { piProcess: pid } };
	}

	async close(): Promise<void> {
		await this.#resting;
		const opened = await this.#opening?.catch(() => undefined);
		const live = opened?.isBroken ? undefined : opened;
		await live?.close();
		this.#mirror?.close();
		this.#mirror = undefined;
		this.#conversation?.flush();
		this.#isClosed = true; // up to here, pi's events are sent
		this.#closedAs = live?.recordAfter(this.record);
		this.current = undefined;
		this.#opening = undefined;
	}

	/** Ends the session without events: another server has it. */
	async abandon(): Promise<void> {
		this.#isClosed = true;
		await this.#resting;
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
		const isKnown = this.#closedAs !== undefined || this.#isIntact;
		const isUnknown = !isKnown && (this.#options.afterCrash || this.#wasOpen);
		const cutOff = isUnknown && { ...record, settings: { ...record.settings, cutOff: true } };
		const last = this.#closedAs ?? (cutOff || record);
		if (JSON.stringify(last) !== JSON.stringify(record)) this.#options.save(last);
	}

	/** Disowns a file that was never written, as in a session without messages. */
	disownUnwritten(): void {
		this.#ownFile.disownUnwritten();
	}

	async #open(): Promise<LiveSession> {
		const options = this.#options;
		const isRewritten = await this.#restore();
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
				afterCrash:
					(options.afterCrash && !this.#isIntact) ||
					this.#wasOpen ||
					isRewritten ||
					settings.cutOff === true,
				emit: (event) => this.#emit(event),
				onChange: () => {
					if (this.current && !this.current.isBroken) this.#ownFile.own(this.current.session);
					this.#saveIfChanged();
				},
			});
			this.current = live;
			this.#conversation?.keep();
			this.#ownFile.own(live.session);
			if (this.#isKnown) this.#announce(live.warning);
			this.#isKnown = true;
			this.#wasOpen = true;
			this.#isIntact = false;
			return live;
		} catch (error) {
			this.fork?.discard();
			this.fork = undefined;
			throw asCommandError(error, "failed", [cwd]);
		}
	}

	/** Brings pi's file up to the journal. Resolves to whether the file may be newer than the record. */
	async #restore(): Promise<boolean> {
		const { conversations: store, agentDir, piProcesses } = this.#options;
		if (!store || !this.#conversation || !this.#mustRestore || !existsSync(this.record.cwd)) {
			return false;
		}
		const isOwn = this.#origin === "recovered";
		const openInPi = await piProcesses();
		const found = await restoreConversation(this.record, { store, agentDir, openInPi, isOwn });
		this.record = found.record;
		if (found.restored) this.#conversation.noteRestored(found.restored);
		this.#mustRestore = false;
		return found.isRewritten === true || !isOwn;
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
		this.usedMs = performance.now();
		if (!this.#isClosed) this.#options.emit(this, event);
	}
}

function missing(id: string, part: "folder" | "file"): Error {
	const state = `The ${part} of session "${id}" no longer exists`;
	return wrongState(`${state}: restore it, or delete the session`);
}

export function realFile(file: string | undefined): string | undefined {
	try {
		return file && realpathSync(file);
	} catch {
		return undefined; // a missing file cannot be open in any session
	}
}
