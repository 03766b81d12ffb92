import { basename } from "node:path";
import type { Later } from "../../core/later.ts";
import { type CommandType, type Data, rowOf } from "../../protocol/index.ts";
import { type Call, CommandError, type Done, type Handlers } from "../engine/call.ts";
import type {
	Claim,
	Recovered,
	SessionRecord,
	StreamName,
	UnheldSessions,
} from "../journal/journal.ts";
import { asCommandError, safeText } from "../safe-text.ts";
import { AnswerCache, answerInputs, cacheKeyOf } from "./answer-cache.ts";
import {
	HeldSession,
	type HeldSessionOptions,
	realFile,
	type SessionHandlers,
	type SessionOrigin,
} from "./held-session.ts";
import type { LiveSession } from "./live-session.ts";
import { lastEntryOf } from "./session-file.ts";
import { infoOf } from "./session-info.ts";

export interface SessionTableOptions extends HeldSessionOptions {
	/** Sessions of the last process; each is reopened on first use. */
	readonly recovered: Recovered["sessions"];
	/** Takes the name of a new session, which another server may have. */
	readonly reserve?: (name: StreamName) => Later<Claim>;
	/** Gives up the name of a session that could not be created. */
	readonly release?: (name: StreamName) => Promise<void>;
	/** Sessions that no server has. Absent if this one has all. */
	readonly unheld?: UnheldSessions | undefined;
	/** Takes a session for this server, if no other has it. */
	readonly claim?: (name: StreamName) => Later<unknown>;
	/** How many sessions of a principal other servers have. Absent if there are none. */
	readonly countElsewhere?: ((principal: string) => Promise<number>) | undefined;
	readonly maxSessions: number;
	/** Default: `maxSessions`. */
	readonly maxSessionsPerPrincipal?: number;
}

/** The server's sessions by principal and id, and their files and folders. */
export class SessionTable {
	readonly #options: SessionTableOptions;
	readonly #sessions = new Map<string, HeldSession>();
	/** Deleted for clients, but running work may still write to their files. */
	readonly #closing = new Set<HeldSession>();
	readonly #answers = new AnswerCache();

	constructor(options: SessionTableOptions) {
		this.#options = options;
		for (const { version: _version, ...record } of options.recovered) {
			this.#hold(record, "recovered");
		}
	}

	get count(): number {
		return this.#sessions.size;
	}

	get(principal: string, sessionId: string): HeldSession | undefined {
		return this.#sessions.get(keyOf(principal, sessionId));
	}

	/** @throws CommandError `unknown_session` */
	getOrThrow(principal: string, sessionId: string): HeldSession {
		const held = this.get(principal, sessionId);
		if (held) return held;
		const message = `There is no session "${sessionId}": create it, or see list_sessions`;
		throw new CommandError("unknown_session", message);
	}

	ownedBy(principal: string): HeldSession[] {
		return [...this.#sessions.values()].filter((held) => held.principal === principal);
	}

	names(): StreamName[] {
		return [...this.#sessions.values()].map(({ principal, sessionId }) => ({
			principal,
			sessionId,
		}));
	}

	/** Whether a run is in flight in any session. One in a terminal needs no server. */
	get isBusy(): boolean {
		return this.#withClosing().some(({ current }) => current?.session.isStreaming);
	}

	/** Sessions by the real path of each open file, closing sessions included. */
	openFiles(): Map<string, HeldSession> {
		const all = this.#withClosing();
		return new Map(all.flatMap((held) => held.files().map((file) => [file, held] as const)));
	}

	/** The session that follows this file, if the principal has one. */
	watching(principal: string, file: string): HeldSession | undefined {
		return this.ownedBy(principal).find(({ watches }) => watches === file);
	}

	folders(): string[] {
		return this.#withClosing().flatMap((held) => held.folders());
	}

	/** Waits until no session is moving to or from the file, so that its session is known. */
	async waitForMoves(file: string): Promise<void> {
		const move = () => this.openFiles().get(file)?.current?.replacement;
		for (let pending = move(); pending; pending = move()) await pending;
	}

	async add(record: SessionRecord): Promise<HeldSession> {
		this.#checkRoom(record);
		const held = this.#hold(record, "new");
		let isReserved = false;
		try {
			await this.#checkRoomElsewhere(record); // so that most refusals reserve no name
			const reserved = this.#options.reserve?.(held);
			const claim = reserved instanceof Promise ? await reserved : reserved;
			if (claim && claim.kind !== "held") throw exists(record.id);
			isReserved = claim !== undefined;
			await this.#checkRoomElsewhere(record);
			await held.live();
		} catch (error) {
			// Before the name is free here: the next session with it must not use a claim that is given up.
			if (isReserved) await this.#options.release?.(held).catch(() => {}); // the lease ends it
			this.#drop(held);
			throw error;
		}
		held.refreshRecord();
		return held;
	}

	/** Takes in a session that this server has claimed. It is opened on first use. */
	hold(record: SessionRecord, origin: SessionOrigin): void {
		this.#hold(record, origin);
	}

	/** Sessions in which nothing happens. */
	idle(): HeldSession[] {
		return [...this.#sessions.values()].filter(({ isIdle }) => isIdle);
	}

	/** Closes the pi of an idle session. The next command opens it again. */
	async rest(held: HeldSession): Promise<void> {
		this.#answers.evict(held);
		await held.rest();
	}

	/** Drops a session that rests, for any server to claim. */
	park(held: HeldSession): void {
		this.#drop(held);
	}

	/** Claims the principal's session that has this file, if no server has that session. */
	async claimParked(principal: string, file: string): Promise<void> {
		const { unheld, claim } = this.#options;
		if (!unheld || !claim) return;
		const isFile = (given: string | undefined) =>
			given !== undefined && basename(given) === basename(file) && realFile(given) === file;
		const found = (await unheld.of(principal)).find((record) => isFile(record.file));
		if (found) await claim({ principal, sessionId: found.id });
	}

	/** Sessions of the principal, also those that no server has, as clients see them. */
	async list(principal: string): Promise<Data<"SessionInfo">[]> {
		const unheld = (await this.#options.unheld?.of(principal)) ?? [];
		const own = this.ownedBy(principal).map((held) => held.info());
		const isOwn = new Set(own.map(({ sessionId }) => sessionId));
		const parked = unheld.filter(({ id }) => !isOwn.has(id));
		return [...own, ...parked.map((record) => infoOf(record, undefined, this.#options))];
	}

	/** Ends sessions that another server has now. Nothing of them is saved or sent. */
	async lose(names: readonly StreamName[]): Promise<void> {
		const lost = names.flatMap(({ principal, sessionId }) => this.get(principal, sessionId) ?? []);
		for (const held of lost) {
			this.#drop(held);
			this.#answers.evict(held);
			this.#closing.add(held);
		}
		await Promise.all(lost.map((held) => held.abandon().finally(() => this.#closing.delete(held))));
	}

	/** Closes sessions, so that another server can go on with them. */
	async release(names: readonly StreamName[]): Promise<void> {
		const left = names.flatMap(({ principal, sessionId }) => this.get(principal, sessionId) ?? []);
		for (const held of left) {
			this.#drop(held);
			this.#answers.evict(held);
			this.#closing.add(held);
		}
		await Promise.all(left.map((held) => held.close().finally(() => this.#closing.delete(held))));
		for (const held of left) held.saveClosed();
	}

	async remove(held: HeldSession): Promise<void> {
		this.#drop(held);
		this.#answers.evict(held);
		this.#closing.add(held);
		try {
			await held.close();
			held.disownUnwritten();
		} finally {
			this.#closing.delete(held);
		}
	}

	/** Wraps handlers: each opens its session first, and returns a changed record with its outcome. */
	bindHandlers<Given extends Partial<SessionHandlers>>(given: Given) {
		const entries = Object.entries(given).map(([type, run]) => [
			type,
			(call: Call) => this.#run(call, run as SessionHandlers[CommandType]),
		]);
		return Object.fromEntries(entries) as Pick<Handlers, keyof Given & CommandType>;
	}

	async close(): Promise<void> {
		const all = [...this.#sessions.values()];
		this.#sessions.clear();
		await Promise.all(all.map((held) => held.close()));
		for (const held of all) held.saveClosed();
	}

	#hold(record: SessionRecord, origin: SessionOrigin): HeldSession {
		const held = new HeldSession(record, this.#options, origin);
		this.#sessions.set(keyOf(record.principal, record.id), held);
		return held;
	}

	#withClosing(): HeldSession[] {
		return [...this.#closing, ...this.#sessions.values()];
	}

	#checkRoom({ principal, id }: SessionRecord): void {
		const { maxSessions, maxSessionsPerPrincipal = maxSessions } = this.#options;
		if (this.get(principal, id)) throw exists(id);
		const own = this.ownedBy(principal).length;
		const isFull = this.count >= maxSessions;
		if (isFull) throw full(`The server has ${this.count} sessions, which is its limit`);
		if (own >= maxSessionsPerPrincipal) throw tooMany(own);
	}

	/** After the name is taken: of two creations at once on different servers, each counts the other. */
	async #checkRoomElsewhere({ principal }: SessionRecord): Promise<void> {
		const { maxSessions, maxSessionsPerPrincipal = maxSessions, countElsewhere } = this.#options;
		if (!countElsewhere) return;
		const others = await countElsewhere(principal);
		const own = this.ownedBy(principal).length - 1;
		if (own + others >= maxSessionsPerPrincipal) throw tooMany(own + others);
	}

	#drop(held: HeldSession): void {
		const key = keyOf(held.principal, held.sessionId);
		if (this.#sessions.get(key) === held) this.#sessions.delete(key);
	}

	async #run(call: Call, run: SessionHandlers[CommandType]): Promise<Done> {
		const { command, principal } = call;
		const { effect, path } = rowOf(command.type) ?? {};
		const held = this.getOrThrow(principal, (command as { sessionId?: string }).sessionId ?? "");
		const before = held.record;
		const isPresent = () => this.get(principal, held.sessionId) === held;
		try {
			if (effect === "change") held.assertChangeable();
			const wasOpen = held.current !== undefined;
			const live = await held.live();
			if (!wasOpen) await call.turn?.();
			const answer = () => run(live, command as never, { held, call: call as never });
			if (effect !== "change") {
				const inputs = isPresent() ? answerInputs(command, live) : undefined;
				if (!inputs) return doneWith(await answer());
				return this.#answers.answer(held, cacheKeyOf(command), inputs, answer);
			}
			live.revision++;
			const change = async () => doneWith(await answer());
			// Only lane commands are guarded. Control commands must work even if the file is damaged.
			const changed = path === "lane" ? guarded(live, change) : change();
			const done = await changed.finally(() => live.revision++);
			held.refreshRecord();
			return { ...done, ...(isPresent() && held.record !== before && { session: held.record }) };
		} catch (error) {
			throw asCommandError(error);
		}
	}
}

function exists(id: string): CommandError {
	return new CommandError("session_exists", `Session "${id}" already exists`);
}

function tooMany(count: number): CommandError {
	return full(`You have ${count} sessions, which is the limit for one principal`);
}

function full(limit: string): CommandError {
	return new CommandError("limit_reached", `${limit}: delete a session first`);
}

/** Unambiguous, because a principal's name has no space. */
function keyOf(principal: string, sessionId: string): string {
	return `${principal} ${sessionId}`;
}

function doneWith(data: unknown): Done {
	return { data: data === undefined ? {} : data };
}

/** Checks the session's file before and after a change. */
async function guarded(live: LiveSession, change: () => Promise<Done>): Promise<Done> {
	live.guard.check();
	const { sessionManager } = live.session;
	const last = lastEntryOf(sessionManager);
	try {
		const done = await change();
		const notDurable = lossIn(live);
		return { ...done, ...(notDurable && { notDurable }) };
	} catch (error) {
		const loss = lossIn(live);
		// If pi has a new entry, the change succeeded: pi keeps an entry that it could not append.
		if (lastEntryOf(sessionManager) === last || !isSystemError(error)) throw error;
		const repaired = `The command was carried out, but pi could not write to the session's file (${safeText(error)}). The file is complete again.`;
		return { notDurable: loss ?? repaired };
	}
}

function lossIn(live: LiveSession): string | undefined {
	try {
		live.guard.check();
		return undefined;
	} catch (error) {
		return `The command was carried out, but its effect may be lost. ${asCommandError(error).message}`;
	}
}

function isSystemError(error: unknown): boolean {
	return error instanceof Error && ("syscall" in error || isSystemError(error.cause));
}
