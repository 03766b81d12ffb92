import { setImmediate as nextTick } from "node:timers/promises";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Response } from "../../protocol/index.ts";
import {
	type AdmittedCommand,
	type CommandHistoryEntry,
	type CommandHistoryQuery,
	commandHistoryEntry,
	type FinishedCommand,
	type KeyScope,
	type SessionRecord,
	type StoredCommand,
	type StreamEvent,
	type StreamName,
} from "./journal.ts";
import type { IdRow } from "./journal-reader.ts";
import type { JournalRecord, OwnerChange, SessionColumns } from "./messages.ts";

/** Records that are not on disk yet, for lookups. */
export class Uncommitted {
	readonly #commands = new Map<string, Map<string, StoredCommand>>();
	readonly #byKey = new Map<string, StoredCommand>();
	readonly #owners = new Map<string, OwnerChange>();
	readonly #events = new Map<string, Map<number, StreamEvent>>();
	/** By stream: the number of pending removals, and the event number that the latest one ends with. */
	readonly #removals = new Map<string, { count: number; last: number }>();

	admit(command: StoredCommand): void {
		getOrAdd(this.#commands, command.principal, () => new Map()).set(command.id, command);
	}

	dismiss({ principal, id }: AdmittedCommand): void {
		const commands = this.#commands.get(principal);
		commands?.delete(id);
		if (commands?.size === 0) this.#commands.delete(principal);
	}

	/** Keeps the first outcome. */
	finish(command: StoredCommand): void {
		if (this.command(command.principal, command.id)?.response) return;
		this.admit(command);
		const name = keyOf(command);
		if (name !== undefined && !this.#byKey.has(name)) this.#byKey.set(name, command);
	}

	drop(command: StoredCommand): void {
		if (this.command(command.principal, command.id) !== command) return;
		this.dismiss(command);
		const name = keyOf(command);
		if (name !== undefined && this.#byKey.get(name) === command) this.#byKey.delete(name);
	}

	command(principal: string, id: string): StoredCommand | undefined {
		return this.#commands.get(principal)?.get(id);
	}

	byKey({ principal, sessionId }: KeyScope, key: string): StoredCommand | undefined {
		return this.#byKey.get(keyName(principal, sessionId, key));
	}

	mergeCommandHistory(
		stored: readonly CommandHistoryEntry[],
		query: CommandHistoryQuery,
	): CommandHistoryEntry[] {
		const { sessionId, commandId, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, limit } = query;
		const recent = [...(this.#commands.get(query.principal)?.values() ?? [])]
			.filter(
				(command) =>
					(sessionId === undefined || command.sessionId === sessionId) &&
					(commandId === undefined || command.id === commandId) &&
					command.atMs >= fromMs &&
					command.atMs <= toMs,
			)
			.map(commandHistoryEntry);
		const ids = new Set(recent.map((entry) => entry.commandId));
		return [...recent.reverse(), ...stored.filter((entry) => !ids.has(entry.commandId))]
			.sort((a, b) => b.atMs - a.atMs)
			.slice(0, limit);
	}

	/** The first owner stays. */
	changeOwner(change: OwnerChange): void {
		const known = this.#owners.get(change.conversation);
		if (known?.owns && known.principal !== change.principal) return;
		this.#owners.set(change.conversation, change);
	}

	dropOwner(change: OwnerChange): void {
		if (this.#owners.get(change.conversation) !== change) return;
		this.#owners.delete(change.conversation);
	}

	owner(conversation: string, onDisk: string | undefined): string | undefined {
		const change = this.#owners.get(conversation);
		if (change?.owns) return onDisk ?? change.principal;
		return onDisk === change?.principal ? undefined : onDisk;
	}

	hasOtherOwner(principal: string): boolean {
		return [...this.#owners.values()].some((one) => one.owns && one.principal !== principal);
	}

	append(event: StreamEvent): void {
		getOrAdd(this.#events, streamKey(event), () => new Map()).set(event.seq, event);
	}

	dropEvent(event: StreamEvent): void {
		const name = streamKey(event);
		const events = this.#events.get(name);
		// After a removal of the stream, another event may have this number.
		if (events?.get(event.seq) === event) events.delete(event.seq);
		if (events?.size === 0) this.#events.delete(name);
	}

	events(stream: StreamName): StreamEvent[] {
		return [...(this.#events.get(streamKey(stream))?.values() ?? [])];
	}

	/** Drops the events, and the keys of finished commands. The next event number is above `last`. */
	beginRemoval(stream: StreamName, last: number): void {
		const name = streamKey(stream);
		this.#events.delete(name);
		for (const [key, { principal, keySessionId }] of this.#byKey) {
			const isOfSession = principal === stream.principal && keySessionId === stream.sessionId;
			if (isOfSession) this.#byKey.delete(key);
		}
		this.#removals.set(name, { count: (this.#removals.get(name)?.count ?? 0) + 1, last });
	}

	finishRemoval(stream: StreamName): void {
		const name = streamKey(stream);
		const removal = this.#removals.get(name);
		if (removal && removal.count > 1) removal.count--;
		else this.#removals.delete(name);
	}

	removalEnd(stream: StreamName): number | undefined {
		return this.#removals.get(streamKey(stream))?.last;
	}
}

function keyOf({ principal, keySessionId, idempotencyKey }: AdmittedCommand): string | undefined {
	if (idempotencyKey === undefined) return undefined;
	return keyName(principal, keySessionId, idempotencyKey);
}

function keyName(principal: string, sessionId: string | undefined, key: string): string {
	return JSON.stringify([principal, sessionId ?? null, key]);
}

/** Rows per loading step, which blocks the thread for a few milliseconds. */
const ROWS_AT_ONCE = 2_000;
/** False-positive rate: 2 % at one million ids. */
const BITS = 2 ** 23;
const BIT_NUMBERS = [0, 1, 2, 3];

/** Bloom filter of the journal's ids, so that new ids skip the disk. Until loaded, `mayHave` returns true. */
export class SeenIds {
	readonly #bits = new Uint32Array(BITS / 32);
	#isLoaded = false;
	/** A load stops when this changes. */
	#generation = 0;

	add(principal: string, id: string): void {
		for (const at of positions(principal, id)) {
			this.#bits[at >>> 5] = (this.#bits[at >>> 5] as number) | (1 << (at & 31));
		}
	}

	mayHave(principal: string, id: string): boolean {
		if (!this.#isLoaded) return true;
		const isSet = (at: number) => ((this.#bits[at >>> 5] as number) & (1 << (at & 31))) !== 0;
		return positions(principal, id).every(isSet);
	}

	/** Loads the ids in the background. If this fails, `mayHave` stays true. */
	async load(read: (after: number, limit: number) => readonly IdRow[]): Promise<void> {
		this.#isLoaded = false;
		const generation = ++this.#generation;
		for (let after = 0; ; ) {
			await nextTick();
			if (generation !== this.#generation) return;
			const rows = read(after, ROWS_AT_ONCE);
			for (const { principal, id } of rows) this.add(principal, id);
			const last = rows.at(-1);
			if (rows.length < ROWS_AT_ONCE || !last) break;
			after = last.position;
		}
		this.#isLoaded = true;
	}

	close(): void {
		this.#generation++;
		this.#isLoaded = false;
	}
}

/** Bit positions from two FNV-1a hashes: a start and a step. The step is odd, so that it reaches all bits. */
function positions(principal: string, id: string): number[] {
	const first = hash(hash(0x811c9dc5, principal), id);
	const step = hash(first ^ 0x5bd1e995, id) | 1;
	return BIT_NUMBERS.map((number) => ((first + number * step) >>> 0) % BITS);
}

function hash(start: number, text: string): number {
	// The length distinguishes `ab` + `c` from `a` + `bc`.
	let value = Math.imul(start ^ text.length, 0x01000193);
	for (let at = 0; at < text.length; at++) {
		value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
	}
	return value >>> 0;
}

/** The length distinguishes `ab` + `c` from `a` + `bc`. */
export function streamKey({ principal, sessionId }: StreamName): string {
	return `${principal.length}:${principal}${sessionId}`;
}

/** An outcome as it is found in memory, and as it is written. */
interface OutcomeRecord {
	readonly stored: StoredCommand;
	readonly record: JournalRecord;
	readonly bytes: number;
	/** The stream that ends with the session, and its last number. */
	readonly ended: { readonly stream: StreamName; readonly last: number } | undefined;
}

/** `lastOf` is asked for the last event number of a session that is deleted. */
export function outcomeRecord(
	outcome: FinishedCommand,
	changing: boolean,
	maxBytes: number,
	lastOf: (stream: StreamName) => number,
): OutcomeRecord {
	const { response: _response, json: _json, version, session, removed, ...command } = outcome;
	const { response, json } = keptOutcome(outcome, changing, maxBytes);
	const { data: _data, ...withoutData } = response;
	const columns = session && columnsOf(session);
	const ended = removed === undefined ? undefined : endOf(command.principal, removed, lastOf);
	return {
		stored: { ...command, response },
		record: {
			kind: "outcome",
			command,
			changing,
			outcome: json,
			response: withoutData,
			version,
			session: columns,
			removed: ended && { sessionId: ended.stream.sessionId, last: ended.last },
		},
		bytes: json.length + (columns?.settings.length ?? 0),
		ended,
	};
}

/** Skips one number, so that a client at the last event sees a gap before the next session's events. */
function endOf(principal: string, sessionId: string, lastOf: (stream: StreamName) => number) {
	const stream = { principal, sessionId };
	const last = lastOf(stream);
	return { stream, last: last === 0 ? 0 : last + 1 };
}

export function columnsOf(session: SessionRecord): SessionColumns {
	return { ...session, settings: JSON.stringify(session.settings) };
}

/** Drops data that is too large. The success of a change is kept; otherwise a client would repeat it. */
function keptOutcome(
	{ response, json = JSON.stringify(response) }: FinishedCommand,
	changing: boolean,
	maxBytes: number,
): { response: Response; json: string } {
	// Approximate: the UTF-16 length may be less than the byte count, but counting reads the text again.
	if (json.length <= maxBytes) return { response, json };
	const { data: _data, ...rest } = response;
	const short: Response = changing
		? { ...rest, ...(rest.error && { error: rest.error.slice(0, 1_000) }) }
		: {
				type: "response",
				command: response.command,
				success: false,
				code: "failed",
				error: `the outcome of this ${response.command} was too large to keep: send the command again with a new id`,
			};
	return { response: short, json: JSON.stringify(short) };
}
