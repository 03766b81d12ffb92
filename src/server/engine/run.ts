import type { Command, CommandRow, SessionInfo } from "../../protocol/index.ts";
import type { Deadline } from "./deadlines.ts";
import type { Past } from "./identities.ts";
import type { Lane } from "./lane.ts";
import type { Seat } from "./tenant.ts";

/** An admitted command as its sender knows it. */
export interface Request {
	readonly seat: Seat;
	readonly command: Command;
	readonly row: CommandRow;
	/** Its id, or the one made up for it. */
	readonly commandId: string;
	/** The session it is about, also for server commands that name one. */
	readonly sessionId: string | undefined;
	/** Empty for a command without id and key, which nothing is ever compared with. */
	readonly fingerprint: string;
	readonly admittedAtMs: number;
	/** The same by a clock that never goes back. */
	readonly acceptedMs: number;
	/** How large its frame is; of a text, in characters. */
	readonly bytes: number;
	/** The JSON of what its lifecycle events have in common, once one of them was sent. */
	aboutJson?: string;
}

/** A repetition of a command that is still under way: it waits for that one's outcome. */
export interface Joiner {
	readonly request: Request;
	/** Names that were new, and stand for the same outcome from now on. */
	readonly names: NewNames;
}

/** Which of a request's names nobody had used before. */
export interface NewNames {
	readonly id: boolean;
	readonly key: boolean;
}

/**
 * A command on its way from admission to its response. `waiting`: for its turn, its dependencies or the disk. `running`:
 * in its handler. `decided`: its outcome stands, but may not have been told yet. `told`: over.
 */
export class Run {
	readonly kind = "run";
	readonly request: Request;
	readonly timeout: CommandRow["timeout"];
	phase: "waiting" | "running" | "decided" | "told" = "waiting";

	/** Absent on the control path. */
	lane: Lane | undefined;
	/** Neighbours in the lane; on the control path `after` is the next that waits for the same lane. */
	before: Run | undefined;
	after: Run | undefined;
	/** Its place in the lane; on the control path, the place of the last command it waits for. */
	place = 0;
	/** Too slow for the control path to wait for. */
	slow = false;
	hasTurn = false;

	/** Commands it waits for, and those that wait for it. */
	dependencies: Set<Run> | undefined;
	dependents: Set<Run> | undefined;
	/** The journal knows that it is about to run, if it has to. */
	admitted = true;

	/** `command_started` is held back until the command before it in the lane has finished. */
	startHeld = false;
	/** For a read that waits for another turn: what to do in it. */
	resume: (() => void) | undefined;
	/** Its handler has not settled yet. */
	working = false;
	/** Its outcome is as safe as it has to be and may be told. */
	safe = false;

	/** Its outcome, once that stands. */
	past: Past | undefined;
	/** The outcome is kept for repetitions. */
	remembered = true;
	/** It reads again what was read before, to repeat an answer that was not kept. */
	repeats: Repeated | undefined;
	/** Its session was removed between its outcome and the telling of it. */
	keyIsGone = false;
	/** What it opened or removed, to be announced with its outcome. */
	news: SessionNews | undefined;
	joiners: Joiner[] | undefined;

	/** Kept by the clocks. */
	readonly deadlines: Partial<Record<"turn" | "dependency" | "work" | "grace", Deadline<Run>>> = {};
	#abort: AbortController | undefined;
	#aborted = false;

	constructor(request: Request, timeout: CommandRow["timeout"]) {
		this.request = request;
		this.timeout = timeout;
	}

	/** Made when first asked for: most handlers never look. */
	get signal(): AbortSignal {
		if (this.#abort === undefined) {
			this.#abort = new AbortController();
			if (this.#aborted) this.#abort.abort();
		}
		return this.#abort.signal;
	}

	abort(): void {
		this.#aborted = true;
		this.#abort?.abort();
	}
}

/** A read that was answered before, and which names of its repetition are new. */
export interface Repeated {
	readonly past: Past;
	readonly names: NewNames;
}

/** A session that is new to the server or gone from it. */
export type SessionNews =
	| {
			readonly kind: "opened";
			readonly sessionId: string;
			readonly info: { sessionInfo?: SessionInfo };
	  }
	| { readonly kind: "removed"; readonly sessionId: string };
