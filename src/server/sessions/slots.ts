import { type CommandType, rowOf } from "../../protocol/index.ts";
import { type Call, CommandError, type Done, type Handlers } from "../engine/call.ts";
import type { Recovered, SessionRecord } from "../journal/journal.ts";
import { asCommandError, safeText } from "../safe-text.ts";
import { basisOf } from "./inspector.ts";
import { createKeptAnswers, readName } from "./kept-answers.ts";
import type { LiveSession } from "./live-session.ts";
import { lastEntryOf } from "./session-file.ts";
import { type SessionHandler, type SessionHandlers, Slot, type SlotOptions } from "./slot.ts";

export interface SlotsOptions extends SlotOptions {
	/** Each is reopened on first use. */
	recovered: Recovered["sessions"];
	maxSessions: number;
	/** Default: `maxSessions`. */
	maxSessionsPerPrincipal?: number;
}

export type Slots = ReturnType<typeof createSlots>;

export function createSlots(options: SlotsOptions) {
	const { maxSessions, maxSessionsPerPrincipal = maxSessions } = options;
	const slots = new Map<string, Slot>();
	/** Deleted for clients; running work may still write to their files. */
	const closing = new Set<Slot>();
	const kept = createKeptAnswers();
	for (const { version: _version, ...record } of options.recovered) {
		slots.set(keyOf(record.principal, record.id), new Slot(record, options, true));
	}

	const get = (principal: string, sessionId: string) => slots.get(keyOf(principal, sessionId));
	const of = (principal: string) =>
		[...slots.values()].filter((one) => one.principal === principal);
	const present = () => [...closing, ...slots.values()];
	/** By real path, closing sessions included. */
	const openFiles = () =>
		new Map(present().flatMap((slot) => slot.files().map((file) => [file, slot] as const)));

	return {
		get,
		find,
		of,
		count: () => slots.size,
		openFiles,
		folders: () => present().flatMap((slot) => slot.folders()),
		/** Waits until no session enters or leaves the file: only then its owner is known. */
		async settled(file: string) {
			for (;;) {
				const move = openFiles().get(file)?.current?.replacement;
				if (!move) return;
				await move;
			}
		},
		async add(record: SessionRecord) {
			const { principal, id } = record;
			if (get(principal, id)) {
				throw new CommandError("session_exists", `There is a session "${id}" already`);
			}
			if (slots.size >= maxSessions) {
				throw new CommandError(
					"limit_reached",
					`The server has ${slots.size} sessions, which is its limit: delete one first`,
				);
			}
			const own = of(principal).length;
			if (own >= maxSessionsPerPrincipal) {
				throw new CommandError(
					"limit_reached",
					`You have ${own} sessions, which is the limit for one principal: delete one first`,
				);
			}
			const slot = new Slot(record, options, false);
			slots.set(keyOf(principal, id), slot);
			try {
				await slot.live();
			} catch (error) {
				drop(slot);
				throw error;
			}
			slot.refresh();
			return slot;
		},
		async remove(slot: Slot) {
			drop(slot);
			kept.forget(slot);
			closing.add(slot);
			try {
				await slot.close();
				slot.leave();
			} finally {
				closing.delete(slot);
			}
		},
		/** Opens the session first; after a change its record goes with the outcome. */
		handlers<Given extends Partial<SessionHandlers>>(given: Given) {
			const entries = Object.entries(given).map(([type, run]) => [
				type,
				(call: Call) => carryOut(call, run as SessionHandler<CommandType>),
			]);
			return Object.fromEntries(entries) as Pick<Handlers, keyof Given & CommandType>;
		},
		async close() {
			const all = [...slots.values()];
			slots.clear();
			await Promise.all(all.map((slot) => slot.close()));
			for (const slot of all) slot.keep();
		},
	};

	/** @throws CommandError `unknown_session` */
	function find(principal: string, sessionId: string): Slot {
		const slot = get(principal, sessionId);
		if (slot) return slot;
		throw new CommandError(
			"unknown_session",
			`There is no session "${sessionId}": create it, or see list_sessions`,
		);
	}

	function drop(slot: Slot): void {
		const { principal, sessionId } = slot;
		if (get(principal, sessionId) === slot) slots.delete(keyOf(principal, sessionId));
	}

	async function carryOut(call: Call, run: SessionHandler<CommandType>): Promise<Done> {
		const { command, principal } = call;
		const { effect, path } = rowOf(command.type) ?? {};
		const slot = find(principal, (command as { sessionId?: string }).sessionId ?? "");
		const before = slot.record;
		const isThere = () => get(principal, slot.sessionId) === slot;
		try {
			const isOpen = slot.current !== undefined;
			const live = await slot.live();
			if (!isOpen) await call.turn?.();
			const make = () => run(live, command as never, { slot, call: call as never });
			if (effect !== "change") {
				const basis = isThere() ? basisOf(command, live) : undefined;
				if (!basis) return doneWith(await make());
				return kept.answer(slot, readName(command), basis, make);
			}
			live.revision++;
			const change = async () => doneWith(await make());
			// Control commands must get through, whatever happened to the file.
			const made = path === "lane" ? guarded(live, change) : change();
			const done = await made.finally(() => live.revision++);
			slot.refresh();
			return { ...done, ...(isThere() && slot.record !== before && { session: slot.record }) };
		} catch (error) {
			throw asCommandError(error);
		}
	}
}

/** Unambiguous: a principal's name has no space. */
function keyOf(principal: string, sessionId: string): string {
	return `${principal} ${sessionId}`;
}

function doneWith(data: unknown): Done {
	return { data: data === undefined ? {} : data };
}

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
		// Pi continues with an entry that it could not append.
		if (lastEntryOf(sessionManager) === last || !isOfSystem(error)) throw error;
		const mended = `It was carried out, but pi could not write to the session's file (${safeText(error)}). Nothing is missing in the file now.`;
		return { notDurable: loss ?? mended };
	}
}

function lossIn(live: LiveSession): string | undefined {
	try {
		live.guard.check();
		return undefined;
	} catch (error) {
		return `It was carried out and may be lost. ${asCommandError(error).message}`;
	}
}

function isOfSystem(error: unknown): boolean {
	return error instanceof Error && ("syscall" in error || isOfSystem(error.cause));
}
