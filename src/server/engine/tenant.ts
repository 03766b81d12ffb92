import type { Client } from "./client.ts";
import type { Shelf } from "./identities.ts";
import type { Lane } from "./lane.ts";
import type { RateBucket } from "./rate.ts";

/**
 * All that belongs to one principal. Nothing is looked up without going through one of these, so that no principal can
 * come upon another's sessions, ids or keys.
 */
export interface Tenant {
	readonly principal: string;
	readonly rate: RateBucket;
	readonly seats: Set<Seat>;
	/** Its commands under way, and how large their frames are together. */
	pending: number;
	pendingBytes: number;
	/** The sessions that exist. */
	readonly sessions: Map<string, SessionState>;
	/** Lanes with something in them, by what `laneOf` calls them. */
	readonly lanes: Map<string, Lane>;
	/** Commands by id. */
	readonly ids: Shelf;
	/** Commands by idempotency key: one shelf a session, and under `undefined` that of server commands. */
	readonly keys: Map<string | undefined, Shelf>;
}

/** A connected client. */
export interface Seat {
	readonly client: Client;
	readonly tenant: Tenant;
	/** Its commands under way, and who waits until there are none. */
	pending: number;
	onAnswered: (() => void)[];
}

/** What the engine knows of a session. */
export interface SessionState {
	version: number;
	/** The latest change on its way to the disk. Who reads the session now has seen what is not safe yet, and waits for it. */
	writing: Promise<boolean> | undefined;
}
