import {
	type AdmittedCommand,
	type FinishedCommand,
	type Journal,
	KEY_LIFE_MS,
	type StoredCommand,
} from "../journal/journal.ts";
import {
	idConflict,
	journalUnreadable,
	keyConflict,
	notDurable,
	outcomeNotKept,
} from "./failures.ts";
import {
	type Failure,
	failed,
	type Outcome,
	outcomeOf,
	type Past,
	shortened,
	withoutData,
} from "./outcome.ts";
import type { NewNames, Request, Run } from "./run.ts";

/** Bounds of what memory keeps of commands that are over. The journal has them all. */
export interface MemoryBounds {
	/** Names of commands: a command with id and key has two. */
	names: number;
	/** Characters of their outcomes as JSON. */
	characters: number;
}

/** What a request's names stand for already. A conflict wins over everything else, an id over a key. */
export type Earlier =
	| { kind: "refused"; failure: Failure }
	| { kind: "known"; command: Run | Past; names: NewNames };

/** The names of one scope. */
class Names extends Map<string, Run | Remembered> {
	readonly #emptied: (() => void) | undefined;

	constructor(emptied?: () => void) {
		super();
		this.#emptied = emptied;
	}

	override delete(name: string): boolean {
		const isDeleted = super.delete(name);
		if (this.size === 0) this.#emptied?.();
		return isDeleted;
	}
}

/** The names of one principal: ids, and keys by session, under `undefined` those of server commands. */
interface Known {
	readonly ids: Names;
	readonly keys: Map<string | undefined, Names>;
}

/** A name of a command that is over, in a list from the oldest to the newest. */
interface Remembered {
	readonly kind: "remembered";
	readonly past: Past;
	readonly names: Names;
	readonly name: string;
	older: Remembered | undefined;
	newer: Remembered | undefined;
}

const ALL: NewNames = { id: true, key: true };

/**
 * The commands by id and key: those in flight, those in memory, and the rest through the journal. A name is never evicted
 * while its command is in flight.
 */
export class Identities {
	readonly #journal: Pick<Journal, "byId" | "byKey">;
	readonly #bounds: MemoryBounds;
	readonly #now: () => number;
	readonly #known = new Map<string, Known>();
	#oldest: Remembered | undefined;
	#newest: Remembered | undefined;
	#count = 0;
	#characters = 0;

	constructor(journal: Pick<Journal, "byId" | "byKey">, bounds: MemoryBounds, now: () => number) {
		this.#journal = journal;
		this.#bounds = bounds;
		this.#now = now;
	}

	/** `undefined` for a command whose names are all new. */
	find(request: Request): Earlier | undefined {
		try {
			return this.#find(request);
		} catch {
			// A second read does no harm. A change must not run twice.
			if (request.row.effect === "read") return undefined;
			return { kind: "refused", failure: journalUnreadable };
		}
	}

	/** An id that cannot be looked up is not known. */
	byId(principal: string, id: string): Run | Past | undefined {
		try {
			return this.#byId(principal, id);
		} catch {
			return undefined;
		}
	}

	/** From now on these names of the request stand for a command in flight. */
	claim(request: Request, run: Run, names = ALL): void {
		const { id, key } = namesOf(request, names);
		if (id !== undefined) this.#ids(request).set(id, run);
		if (key !== undefined) this.#keys(request).set(key, run);
	}

	/** From now on these names of the request stand for a command that is over. */
	remember(request: Request, past: Past, names: NewNames): void {
		const { id, key } = namesOf(request, names);
		if (id === undefined && key === undefined) return;
		const shorten = past.digest === undefined ? withoutData : shortened;
		const kept = { ...past, outcome: shorten(past.outcome) };
		if (id !== undefined) this.#keep(this.#ids(request), id, kept);
		if (key !== undefined) this.#keep(this.#keys(request), key, kept);
		const { names: maxNames, characters } = this.#bounds;
		while (this.#oldest && (this.#count > maxNames || this.#characters > characters)) {
			this.#evict(this.#oldest);
		}
	}

	/** These names, which stood for a command in flight, are free again. */
	forget(request: Request, names: NewNames): void {
		const { id, key } = namesOf(request, names);
		if (id !== undefined) this.#ids(request).delete(id);
		if (key !== undefined) this.#keys(request).delete(key);
	}

	/** The session is gone: its keys must not answer for another one of its id. Those in flight may be meant for that. */
	forgetKeys(principal: string, sessionId: string): void {
		const keys = this.#knownOf(principal).keys.get(sessionId);
		for (const [key, known] of keys ?? []) {
			if (known.kind === "remembered") this.#evict(known);
			else if (known.dropKey()) keys?.delete(key);
		}
	}

	#find(request: Request): Earlier | undefined {
		const { principal } = request.sender.tenant;
		const { id, idempotencyKey: key } = request.command;
		const byId = id === undefined ? undefined : this.#byId(principal, id);
		const byKey = key === undefined ? undefined : this.#byKey(principal, keyScope(request), key);
		const command = byId ?? byKey;
		if (command === undefined) return undefined;
		if (byId !== undefined && !isSame(byId, request)) {
			return { kind: "refused", failure: idConflict(id) };
		}
		if (byKey !== undefined && !isSame(byKey, request)) {
			return { kind: "refused", failure: keyConflict(key) };
		}
		return { kind: "known", command, names: { id: byId === undefined, key: byKey === undefined } };
	}

	#byId(principal: string, id: string): Run | Past | undefined {
		const known = this.#knownOf(principal).ids.get(id);
		if (known?.kind === "run") return known;
		return known?.past ?? pastOf(this.#journal.byId(principal, id));
	}

	#byKey(principal: string, sessionId: string | undefined, key: string): Run | Past | undefined {
		const known = this.#knownOf(principal).keys.get(sessionId)?.get(key);
		if (known?.kind === "run") return known;
		if (known !== undefined) {
			if (this.#now() - known.past.finishedAtMs < KEY_LIFE_MS) return known.past;
			this.#evict(known);
			return undefined;
		}
		const scope = sessionId === undefined ? { principal } : { principal, sessionId };
		return pastOf(this.#journal.byKey(scope, key));
	}

	#knownOf(principal: string): Known {
		const known = this.#known.get(principal) ?? { ids: new Names(), keys: new Map() };
		this.#known.set(principal, known);
		return known;
	}

	#ids({ sender }: Request): Names {
		return this.#knownOf(sender.tenant.principal).ids;
	}

	#keys(request: Request): Names {
		const { keys } = this.#knownOf(request.sender.tenant.principal);
		const scope = keyScope(request);
		const names = keys.get(scope) ?? new Names(() => keys.delete(scope));
		keys.set(scope, names);
		return names;
	}

	#keep(names: Names, name: string, past: Past): void {
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
		// The name may stand for a newer command: a key that had expired, used again.
		if (names.get(name) === remembered) names.delete(name);
	}
}

function isSame(earlier: Run | Past, request: Request): boolean {
	const { fingerprint } = earlier.kind === "run" ? earlier.request : earlier;
	return fingerprint === request.fingerprint;
}

/** Session commands scope their key by session, server commands do not, even if they name one. */
function keyScope({ row, sessionId }: Request): string | undefined {
	return row.target === "session" ? sessionId : undefined;
}

function namesOf({ command }: Request, names: NewNames) {
	return {
		id: names.id ? command.id : undefined,
		key: names.key ? command.idempotencyKey : undefined,
	};
}

function pastOf(stored: StoredCommand | undefined): Past | undefined {
	if (stored === undefined) return undefined;
	const { fingerprint, digest, owed } = stored;
	return {
		kind: "past",
		fingerprint,
		outcome: outcomeIn(stored),
		finishedAtMs: stored.finishedAtMs ?? stored.atMs,
		...(digest !== undefined && { digest }),
		...(owed && { owed }),
	};
}

function outcomeIn({ response, type, owed }: StoredCommand): Outcome {
	if (response === undefined) return failed(type, outcomeNotKept);
	return owed && response.success ? failed(type, notDurable) : outcomeOf(response);
}

/** What a command did to its session, for the journal. */
export type Effects = Pick<FinishedCommand, "version" | "session" | "removed">;

/** The journal's record of a command that is about to run. */
export function startRecord(request: Request): AdmittedCommand {
	const { command, sender, sessionId } = request;
	const { idempotencyKey } = command;
	const keySessionId = idempotencyKey === undefined ? undefined : keyScope(request);
	return {
		principal: sender.tenant.principal,
		id: request.commandId,
		type: command.type,
		...(sessionId !== undefined && { sessionId }),
		fingerprint: request.fingerprint,
		...(idempotencyKey !== undefined && { idempotencyKey }),
		...(keySessionId !== undefined && { keySessionId }),
		atMs: request.acceptedAtMs,
	};
}

/** The same with its outcome. */
export function finishRecord(request: Request, past: Past, effects?: Effects): FinishedCommand {
	const opened = effects?.session?.id;
	return {
		...startRecord(request),
		...(opened !== undefined && { sessionId: opened }),
		...storedOutcome(past),
		...effects,
	};
}

function storedOutcome({ outcome, digest, finishedAtMs }: Past) {
	if (digest === undefined) return { response: outcome.response, json: outcome.json, finishedAtMs };
	return { ...shortened(outcome), digest, finishedAtMs };
}

/** A record of further names of a recorded command. A key without a new id gets the id of `anonymousId`. */
export function aliasRecord(
	request: Request,
	past: Past,
	{ names, anonymousId }: { names: NewNames; anonymousId: () => string },
): FinishedCommand {
	const { idempotencyKey, keySessionId, ...record } = startRecord(request);
	return {
		...record,
		...storedOutcome(past),
		...(past.digest === undefined && { response: JSON.parse(past.outcome.json) }),
		id: names.id ? record.id : anonymousId(),
		...(names.key && idempotencyKey !== undefined && { idempotencyKey }),
		...(names.key && keySessionId !== undefined && { keySessionId }),
	};
}
