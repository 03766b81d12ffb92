import type { Command, CommandRow, Data } from "../../protocol/index.ts";
import type { RateBucket } from "../limits.ts";
import type { Deadline } from "./deadlines.ts";
import type { Lane, Place } from "./lane.ts";
import type { Client } from "./message.ts";
import type { Past } from "./outcome.ts";

/** Everything of one principal. All lookups go through it, so no principal reaches another's sessions. */
export interface Tenant {
	readonly principal: string;
	readonly rate: RateBucket;
	readonly senders: Set<Sender>;
	/** Its commands in flight, and the size of their frames. */
	pending: number;
	pendingBytes: number;
	readonly sessions: Map<string, SessionState>;
	/** Lanes that are not empty, by `laneOf`. */
	readonly lanes: Map<string, Lane<Run>>;
}

/** A connected client. */
export interface Sender {
	readonly client: Client;
	readonly tenant: Tenant;
	/** Its commands in flight, and the callers that wait until there are none. */
	pending: number;
	onAnswered: (() => void)[];
}

export interface SessionState {
	version: number;
	/** The latest change that is not on disk yet. A read has seen it, so its answer waits for it. */
	writing: Promise<boolean> | undefined;
}

/** An accepted command. */
export interface Request {
	readonly sender: Sender;
	readonly command: Command;
	readonly row: CommandRow;
	/** Its id, or a generated one. */
	readonly commandId: string;
	/** The session it is about, also for server commands that name one. */
	readonly sessionId: string | undefined;
	/** Empty for a command without id and key, which is never compared. */
	readonly fingerprint: string;
	/** Wall clock. */
	readonly acceptedAtMs: number;
	/** Monotonic clock. */
	readonly acceptedMs: number;
	/** Size of its frame; of a text, in characters. */
	readonly bytes: number;
	/** JSON that its lifecycle events share, made on first use. */
	aboutJson?: string;
}

/** Which names of a request were not in use before. */
export interface NewNames {
	readonly id: boolean;
	readonly key: boolean;
}

/** A repetition of a command in flight: it waits for the same outcome. */
export interface Joiner {
	readonly request: Request;
	readonly names: NewNames;
}

/** The first outcome of a read that is repeated because its answer was too long to keep. */
export interface Repeated {
	readonly past: Past;
	readonly names: NewNames;
}

/** A session that was opened or removed. */
export type SessionNews =
	| { kind: "opened"; sessionId: string; info: { sessionInfo?: Data<"SessionInfo"> } }
	| { kind: "removed"; sessionId: string };

interface Accepted {
	readonly name: "accepted";
}

/** In line: for its turn, its dependencies, and for the journal's record of a change. */
interface Queued {
	readonly name: "queued";
	hasTurn: boolean;
	/** The journal knows that it is about to run, or need not know. */
	isRecorded: boolean;
	/** Commands in flight that must succeed first. */
	dependencies: Set<Run> | undefined;
	turnDeadline?: Deadline;
	dependencyDeadline?: Deadline;
}

interface Running {
	readonly name: "running";
	/** Its handler has not settled. */
	isWorking: boolean;
	/** `command_started` waits until the outcome of the command before it in the lane is sent. */
	isStartHeld: boolean;
	deadline: Deadline | undefined;
}

/** The outcome is known and not yet durable. */
interface Finished {
	readonly name: "finished";
	readonly past: Past;
	/** The outcome is kept for repetitions. */
	readonly isKept: boolean;
	/** Its session was removed since: the key is free again. */
	isKeyGone: boolean;
	isStartHeld: boolean;
	readonly news: SessionNews | undefined;
}

/** The outcome is as safe as it must be, and waits for its place in the lane to be sent. */
interface Durable extends Omit<Finished, "name"> {
	readonly name: "durable";
}

/** Response and lifecycle are out. */
interface Sent {
	readonly name: "sent";
}

export type Phase = Accepted | Queued | Running | Finished | Durable | Sent;
export type PhaseName = Phase["name"];
type PhaseOf<Name extends PhaseName> = Extract<Phase, { name: Name }>;

/** The phases that may follow each phase. */
export const TRANSITIONS: Readonly<Record<PhaseName, readonly PhaseName[]>> = {
	accepted: ["queued", "finished"],
	queued: ["running", "finished"],
	running: ["finished"],
	finished: ["durable"],
	durable: ["sent"],
	sent: [],
};

/** A command from acceptance until its response is sent. */
export class Run {
	readonly kind = "run";
	readonly request: Request;
	readonly timeout: CommandRow["timeout"];
	readonly repeats: Repeated | undefined;
	/** Absent on the control path. */
	place: Place<Run> | undefined;
	/** Controls do not wait for it. */
	isSlow = false;
	dependents: Set<Run> | undefined;
	joiners: Joiner[] | undefined;
	#phase: Phase = { name: "accepted" };
	#abort: AbortController | undefined;
	#isAborted = false;

	constructor(request: Request, timeout: CommandRow["timeout"], repeats?: Repeated) {
		this.request = request;
		this.timeout = timeout;
		this.repeats = repeats;
	}

	get phase(): Readonly<Phase> {
		return this.#phase;
	}

	/** The phase of this name, while the command is in it. */
	in<Name extends PhaseName>(name: Name): Readonly<PhaseOf<Name>> | undefined {
		return this.#phase.name === name ? (this.#phase as PhaseOf<Name>) : undefined;
	}

	/** Its outcome is not known, and its handler was not called. */
	get isWaiting(): boolean {
		return this.#phase.name === "accepted" || this.#phase.name === "queued";
	}

	/** The outcome, while it is known and not sent. */
	get ended(): Readonly<Finished | Durable> | undefined {
		return this.in("finished") ?? this.in("durable");
	}

	/** Moves on to the next phase. Throws if {@link TRANSITIONS} forbids it. */
	enter(next: Phase): void {
		const phase = this.#phase;
		if (!TRANSITIONS[phase.name].includes(next.name)) {
			throw new Error(`a command that is ${phase.name} cannot become ${next.name}`);
		}
		if (phase.name === "queued") {
			phase.turnDeadline?.cancel();
			phase.dependencyDeadline?.cancel();
			for (const dependency of phase.dependencies ?? []) dependency.dependents?.delete(this);
		} else if (phase.name === "running") phase.deadline?.cancel();
		this.#phase = next;
	}

	/** Changes fields of a phase. Returns false if the command is in another one. */
	note<Name extends "queued" | "running">(name: Name, fields: Partial<PhaseOf<Name>>): boolean {
		if (this.#phase.name !== name) return false;
		Object.assign(this.#phase, fields);
		return true;
	}

	/** A dependency has succeeded. Returns whether it was the last one. */
	fulfil(dependency: Run): boolean {
		const queued = this.#phase.name === "queued" ? this.#phase : undefined;
		queued?.dependencies?.delete(dependency);
		if (queued?.dependencies?.size !== 0) return false;
		queued.dependencies = undefined;
		queued.dependencyDeadline?.cancel();
		return true;
	}

	/** Everything before it in the lane is sent. Returns whether `command_started` was held back. */
	releaseStart(): boolean {
		const phase = this.#phase;
		if (!("isStartHeld" in phase) || !phase.isStartHeld) return false;
		phase.isStartHeld = false;
		return true;
	}

	/** The session of its key was removed. Returns false while the outcome is not known: then the key stays. */
	dropKey(): boolean {
		const phase = this.#phase;
		if (phase.name !== "finished" && phase.name !== "durable") return false;
		phase.isKeyGone = true;
		return true;
	}

	/** Created on first use: most handlers never ask. */
	get signal(): AbortSignal {
		this.#abort ??= new AbortController();
		if (this.#isAborted) this.#abort.abort();
		return this.#abort.signal;
	}

	abort(): void {
		this.#isAborted = true;
		this.#abort?.abort();
	}
}
