import { existsSync, realpathSync } from "node:fs";
import type { SessionEvent, SessionInfo } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Recovered, SessionRecord, StreamName } from "../journal/journal.ts";
import { asCommandError } from "../safe-text.ts";
import { type Host, type LiveSession, openLiveSession } from "./live-session.ts";
import { modelView } from "./model-view.ts";
import { parseSettings, type StoredSettings } from "./stored-settings.ts";

/** The place of one session: its record, and its pi once it was first used. */
export interface Slot extends StreamName {
	/** As it should be in the journal. A new object whenever something in it changes. */
	readonly record: SessionRecord;
	/** The session, if it is open. */
	readonly current: LiveSession | undefined;
	/** Opens the session if it is not open yet. */
	live(): Promise<LiveSession>;
	/** Brings the record up to date with the session. Returns whether it changed. */
	refresh(): boolean;
	info(): SessionInfo;
}

/** All sessions of the server, by principal and id. */
export interface Slots {
	get(principal: string, sessionId: string): Slot | undefined;
	/** @throws CommandError `unknown_session` */
	find(principal: string, sessionId: string): Slot;
	of(principal: string): Slot[];
	count(): number;
	/** The sessions by their files, whosever they are. Paths are without links. */
	openFiles(): ReadonlyMap<string, Slot>;
	/** Opens a session that is new to the server. */
	add(record: SessionRecord): Promise<Slot>;
	/** Stops what runs, disposes of it and forgets the session. */
	remove(slot: Slot): Promise<void>;
	close(): Promise<void>;
}

export interface SlotsOptions {
	host: Host;
	recovered: Recovered["sessions"];
	maxSessions: number;
	emit(stream: StreamName, event: SessionEvent): void;
	save(session: SessionRecord): void;
}

export function createSlots(options: SlotsOptions): Slots {
	const { host, emit, save, maxSessions } = options;
	const byPrincipal = new Map<string, Map<string, OwnedSlot>>();
	let total = 0;
	for (const { version: _version, ...record } of options.recovered) {
		keep(createSlot(record));
	}

	return {
		get: (principal, sessionId) => byPrincipal.get(principal)?.get(sessionId),
		find(principal, sessionId) {
			const slot = byPrincipal.get(principal)?.get(sessionId);
			if (slot) return slot;
			throw new CommandError(
				"unknown_session",
				`There is no session "${sessionId}": create it, or see list_sessions`,
			);
		},
		of: (principal) => [...(byPrincipal.get(principal)?.values() ?? [])],
		count: () => total,
		openFiles() {
			const open = new Map<string, Slot>();
			for (const slots of byPrincipal.values()) {
				for (const slot of slots.values()) {
					const file = realFile(slot.record);
					if (file) open.set(file, slot);
				}
			}
			return open;
		},
		async add(record) {
			if (byPrincipal.get(record.principal)?.has(record.id)) {
				throw new CommandError("session_exists", `There is a session "${record.id}" already`);
			}
			if (total >= maxSessions) {
				throw new CommandError(
					"limit_reached",
					`The server has ${total} sessions, which is its limit: delete one first`,
				);
			}
			const slot = createSlot(record);
			keep(slot);
			try {
				await slot.live();
			} catch (error) {
				drop(slot);
				throw error;
			}
			slot.refresh();
			return slot;
		},
		async remove(slot) {
			drop(slot as OwnedSlot);
			await (slot as OwnedSlot).close();
		},
		async close() {
			const all = [...byPrincipal.values()].flatMap((slots) => [...slots.values()]);
			byPrincipal.clear();
			total = 0;
			await Promise.all(all.map((slot) => slot.close()));
		},
	};

	function keep(slot: OwnedSlot): void {
		const slots = byPrincipal.get(slot.principal) ?? new Map<string, OwnedSlot>();
		byPrincipal.set(slot.principal, slots.set(slot.sessionId, slot));
		total++;
	}

	function drop(slot: OwnedSlot): void {
		const slots = byPrincipal.get(slot.principal);
		if (slots?.get(slot.sessionId) !== slot) return;
		slots.delete(slot.sessionId);
		total--;
		if (slots.size === 0) byPrincipal.delete(slot.principal);
	}

	function createSlot(first: SessionRecord): OwnedSlot {
		const stream: StreamName = { principal: first.principal, sessionId: first.id };
		let record = first;
		let opening: Promise<LiveSession> | undefined;
		let current: LiveSession | undefined;
		let closed = false;

		const slot: OwnedSlot = {
			...stream,
			get record() {
				return record;
			},
			get current() {
				return current;
			},
			live() {
				if (current?.isBroken()) {
					current = undefined;
					opening = undefined; // from its record once more
				}
				opening ??= open().catch((error) => {
					opening = undefined; // what is missing may come back
					throw error;
				});
				return opening;
			},
			refresh() {
				if (!current || closed || current.isBroken()) return false;
				const next = recordOf(current, record);
				if (JSON.stringify(next) === JSON.stringify(record)) return false;
				record = next;
				return true;
			},
			info: () => infoOf(record, current, host),
			async close() {
				const live = await opening?.catch(() => undefined);
				// What stops now still tells its subscribers.
				if (!live?.isBroken()) await live?.close();
				closed = true;
				current = undefined;
				opening = undefined;
			},
		};
		return slot;

		async function open(): Promise<LiveSession> {
			const { file, cwd } = record;
			const settings = parseSettings(record.settings);
			if (!existsSync(cwd)) throw gone(record.id, "folder");
			if (file && !existsSync(file)) throw gone(record.id, "file");
			try {
				current = await openLiveSession({
					host,
					cwd,
					settings,
					...(file && { file }),
					emit: (event) => {
						if (!closed) emit(stream, event);
					},
					onChange: () => {
						if (slot.refresh()) save(record);
					},
				});
				return current;
			} catch (error) {
				throw asCommandError(error, "failed", [cwd]);
			}
		}
	}
}

interface OwnedSlot extends Slot {
	close(): Promise<void>;
}

function gone(id: string, what: "folder" | "file"): CommandError {
	return new CommandError(
		"wrong_state",
		`The ${what} of session "${id}" is no longer there: bring it back, or delete the session`,
	);
}

function realFile({ file }: SessionRecord): string | undefined {
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
	const settings: StoredSettings = {
		...chosen,
		piSessionId: session.sessionId,
		...(sessionName && { name: sessionName }),
		...(model && { model: { provider: model.provider, id: model.id } }),
		thinkingLevel: session.thinkingLevel,
		messageCount: session.messages.length,
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
	const settings = parseSettings(record.settings);
	const stored = settings.model;
	const model =
		live?.session.model ?? (stored && host.modelRuntime.getModel(stored.provider, stored.id));
	const level = live?.session.thinkingLevel ?? settings.thinkingLevel ?? "off";
	return {
		sessionId: record.id,
		...(settings.name && { sessionName: settings.name }),
		...(record.file && { sessionFile: record.file }),
		cwd: record.cwd,
		...(model && { model: modelView(model) }),
		thinkingLevel: level as SessionInfo["thinkingLevel"],
		isStreaming: live?.session.isStreaming ?? false,
		messageCount: live?.session.messages.length ?? settings.messageCount ?? 0,
		createdAt: new Date(record.createdAtMs).toISOString(),
	};
}
