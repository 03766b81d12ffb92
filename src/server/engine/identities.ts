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
import type { Names, NewNames, Remembered, Request, Run, Tenant } from "./run.ts";

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

const ALL: NewNames = { id: true, key: true };

/** Commands by id and key, in memory or in the journal. A name in flight is never evicted. */
export class Identities {
	readonly #journal: Pick<Journal, "byId" | "byKey">;
	readonly #bounds: MemoryBounds;
	readonly #now: () => number;
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

	byId(tenant: Tenant, id: string): Run | Past | undefined {
		try {
			return this.#byId(tenant, id);
		} catch {
			return undefined;
		}
	}

	claim(request: Request, run: Run, names = ALL): void {
		const { id, key } = namesOf(request, names);
		const { ids, keys } = request.sender.tenant;
		if (id !== undefined) ids.set(id, run);
		if (key !== undefined) keys.set(key, run);
	}

	remember(request: Request, past: Past, names: NewNames): void {
		const { id, key } = namesOf(request, names);
		if (id === undefined && key === undefined) return;
		const shorten = past.digest === undefined ? withoutData : shortened;
		const kept = { ...past, outcome: shorten(past.outcome) };
		const { ids, keys } = request.sender.tenant;
		if (id !== undefined) this.#keep(ids, id, kept);
		if (key !== undefined) this.#keep(keys, key, kept);
		const { names: maxNames, characters } = this.#bounds;
		while (this.#oldest && (this.#count > maxNames || this.#characters > characters)) {
			this.#evict(this.#oldest);
		}
	}

	/** Frees names of a command in flight. */
	forget(request: Request, names: NewNames): void {
		const { id, key } = namesOf(request, names);
		const { ids, keys } = request.sender.tenant;
		if (id !== undefined) ids.delete(id);
		if (key !== undefined) keys.delete(key);
	}

	/** A new session with the same id must not get old answers. Keys in flight may belong to it. */
	forgetKeys({ keys }: Tenant, sessionId: string): void {
		for (const [key, known] of keys) {
			if (!key.startsWith(scopeName(sessionId))) continue;
			if (known.kind === "remembered") this.#evict(known);
			else if (known.dropKey()) keys.delete(key);
		}
	}

	#find(request: Request): Earlier | undefined {
		const { id, idempotencyKey: key } = request.command;
		const byId = id === undefined ? undefined : this.#byId(request.sender.tenant, id);
		const byKey = key === undefined ? undefined : this.#byKey(request, key);
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

	#byId({ principal, ids }: Tenant, id: string): Run | Past | undefined {
		const known = ids.get(id);
		if (known?.kind === "run") return known;
		return known?.past ?? pastOf(this.#journal.byId(principal, id));
	}

	#byKey(request: Request, key: string): Run | Past | undefined {
		const { principal, keys } = request.sender.tenant;
		const sessionId = keyScope(request);
		const known = keys.get(scopeName(sessionId) + key);
		if (known?.kind === "run") return known;
		if (known !== undefined) {
			if (this.#now() - known.past.finishedAtMs < KEY_LIFE_MS) return known.past;
			this.#evict(known);
			return undefined;
		}
		return pastOf(this.#journal.byKey({ principal, sessionId }, key));
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

/** The length keeps `ab` + `c` and `a` + `bc` apart. */
function scopeName(sessionId: string | undefined): string {
	return sessionId === undefined ? ":" : `${sessionId.length}:${sessionId}`;
}

function namesOf(request: Request, names: NewNames) {
	const { id, idempotencyKey: key } = request.command;
	const hasKey = names.key && key !== undefined;
	return {
		id: names.id ? id : undefined,
		key: hasKey ? scopeName(keyScope(request)) + key : undefined,
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
