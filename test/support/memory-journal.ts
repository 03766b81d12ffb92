import type { Response } from "../../src/protocol/index.ts";
import {
	type AdmittedCommand,
	type CommandHistoryEntry,
	type CommandHistoryQuery,
	type CommandName,
	type FinishedCommand,
	type Journal,
	JournalUnavailable,
	KEY_LIFE_MS,
	type KeyScope,
	type Ownership,
	type Recovered,
	type SessionRecord,
	type StoredCommand,
	type StreamEvent,
	type StreamName,
} from "../../src/server/journal/journal.ts";

/** A journal without a disk, for tests: it commits and fails on demand, and can lose uncommitted records. */
export interface MemoryJournal extends Journal {
	byId(principal: string, id: string): StoredCommand | undefined;
	byKey(scope: KeyScope, key: string): StoredCommand | undefined;
	find(names: readonly CommandName[]): (StoredCommand | undefined)[];
	events(stream: StreamName, after: number, limit: number): StreamEvent[];
	extent(stream: StreamName): { first: number; last: number };
	commandHistory(query: CommandHistoryQuery): CommandHistoryEntry[];
	/** `at-once`: in the same turn of the event loop. `manual`: when `commit` is called. */
	mode: "at-once" | "manual";
	/** Makes everything written so far durable, in order. */
	commit(): void;
	/** From now on every write is refused, uncommitted records included. */
	break(why: string): void;
	mend(): void;
	/** From now on looking up ids, keys and owners throws. */
	unreadable: boolean;
	/** The committed part of this journal, as a new process would find it. */
	reopen(): MemoryJournal;
	/** Records so far, in the order in which they came, committed or not. */
	readonly written: readonly WrittenRecord[];
}

export type WrittenRecord =
	| { kind: "admit"; command: AdmittedCommand }
	| FinishRecord
	| { kind: "note"; command: FinishedCommand }
	| { kind: "session"; session: SessionRecord }
	| ({ kind: "owner"; owns: boolean } & Ownership)
	| { kind: "event"; event: StreamEvent };

interface FinishRecord {
	kind: "finish";
	command: FinishedCommand;
}

export interface MemoryJournalOptions {
	mode?: "at-once" | "manual";
	now?: () => number;
	/** Its initial records. */
	records?: readonly WrittenRecord[];
	/** Whether the last process closed it. */
	closed?: boolean;
}

interface Pending {
	resolve(): void;
	reject(error: Error): void;
}

export function createMemoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
	const { now = Date.now } = options;
	const written: WrittenRecord[] = [...(options.records ?? [])];
	const view = createView();
	for (const record of written) view.take(record);
	const recovered = view.recover(now(), options.closed !== true && written.length > 0);
	// On disk from now on: the next process does not find them interrupted again.
	for (const command of recovered.interrupted) {
		written.push({ kind: "finish", command: command as FinishedCommand });
	}
	let committed = written.length;
	let pending: Pending[] = [];
	let broken: string | undefined;
	let closed = false;
	let commits = 0;

	function write(record: WrittenRecord): Promise<void> {
		if (broken !== undefined) {
			if (record.kind === "finish") owe(record);
			return Promise.reject(unavailable(broken));
		}
		written.push(structuredClone(record));
		view.take(record);
		if (journal.mode === "at-once") {
			committed = written.length;
			commits += 1;
			return Promise.resolve();
		}
		return new Promise((resolve, reject) => pending.push({ resolve, reject }));
	}

	/** A finished command is recorded once writes work again. */
	function owe(record: FinishRecord): void {
		if (!written.includes(record)) {
			written.push(record);
			view.take(record);
		}
		const stored = view.commands.get(record.command.principal)?.get(record.command.id);
		if (stored) stored.unsaved = true;
	}

	function readable(): void {
		if (journal.unreadable) throw new Error("the journal cannot be read");
	}

	const journal: MemoryJournal = {
		mode: options.mode ?? "at-once",
		unreadable: false,
		written,
		recovered,
		commit() {
			committed = written.length;
			commits += 1;
			for (const { resolve } of pending.splice(0)) resolve();
		},
		break(why) {
			broken = why;
			for (const record of written.slice(committed)) if (record.kind === "finish") owe(record);
			for (const { reject } of pending.splice(0)) reject(unavailable(why));
		},
		mend() {
			broken = undefined;
			committed = written.length;
			for (const byId of view.commands.values()) {
				for (const command of byId.values()) delete command.unsaved;
			}
		},
		reopen: () =>
			createMemoryJournal({
				mode: journal.mode,
				now,
				records: written.slice(0, committed),
				closed,
			}),
		health: () => (broken === undefined ? { ok: true } : { ok: false, why: broken }),
		admit: (command) => write({ kind: "admit", command }),
		finish: (command) => write({ kind: "finish", command }),
		note(command) {
			write({ kind: "note", command }).catch(() => {
				// A note is fire and forget; health() reports the failure.
			});
		},
		saveSession: (session) => write({ kind: "session", session }),
		own: (owner) => write({ kind: "owner", ...owner, owns: true }),
		disown: (owner) => write({ kind: "owner", ...owner, owns: false }),
		owners(conversations) {
			if (journal.unreadable) throw unavailable("the journal cannot be read");
			return new Map(
				conversations.flatMap((conversation) => {
					const owner = view.owners.get(conversation);
					return owner === undefined ? [] : [[conversation, owner] as const];
				}),
			);
		},
		hasOtherOwner(principal) {
			if (journal.unreadable) throw unavailable("the journal cannot be read");
			return [...view.owners.values()].some((owner) => owner !== principal);
		},
		append: (event) => write({ kind: "event", event }),
		find: (names) =>
			names.map((name) =>
				"id" in name ? journal.byId(name.principal, name.id) : journal.byKey(name, name.key),
			),
		lastSeq: (stream) => journal.extent(stream).last,
		claim: (_name, options) => (options?.create ? { kind: "held", version: 0 } : { kind: "none" }),
		release: async () => {},
		onLost() {},
		byId(principal, id) {
			readable();
			return view.commands.get(principal)?.get(id);
		},
		evictedBefore: () => 0,
		byKey({ principal, sessionId }, key) {
			readable();
			const found = view.keys.get(keyName({ principal, ...(sessionId && { sessionId }) }, key));
			if (found?.finishedAtMs === undefined) return undefined;
			return now() - found.finishedAtMs < KEY_LIFE_MS ? found : undefined;
		},
		events: (stream, after, limit) =>
			view
				.stream(stream)
				.filter(({ seq }) => seq > after)
				.slice(0, limit),
		extent(stream) {
			const events = view.stream(stream);
			const ended = view.ended(stream);
			const first = events[0]?.seq ?? (ended === 0 ? 0 : ended + 1);
			return { first, last: events.at(-1)?.seq ?? ended };
		},
		commandHistory: ({ principal, sessionId, commandId, fromMs = 0, toMs = Infinity, limit }) =>
			[...(view.commands.get(principal)?.values() ?? [])]
				.filter((command) => sessionId === undefined || command.sessionId === sessionId)
				.filter((command) => commandId === undefined || command.id === commandId)
				.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
				.slice(-limit)
				.reverse()
				.map(commandHistoryEntry),
		stats: () => ({
			bytes: 0,
			commands: [...view.commands.values()].reduce((sum, byId) => sum + byId.size, 0),
			events: written.filter(({ kind }) => kind === "event").length,
			sessions: view.sessions.size,
			commits,
			commitMsTotal: 0,
			pending: pending.length,
		}),
		async close() {
			journal.commit();
			closed = true;
			pending = [];
		},
	};
	return journal;
}

/** The state that a list of records leads to. */
function createView() {
	const commands = new Map<string, Map<string, StoredCommand>>();
	const keys = new Map<string, StoredCommand>();
	const sessions = new Map<string, SessionRecord & { version: number }>();
	const streams = new Map<string, StreamEvent[]>();
	/** The numbers that streams of removed sessions ended with. */
	const ended = new Map<string, number>();
	const owners = new Map<string, string>();

	function endStream(principal: string, sessionId: string): void {
		const name = tuple(principal, sessionId);
		const last = streams.get(name)?.at(-1)?.seq ?? ended.get(name) ?? 0;
		if (last > 0) ended.set(name, last + 1);
		streams.delete(name);
	}

	function keep(command: StoredCommand): void {
		const { principal, keySessionId: sessionId, idempotencyKey } = command;
		if (commands.get(principal)?.get(command.id)?.response !== undefined) return;
		const byId = commands.get(principal) ?? new Map<string, StoredCommand>();
		commands.set(principal, byId.set(command.id, command));
		if (idempotencyKey === undefined) return;
		keys.set(keyName({ principal, ...(sessionId && { sessionId }) }, idempotencyKey), command);
	}

	function finish({ version, session, removed, json: _, ...command }: FinishedCommand): void {
		keep(command);
		const { principal } = command;
		if (session !== undefined) saveSession(session);
		if (removed !== undefined) {
			sessions.delete(tuple(principal, removed));
			endStream(principal, removed);
			forgetKeys(principal, removed);
		}
		const changed = sessions.get(tuple(principal, session?.id ?? command.sessionId ?? ""));
		if (changed !== undefined && version !== undefined) changed.version = version;
	}

	function forgetKeys(principal: string, sessionId: string): void {
		for (const [name, command] of keys) {
			if (command.principal !== principal || command.keySessionId !== sessionId) continue;
			if (command.response !== undefined) keys.delete(name);
		}
	}

	function saveSession(session: SessionRecord): void {
		const name = tuple(session.principal, session.id);
		sessions.set(name, { ...session, version: sessions.get(name)?.version ?? 0 });
	}

	function changeOwner({ principal, conversation, owns }: Ownership & { owns: boolean }): void {
		const owner = owners.get(conversation);
		if (owns) owners.set(conversation, owner ?? principal);
		else if (owner === principal) owners.delete(conversation);
	}

	return {
		commands,
		keys,
		sessions,
		owners,
		stream: ({ principal, sessionId }: StreamName) =>
			streams.get(tuple(principal, sessionId)) ?? [],
		ended: ({ principal, sessionId }: StreamName) => ended.get(tuple(principal, sessionId)) ?? 0,
		take(record: WrittenRecord): void {
			if (record.kind === "admit") keep(record.command);
			else if (record.kind === "session") saveSession(record.session);
			else if (record.kind === "owner") changeOwner(record);
			else if (record.kind === "event") {
				const name = tuple(record.event.principal, record.event.sessionId);
				streams.set(name, [...(streams.get(name) ?? []), record.event]);
			} else finish(record.command);
		},
		recover(atMs: number, crashed: boolean): Recovered {
			const interrupted: StoredCommand[] = [];
			for (const command of [...commands.values()].flatMap((byId) => [...byId.values()])) {
				if (command.response !== undefined) continue;
				const ended = { ...command, response: interruption(command.type), finishedAtMs: atMs };
				interrupted.push(ended);
				keep(ended);
			}
			const cutOff = [...streams.values()].flatMap((events) => {
				const last = events.at(-1);
				if (!last?.inProgress || !sessions.has(tuple(last.principal, last.sessionId))) return [];
				return [{ principal: last.principal, sessionId: last.sessionId }];
			});
			for (const [name, events] of streams) {
				const of = events.at(-1);
				if (of && !sessions.has(name)) endStream(of.principal, of.sessionId);
			}
			return { sessions: [...sessions.values()], interrupted, cutOff, crashed };
		},
	};
}

function unavailable(why: string): JournalUnavailable {
	return new JournalUnavailable("journal_unavailable", why);
}

function interruption(command: string): Response {
	return {
		type: "response",
		command,
		success: false,
		code: "interrupted",
		error: "the server stopped while this command was under way",
	};
}

function commandHistoryEntry(command: StoredCommand): CommandHistoryEntry {
	const { response, finishedAtMs, sessionId } = command;
	return {
		commandId: command.id,
		commandType: command.type,
		...(sessionId !== undefined && { sessionId }),
		atMs: command.atMs,
		...(finishedAtMs !== undefined && { finishedAtMs }),
		...(response && { success: response.success }),
		...(response?.error !== undefined && { error: response.error }),
		...(response?.code !== undefined && { code: response.code }),
		...(response?.sessionVersion !== undefined && { sessionVersion: response.sessionVersion }),
	};
}

function keyName({ principal, sessionId }: KeyScope, key: string): string {
	return JSON.stringify([principal, sessionId ?? null, key]);
}

function tuple(...parts: string[]): string {
	return JSON.stringify(parts);
}
