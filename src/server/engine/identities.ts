import {
	type AdmittedCommand,
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
	type Past,
	shortened,
	withoutData,
} from "./outcome.ts";
import type { NewNames, Request, Run } from "./run.ts";

/** Bounds of the finished commands in memory. The journal has them all. */
export interface MemoryBounds {
	/** A command with id and key has two names. */
	names: number;
	characters: number;
}

/** A conflict wins over a match, an id over a key. */
export type Earlier =
	| { kind: "refused"; failure: Failure }
	| { kind: "known"; command: Run | Past; names: NewNames };

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

/** Ids, and keys by session; `undefined` holds the keys of server commands. */
interface Known {
	readonly ids: Names;
	readonly keys: Map<string | undefined, Names>;
}

interface Remembered {
	readonly kind: "remembered";
	readonly past: Past;
	readonly names: Names;
	readonly name: string;
	older: Remembered | undefined;
	newer: Remembered | undefined;
}

const ALL: NewNames = { id: true, key: true };

/** Commands by id and key, in memory or in the journal. A name in flight is never evicted. */
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

	find(request: Request): Earlier | undefined {
		try {
			return this.#find(request);
		} catch {
			// A read may run twice, a change must not.
			if (request.row.effect === "read") return undefined;
			return { kind: "refused", failure: failures.journalUnreadable };
		}
	}

	byId(principal: string, id: string): Run | Past | undefined {
		try {
			return this.#byId(principal, id);
		} catch {
			return undefined;
		}
	}

	claim(request: Request, run: Run, names = ALL): void {
		const { id, key } = namesOf(request, names);
		if (id !== undefined) this.#ids(request).set(id, run);
		if (key !== undefined) this.#keys(request).set(key, run);
	}

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

	/** Frees names of a command in flight. */
	forget(request: Request, names: NewNames): void {
		const { id, key } = namesOf(request, names);
		if (id !== undefined) this.#ids(request).delete(id);
		if (key !== undefined) this.#keys(request).delete(key);
	}

	/** A new session with the same id must not get old answers. Keys in flight may belong to it. */
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
			return { kind: "refused", failure: failures.idConflict(id) };
		}
		if (byKey !== undefined && !isSame(byKey, request)) {
			return { kind: "refused", failure: failures.keyConflict(key) };
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
		return pastOf(this.#journal.byKey({ principal, sessionId }, key));
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
		// An expired key may have been used again for a newer command.
		if (names.get(name) === remembered) names.delete(name);
	}
}

function isSame(earlier: Run | Past, request: Request): boolean {
	const { fingerprint } = earlier.kind === "run" ? earlier.request : earlier;
	return fingerprint === request.fingerprint;
}

/** Server commands have global keys, even if they name a session. */
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
	const { fingerprint, digest, owed, finishedAtMs = stored.atMs } = stored;
	return { kind: "past", fingerprint, outcome: outcomeIn(stored), finishedAtMs, digest, owed };
}

function outcomeIn({ response, type, owed }: StoredCommand): Outcome {
	if (response === undefined) return failed(type, failures.outcomeNotKept);
	return owed && response.success ? failed(type, failures.notDurable) : outcomeOf(response);
}

export type Effects = Pick<FinishedCommand, "version" | "session" | "removed">;

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

/** Adds names to a recorded command. A key without a new id gets an anonymous id. */
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
