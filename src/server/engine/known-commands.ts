import { getOrAdd } from "../../core/get-or-add.ts";
import type { Later } from "../../core/later.ts";
import {
	type AdmittedCommand,
	type CommandName,
	type FinishedCommand,
	type Journal,
	KEY_LIFE_MS,
	type StoredCommand,
} from "../journal/journal.ts";
import * as failures from "./failures.ts";
import {
	type Failure,
	failed,
	type Outcome,
	outcomeOf,
	type PastRun,
	shortened,
	withoutData,
} from "./outcome.ts";
import type { NewNames, ReceivedCommand, Repetition, Run } from "./run.ts";

/** Upper bounds for the finished commands kept in memory. Others are looked up in the journal. */
export interface MemoryBounds {
	/** Maximum number of ids and keys. A command may have both. */
	readonly names: number;
	readonly characters: number;
}

/** A conflict takes precedence over a match, and the id over the key. */
type EarlierCommand =
	| { kind: "refused"; failure: Failure }
	| { kind: "known"; command: Run | PastRun; names: NewNames };

class Names extends Map<string, Run | Remembered> {
	readonly #onEmpty: (() => void) | undefined;

	constructor(onEmpty?: () => void) {
		super();
		this.#onEmpty = onEmpty;
	}

	override delete(name: string): boolean {
		const isDeleted = super.delete(name);
		if (this.size === 0) this.#onEmpty?.();
		return isDeleted;
	}
}

/** A principal's ids, and its keys by session. Keys of server commands are under `undefined`. */
interface Known {
	readonly ids: Names;
	readonly keys: Map<string | undefined, Names>;
}

interface Remembered {
	readonly kind: "remembered";
	readonly past: PastRun;
	readonly names: Names;
	readonly name: string;
	older: Remembered | undefined;
	newer: Remembered | undefined;
}

/** What the journal and memory knew of a command's names when it arrived. */
export interface FoundNames {
	readonly ids: Map<string, PastRun | undefined>;
	key: PastRun | undefined;
	/** The journal could not answer. */
	readonly isUnreadable: boolean;
}

export const NO_NAMES: FoundNames = { ids: new Map(), key: undefined, isUnreadable: false };

const ALL: NewNames = { id: true, key: true };

/** Finds commands by id or key, in memory or in the journal. Names of commands in flight are not evicted. */
export class KnownCommands {
	readonly #journal: Pick<Journal, "find">;
	readonly #bounds: MemoryBounds;
	readonly #now: () => number;
	readonly #known = new Map<string, Known>();
	#oldest: Remembered | undefined;
	#newest: Remembered | undefined;
	#count = 0;
	#characters = 0;

	constructor(journal: Pick<Journal, "find">, bounds: MemoryBounds, now: () => number) {
		this.#journal = journal;
		this.#bounds = bounds;
		this.#now = now;
	}

	/** Asks for all names that a command mentions: its id, its key, its dependencies. Never throws or rejects. */
	lookUp(received: ReceivedCommand): Later<FoundNames> {
		const { principal } = received.sender.tenant;
		const { id, idempotencyKey: key, dependsOn = [] } = received.command;
		if (id === undefined && key === undefined && dependsOn.length === 0) return NO_NAMES;
		const known = this.#knownOf(principal);
		const asked: CommandName[] = [];
		const found: FoundNames = { ids: new Map(), key: undefined, isUnreadable: false };
		for (const name of id === undefined ? dependsOn : [id, ...dependsOn]) {
			const remembered = known.ids.get(name);
			if (remembered !== undefined) found.ids.set(name, pastIn(remembered));
			else asked.push({ principal, id: name });
		}
		if (key !== undefined) {
			const scope = keyScope(received);
			const remembered = known.keys.get(scope)?.get(key);
			if (remembered === undefined) asked.push({ principal, sessionId: scope, key });
			else found.key = pastIn(remembered);
		}
		if (asked.length === 0) return found;
		const take = (answers: readonly (StoredCommand | undefined)[]) => {
			for (const [index, name] of asked.entries()) {
				const past = pastOf(answers[index]);
				if ("id" in name) found.ids.set(name.id, past);
				else found.key = past;
			}
			return found;
		};
		try {
			const answers = this.#journal.find(asked);
			if (!(answers instanceof Promise)) return take(answers);
			return answers.then(take, () => ({ ...found, isUnreadable: true }));
		} catch {
			return { ...found, isUnreadable: true };
		}
	}

	/** `found` may be older than what is in memory, which therefore takes precedence. */
	findEarlier(received: ReceivedCommand, found: FoundNames): EarlierCommand | undefined {
		const { principal } = received.sender.tenant;
		const { id, idempotencyKey: key } = received.command;
		const byId = id === undefined ? undefined : this.byId(principal, id, found);
		const byKey = key === undefined ? undefined : this.#byKey(received, key, found);
		// A read may run twice, a change must not.
		if (found.isUnreadable && !byId && !byKey) {
			if (received.row.effect === "read") return undefined;
			return { kind: "refused", failure: failures.JOURNAL_UNREADABLE };
		}
		if (byId !== undefined && !isSame(byId, received)) {
			return { kind: "refused", failure: failures.idConflict(id) };
		}
		if (byKey !== undefined && !isSame(byKey, received)) {
			return { kind: "refused", failure: failures.keyConflict(key) };
		}
		const command = byId ?? byKey;
		const names = { id: byId === undefined, key: byKey === undefined };
		return command && { kind: "known", command, names };
	}

	byId(principal: string, id: string, found: FoundNames): Run | PastRun | undefined {
		const known = this.#knownOf(principal).ids.get(id);
		if (known?.kind === "run") return known;
		return known?.past ?? found.ids.get(id);
	}

	claim(received: ReceivedCommand, run: Run, which = ALL): void {
		for (const { names, name } of this.#namesOf(received, which)) names.set(name, run);
	}

	remember(received: ReceivedCommand, past: PastRun, which: NewNames): void {
		const all = this.#namesOf(received, which);
		if (all.length === 0) return;
		const shorten = past.digest === undefined ? withoutData : shortened;
		const kept = { ...past, outcome: shorten(past.outcome) };
		for (const { names, name } of all) this.#keep(names, name, kept);
		const { names: maxNames, characters } = this.#bounds;
		while (this.#oldest && (this.#count > maxNames || this.#characters > characters)) {
			this.#evict(this.#oldest);
		}
	}

	/** Frees the names of a command whose outcome is not kept, so that they can be used again. */
	release(received: ReceivedCommand, which: NewNames): void {
		for (const { names, name } of this.#namesOf(received, which)) names.delete(name);
	}

	// Frees the keys of a deleted session, so that a new session with its id does not get old answers.
	// Commands in flight keep their keys, because they may be meant for the new session.
	releaseKeys(principal: string, sessionId: string): void {
		const keys = this.#knownOf(principal).keys.get(sessionId);
		for (const [key, known] of keys ?? []) {
			if (known.kind === "remembered") this.#evict(known);
			else if (known.freeKey()) keys?.delete(key);
		}
	}

	#byKey(received: ReceivedCommand, key: string, found: FoundNames): Run | PastRun | undefined {
		const { principal } = received.sender.tenant;
		const known = this.#knownOf(principal).keys.get(keyScope(received))?.get(key);
		if (known?.kind === "run") return known;
		const past = known?.past ?? found.key;
		if (past === undefined || this.#now() - past.finishedAtMs < KEY_LIFE_MS) return past;
		if (known) this.#evict(known);
		return undefined;
	}

	#knownOf(principal: string): Known {
		return getOrAdd(this.#known, principal, () => ({ ids: new Names(), keys: new Map() }));
	}

	#namesOf(received: ReceivedCommand, which: NewNames): Pick<Remembered, "names" | "name">[] {
		const { id, idempotencyKey: key } = received.command;
		const { ids, keys } = this.#knownOf(received.sender.tenant.principal);
		const all = which.id && id !== undefined ? [{ names: ids, name: id }] : [];
		if (which.key && key !== undefined) {
			const scope = keyScope(received);
			const names = getOrAdd(keys, scope, () => new Names(() => keys.delete(scope)));
			all.push({ names, name: key });
		}
		return all;
	}

	#keep(names: Names, name: string, past: PastRun): void {
		const older = this.#newest;
		const kept: Remembered = { kind: "remembered", past, names, name, older, newer: undefined };
		if (older === undefined) this.#oldest = kept;
		else older.newer = kept;
		this.#newest = kept;
		this.#count += 1;
		this.#characters += past.outcome.json.length;
		names.set(name, kept);
	}

	#evict(remembered: Remembered): void {
		const { names, name, past, older, newer } = remembered;
		if (older === undefined) this.#oldest = newer;
		else older.newer = newer;
		if (newer === undefined) this.#newest = older;
		else newer.older = older;
		this.#count -= 1;
		this.#characters -= past.outcome.json.length;
		// If an expired key was used again, the newer command keeps the name.
		if (names.get(name) === remembered) names.delete(name);
	}
}

function isSame(earlier: Run | PastRun, received: ReceivedCommand): boolean {
	const { fingerprint } = earlier.kind === "run" ? earlier.received : earlier;
	return fingerprint === received.fingerprint;
}

/** The key of a server command belongs to no session, even if the command names one. */
function keyScope({
	row,
	sessionId,
}: Pick<ReceivedCommand, "row" | "sessionId">): string | undefined {
	return row.target === "session" ? sessionId : undefined;
}

/** A run in flight is found in memory again when the command is admitted. */
function pastIn(known: Run | Remembered): PastRun | undefined {
	return known.kind === "run" ? undefined : known.past;
}

function pastOf(stored: StoredCommand | undefined): PastRun | undefined {
	if (stored === undefined) return undefined;
	const { fingerprint, digest, unsaved, finishedAtMs = stored.atMs } = stored;
	return { kind: "past", fingerprint, outcome: outcomeIn(stored), finishedAtMs, digest, unsaved };
}

function outcomeIn({ response, type, unsaved, elsewhere }: StoredCommand): Outcome {
	if (elsewhere) return failed(type, failures.IN_FLIGHT_ELSEWHERE);
	if (response === undefined) return failed(type, failures.OUTCOME_NOT_KEPT);
	if (!unsaved) return outcomeOf(response);
	return failed(type, response.success ? failures.NOT_DURABLE : failures.FAILURE_NOT_RECORDED);
}

export type Effects = Pick<FinishedCommand, "version" | "session" | "removed">;

export function startRecord(received: ReceivedCommand): AdmittedCommand {
	const { command, sender, sessionId } = received;
	const { idempotencyKey } = command;
	const keySessionId = idempotencyKey === undefined ? undefined : keyScope(received);
	return {
		principal: sender.tenant.principal,
		id: received.commandId,
		type: command.type,
		...(sessionId !== undefined && { sessionId }),
		fingerprint: received.fingerprint,
		...(idempotencyKey !== undefined && { idempotencyKey }),
		...(keySessionId !== undefined && { keySessionId }),
		atMs: received.acceptedAtMs,
	};
}

export function finishRecord(
	received: ReceivedCommand,
	past: PastRun,
	effects?: Effects,
): FinishedCommand {
	const opened = effects?.session?.id;
	return {
		...startRecord(received),
		...(opened !== undefined && { sessionId: opened }),
		...storedOutcome(past),
		...effects,
	};
}

function storedOutcome({ outcome, digest, finishedAtMs }: PastRun) {
	if (digest === undefined) return { response: outcome.response, json: outcome.json, finishedAtMs };
	return { ...shortened(outcome), digest, finishedAtMs };
}

/** A record that adds names to a finished command. If only the key is new, the record's id is anonymous. */
export function aliasRecord(
	{ received, names }: Repetition,
	past: PastRun,
	anonymousId: () => string,
): FinishedCommand {
	const { idempotencyKey, keySessionId, ...record } = startRecord(received);
	return {
		...record,
		...storedOutcome(past),
		...(past.digest === undefined && { response: JSON.parse(past.outcome.json) }),
		id: names.id ? record.id : anonymousId(),
		...(names.key && idempotencyKey !== undefined && { idempotencyKey }),
		...(names.key && keySessionId !== undefined && { keySessionId }),
	};
}
