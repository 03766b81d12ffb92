import type { Engine } from "../engine/engine.ts";
import * as failures from "../engine/failures.ts";
import type { Failure } from "../engine/outcome.ts";
import type { SessionRecord, StreamName } from "../journal/journal.ts";
import { placement, type Server } from "./placement.ts";
import { creationIn, type Route } from "./routes.ts";

/** Where a session is. */
export interface Located {
	readonly record: SessionRecord;
	/** The living server that has it. */
	readonly owner: string | undefined;
	/** Until the owner's lease is over, unless it is renewed. */
	readonly leftMs?: number;
}

export interface FindPlaceOptions {
	readonly engine: Pick<Engine, "holds" | "claim" | "isStopping">;
	locate(name: StreamName): Promise<Located | undefined>;
	/** The living servers, this one included. */
	servers(): readonly Server[];
	self(): string;
	isLinked(id: string): boolean;
}

/** The id of another server; this one; not known yet; or why no server can take the command. */
export type Place =
	| { readonly kind: "there"; readonly id: string }
	| { readonly kind: "here" }
	| { readonly kind: "later"; readonly withinMs?: number }
	| { readonly kind: "nowhere"; readonly failure: Failure };

const HERE: Place = { kind: "here" };
const LATER: Place = { kind: "later" };
/** A server that cannot take a session is not asked again for this time. */
const REFUSED_MS = 3_000;

export function noteRefusal({ refused }: Route, id: string): void {
	refused.set(id, performance.now() + REFUSED_MS);
}

/** Finds the server for the next command of a route. A session without owner is claimed here, or by the server chosen. */
export async function findPlace(route: Route, options: FindPlaceOptions): Promise<Place> {
	const { locate, servers, self, isLinked, engine } = options;
	const { name, refused } = route;
	const located = await locate(name);
	if (engine.holds(name)) return HERE;
	const owner = located?.owner;
	if (owner !== undefined && owner !== self()) {
		if (isLinked(owner)) return { kind: "there", id: owner };
		// A dead server is given up at the end of its lease: the next attempt comes then.
		const leftMs = located?.leftMs ?? 0;
		return leftMs > 0 ? { kind: "later", withinMs: leftMs + 1 } : LATER;
	}
	if (located && owner !== undefined) return claimHere(route, options);
	const creation = creationIn(route);
	if (!located && !creation) return HERE;
	const now = performance.now();
	for (const [id, untilMs] of refused) if (untilMs < now) refused.delete(id);
	const fit = placement(servers(), name, located?.record.cwd ?? creation?.cwd);
	const reached = fit.filter(({ id }) => id === self() || isLinked(id));
	const best = reached.find(({ id }) => !refused.has(id));
	if (!best) {
		// The client repeats it when the server runs again.
		if (engine.isStopping) return { kind: "nowhere", failure: failures.SHUTTING_DOWN };
		// The database was unreachable since the start, or another server has just buried this one.
		if (!servers().some(({ id }) => id === self())) return LATER;
		if (fit.length > reached.length) return LATER; // as long as a command may wait
		return { kind: "nowhere", failure: failures.noFolder(name.sessionId) };
	}
	if (best.id !== self()) return { kind: "there", id: best.id };
	return located ? claimHere(route, options) : HERE;
}

async function claimHere(route: Route, { engine, self }: FindPlaceOptions): Promise<Place> {
	const failure = await engine.claim(route.name);
	if (!failure) return HERE;
	if (!failure.moved) return { kind: "nowhere", failure };
	if (failure.moved === "refused") noteRefusal(route, self());
	return LATER;
}
