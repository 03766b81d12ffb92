import { type Journal, KEY_LIFE_MS, type StoredCommand } from "../journal/journal.ts";
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
	shortened,
	withoutData,
} from "./outcome.ts";
import type { NewNames, Request, Run } from "./run.ts";
import type { Tenant } from "./tenant.ts";

/** What is kept in memory of commands that are over. The journal has them all; this saves asking it. */
export interface MemoryBounds {
	/** Names of commands: a command with id and key has two. */
	names: number;
	/** Characters of their outcomes as JSON. */
	characters: number;
}

/** Names of one kind and scope, and what they stand for. */
export class Shelf {
	readonly #known = new Map<string, Run | Remembered>();
	readonly #emptied: (() => void) | undefined;

	/** `emptied` is told when the last name is gone. */
	constructor(emptied?: () => void) {
		this.#emptied = emptied;
	}

	get(name: string): Run | Remembered | undefined {
		return this.#known.get(name);
	}

	set(name: string, command: Run | Remembered): void {
		this.#known.set(name, command);
	}

	all(): Iterable<[name: string, Run | Remembered]> {
		return this.#known;
	}

	delete(name: string): void {
		this.#known.delete(name);
		if (this.#known.size === 0) this.#emptied?.();
	}
}

/** A command that is over. */
export interface Past {
	readonly kind: "past";
	readonly fingerprint: string;
	readonly outcome: Outcome;
	readonly finishedAtMs: number;
	/** Of a read whose answer is too long to keep: a repetition reads again, and compares. What is kept has no data. */
	readonly digest?: string | undefined;
	/** The journal has yet to write the outcome: no further name may stand for it. */
	readonly owed?: true;
}

/** A name that stands for a command that is over, in a list from the oldest to the newest. */
interface Remembered {
	readonly kind: "remembered";
	readonly past: Past;
	readonly shelf: Shelf;
	readonly name: string;
	older: Remembered | undefined;
	newer: Remembered | undefined;
}

/** What a request's names stand for already. A conflict wins over everything else, an id over a key. */
export type Earlier =
	| { kind: "refused"; failure: Failure }
	| { kind: "known"; command: Run | Past; names: NewNames };

const ALL: NewNames = { id: true, key: true };

/**
 * Knows which commands were named before, by id and by key: those under way, those that are over as far as memory goes,
 * and the rest through the journal. Names are never forgotten while their command is under way.
 */
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

	/** `undefined` for a command whose names are all new. */
	find(request: Request): Earlier | undefined {
		try {
			return this.#find(request);
		} catch {
			// Reading once more does no harm. Whether a change was made before must be known.
			if (request.row.effect === "read") return undefined;
			return { kind: "refused", failure: journalUnreadable };
		}
	}

	/** The command of that id; one that cannot be looked up is not known. */
	byId(tenant: Tenant, id: string): Run | Past | undefined {
		try {
			return this.#byId(tenant, id);
		} catch {
			return undefined;
		}
	}

	/** From now on these names of the request stand for a command under way. */
	claim(request: Request, run: Run, names = ALL): void {
		const { tenant, id, key } = namesOf(request, names);
		if (id !== undefined) tenant.ids.set(id, run);
		if (key !== undefined) keyShelf(tenant, keyScope(request)).set(key, run);
	}

	/** From now on these names of the request stand for a command that is over. */
	remember(request: Request, past: Past, names: NewNames): void {
		const { tenant, id, key } = namesOf(request, names);
		if (id === undefined && key === undefined) return;
		const shorten = past.digest === undefined ? withoutData : shortened;
		const kept = { ...past, outcome: shorten(past.outcome) };
		if (id !== undefined) this.#keep(tenant.ids, id, kept);
		if (key !== undefined) this.#keep(keyShelf(tenant, keyScope(request)), key, kept);
		this.#shrink();
	}

	/** These names of the request, which stood for a command under way, are free again. */
	forget(request: Request, names: NewNames): void {
		const { tenant, id, key } = namesOf(request, names);
		if (id !== undefined) tenant.ids.delete(id);
		if (key !== undefined) keyShelf(tenant, keyScope(request)).delete(key);
	}

	/** The session is gone: its keys do not answer for another one of its id. Those under way may be meant for that. */
	forgetKeys(tenant: Tenant, sessionId: string): void {
		const shelf = tenant.keys.get(sessionId);
		for (const [key, known] of shelf?.all() ?? []) {
			if (known.kind === "remembered") this.#drop(known);
			else if (known.past !== undefined) {
				known.keyIsGone = true;
				shelf?.delete(key);
			}
		}
	}

	#find(request: Request): Earlier | undefined {
		const { tenant } = request.seat;
		const { id, idempotencyKey: key } = request.command;
		const byId = id === undefined ? undefined : this.#byId(tenant, id);
		const byKey = key === undefined ? undefined : this.#byKey(tenant, keyScope(request), key);
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

	/** Throws when the journal cannot be read. */
	#byId(tenant: Tenant, id: string): Run | Past | undefined {
		const known = tenant.ids.get(id);
		if (known?.kind === "run") return known;
		return known?.past ?? pastOf(this.#journal.byId(tenant.principal, id));
	}

	#byKey(tenant: Tenant, sessionId: string | undefined, key: string): Run | Past | undefined {
		const known = tenant.keys.get(sessionId)?.get(key);
		if (known?.kind === "run") return known;
		if (known !== undefined) {
			if (this.#now() - known.past.finishedAtMs < KEY_LIFE_MS) return known.past;
			this.#drop(known);
			return undefined;
		}
		const { principal } = tenant;
		const scope = sessionId === undefined ? { principal } : { principal, sessionId };
		return pastOf(this.#journal.byKey(scope, key));
	}

	#keep(shelf: Shelf, name: string, past: Past): void {
		const older = this.#newest;
		const remembered: Remembered = {
			kind: "remembered",
			past,
			shelf,
			name,
			older,
			newer: undefined,
		};
		if (older === undefined) this.#oldest = remembered;
		else older.newer = remembered;
		this.#newest = remembered;
		this.#count += 1;
		this.#characters += past.outcome.json.length;
		shelf.set(name, remembered);
	}

	#shrink(): void {
		const { names, characters } = this.#bounds;
		while (this.#oldest && (this.#count > names || this.#characters > characters)) {
			this.#drop(this.#oldest);
		}
	}

	#drop(remembered: Remembered): void {
		const { shelf, name, past, older, newer } = remembered;
		if (older === undefined) this.#oldest = newer;
		else older.newer = newer;
		if (newer === undefined) this.#newest = older;
		else newer.older = older;
		this.#count -= 1;
		this.#characters -= past.outcome.json.length;
		// By now the name may stand for a newer command: a key that had expired, used again.
		if (shelf.get(name) === remembered) shelf.delete(name);
	}
}

function isSame(earlier: Run | Past, request: Request): boolean {
	const { fingerprint } = earlier.kind === "run" ? earlier.request : earlier;
	return fingerprint === request.fingerprint;
}

/** Session commands scope their key by session, server commands do not, even if they name one. */
export function keyScope({ row, sessionId }: Request): string | undefined {
	return row.target === "session" ? sessionId : undefined;
}

function keyShelf(tenant: Tenant, sessionId: string | undefined): Shelf {
	let shelf = tenant.keys.get(sessionId);
	if (shelf === undefined) {
		shelf = new Shelf(() => tenant.keys.delete(sessionId));
		tenant.keys.set(sessionId, shelf);
	}
	return shelf;
}

function namesOf({ seat, command }: Request, names: NewNames) {
	return {
		tenant: seat.tenant,
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
