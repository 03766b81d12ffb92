import { CommandError } from "../engine/call.ts";
import type { Recovered, SessionRecord } from "../journal/journal.ts";
import { createSlot, type OwnedSlot, type Slot, type SlotOptions } from "./slot.ts";

/** All sessions of the server, by principal and id. */
export interface Slots {
	get(principal: string, sessionId: string): Slot | undefined;
	/** @throws CommandError `unknown_session` */
	find(principal: string, sessionId: string): Slot;
	of(principal: string): Slot[];
	count(): number;
	/** The sessions by their files, whosever they are, also those that are just being closed. Paths are without links. */
	openFiles(): ReadonlyMap<string, Slot>;
	/** The folders that sessions work in, also those that are just being closed. */
	folders(): string[];
	/** Waits until no session is about to enter a file or to leave it: only then it is known whose the file is. */
	settled(file: string): Promise<void>;
	/** Opens a session that is new to the server. */
	add(record: SessionRecord): Promise<Slot>;
	/** Stops what runs, disposes of it and forgets the session. */
	remove(slot: Slot): Promise<void>;
	close(): Promise<void>;
}

export interface SlotsOptions extends SlotOptions {
	recovered: Recovered["sessions"];
	/** In all, and of one principal; by default that may have them all. */
	maxSessions: number;
	maxSessionsPerPrincipal?: number;
	/** A session was removed. */
	onRemoved?(slot: Slot): void;
}

export function createSlots(options: SlotsOptions): Slots {
	const { maxSessions, maxSessionsPerPrincipal = maxSessions } = options;
	const byPrincipal = new Map<string, Map<string, OwnedSlot>>();
	/** Gone for clients, but what runs in them may still write to their files. */
	const closing = new Set<OwnedSlot>();
	let total = 0;
	for (const { version: _version, ...record } of options.recovered) {
		keep(createSlot(record, { ...options, isKnown: true }));
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
		openFiles,
		folders: () => present().flatMap((slot) => slot.folders()),
		async settled(file) {
			for (;;) {
				const move = openFiles().get(file)?.current?.replacementUnderWay();
				if (!move) return;
				await move;
			}
		},
		async add(record) {
			const own = byPrincipal.get(record.principal);
			if (own?.has(record.id)) {
				throw new CommandError("session_exists", `There is a session "${record.id}" already`);
			}
			if (total >= maxSessions) {
				throw new CommandError(
					"limit_reached",
					`The server has ${total} sessions, which is its limit: delete one first`,
				);
			}
			if (own && own.size >= maxSessionsPerPrincipal) {
				throw new CommandError(
					"limit_reached",
					`You have ${own.size} sessions, which is the limit for one principal: delete one first`,
				);
			}
			const slot = createSlot(record, options);
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
			const owned = slot as OwnedSlot;
			drop(owned);
			options.onRemoved?.(owned);
			closing.add(owned);
			try {
				await owned.close();
				owned.leave();
			} finally {
				closing.delete(owned);
			}
		},
		async close() {
			const all = [...byPrincipal.values()].flatMap((slots) => [...slots.values()]);
			byPrincipal.clear();
			total = 0;
			await Promise.all(all.map((slot) => slot.close()));
			for (const slot of all) slot.keep();
		},
	};

	function openFiles(): Map<string, Slot> {
		const open = new Map<string, Slot>();
		for (const slot of present()) {
			for (const file of slot.files()) open.set(file, slot);
		}
		return open;
	}

	function present(): OwnedSlot[] {
		return [...closing, ...[...byPrincipal.values()].flatMap((slots) => [...slots.values()])];
	}

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
}
