import type { Command, CommandRow, Data } from "../../protocol/index.ts";
import type { RateBucket } from "../limits.ts";
import type { Deadline } from "./deadlines.ts";
import type { Frame } from "./frame.ts";
import type { Lane, Place } from "./lane.ts";
import type { Client, Message, PrincipalRelay } from "./message.ts";
import type { Moved, PastRun } from "./outcome.ts";

/** State of a principal. All lookups go through it, so none finds another principal's sessions. */
export interface Tenant {
	readonly principal: string;
	readonly rate: RateBucket;
	readonly senders: Set<Sender>;
	/** Other servers with clients of the principal. */
	readonly relays: Set<PrincipalRelay>;
	/** `pending`: commands in flight. `pendingBytes`: the size of their frames. */
	pending: number;
	pendingBytes: number;
	readonly sessions: Map<string, SessionState>;
	readonly lanes: Map<string, Lane<Run>>;
}

export interface Sender {
	readonly client: Client;
	readonly tenant: Tenant;
	pending: number;
	readonly onAnswered: (() => void)[];
}

export interface SessionState {
	version: number;
	/** The pending write of the latest change. Answers that show the change wait for it. */
	writing: Promise<boolean> | undefined;
}

export interface ReceivedCommand {
	readonly sender: Sender;
	readonly command: Command;
	readonly row: CommandRow;
	readonly commandId: string;
	/** Also set for server commands that name a session. */
	readonly sessionId: string | undefined;
	/** Empty for a command without id and key, which cannot be a repetition. */
	readonly fingerprint: string;
	/** Wall clock. */
	readonly acceptedAtMs: number;
	/** Monotonic clock. */
	readonly acceptedMs: number;
	/** Frame size in bytes, or in characters if the frame is a string. */
	readonly bytes: number;
	readonly origin: Origin | undefined;
	aboutJson?: string;
}

/** Where a command came from, if not straight from its client. */
export interface Origin {
	/** The parsed frame. */
	readonly frame?: Frame;
	/** Names the command in the journal if it has no id of its own. */
	readonly commandId?: string;
	/** Takes the response. Default: it is sent to the client. */
	reply?(message: Message): void;
	/** Takes the command back, because another server must run it. It gets no response here. */
	moved(why: Moved): void;
}

export interface NewNames {
	readonly id: boolean;
	readonly key: boolean;
}

/** A command whose id or key is already known. `names` says which of the two is new. */
export interface Repetition {
	readonly received: ReceivedCommand;
	readonly names: NewNames;
}

/** The first outcome of a read that runs again, because its answer was too long to keep. */
export interface RepeatedRead {
	readonly past: PastRun;
	readonly names: NewNames;
}

export type SessionNotice = Extract<
	Data<"ServerEvent">,
	{ type: "session_created" | "session_deleted" }
>;

interface Queued {
	readonly name: "queued";
	readonly hasTurn: boolean;
	/** The journal has recorded the start, or need not record it. */
	readonly isRecorded: boolean;
	dependencies: Set<Run> | undefined;
	readonly turnDeadline?: Deadline;
	readonly dependencyDeadline?: Deadline;
}

interface Running {
	readonly name: "running";
	readonly isWorking: boolean;
	/** `command_started` waits until the previous outcome in the lane is sent. */
	isStartHeld: boolean;
	readonly deadline: Deadline | undefined;
}

/** The outcome is known but unsent. */
interface Completed<Name> {
	readonly name: Name;
	readonly past: PastRun;
	readonly isKept: boolean;
	/** The session has been deleted, so a new command may use the key. */
	isKeyFree: boolean;
	isStartHeld: boolean;
	readonly notice: SessionNotice | undefined;
}

export type Phase =
	| { readonly name: "accepted" }
	| Queued
	| Running
	| Completed<"finished">
	| Completed<"durable">
	| { readonly name: "sent" };
export type PhaseName = Phase["name"];
type PhaseOf<Name extends PhaseName> = Extract<Phase, { name: Name }>;

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
	readonly received: ReceivedCommand;
	readonly timeout: CommandRow["timeout"];
	readonly repeats: RepeatedRead | undefined;
	/** Absent for a control command, which takes no place in a lane. */
	place: Place<Run> | undefined;
	isSlow = false;
	/** Another process has the session now. */
	isLost = false;
	dependents: Set<Run> | undefined;
	joiners: Repetition[] | undefined;
	#phase: Phase = { name: "accepted" };
	#abort: AbortController | undefined;
	#isAborted = false;

	constructor(received: ReceivedCommand, timeout: CommandRow["timeout"], repeats?: RepeatedRead) {
		this.received = received;
		this.timeout = timeout;
		this.repeats = repeats;
	}

	get phase(): Readonly<Phase> {
		return this.#phase;
	}

	in<Name extends PhaseName>(name: Name): Readonly<PhaseOf<Name>> | undefined {
		return this.#phase.name === name ? (this.#phase as PhaseOf<Name>) : undefined;
	}

	get isWaiting(): boolean {
		return this.#phase.name === "accepted" || this.#phase.name === "queued";
	}

	get completed(): Readonly<Completed<"finished" | "durable">> | undefined {
		return this.in("finished") ?? this.in("durable");
	}

	/** Throws if {@link TRANSITIONS} forbids the step. */
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

	/** Updates fields of the phase. Returns false if the command is in another phase. */
	note<Name extends "queued" | "running">(name: Name, fields: Partial<PhaseOf<Name>>): boolean {
		if (this.#phase.name !== name) return false;
		Object.assign(this.#phase, fields);
		return true;
	}

	/** Removes a dependency that succeeded. Returns whether it was the last one. */
	fulfil(dependency: Run): boolean {
		const queued = this.#phase.name === "queued" ? this.#phase : undefined;
		queued?.dependencies?.delete(dependency);
		if (queued?.dependencies?.size !== 0) return false;
		queued.dependencies = undefined;
		queued.dependencyDeadline?.cancel();
		return true;
	}

	/** Stops holding back `command_started`. Returns whether it was held back. */
	releaseStart(): boolean {
		const phase = this.#phase;
		if (!("isStartHeld" in phase) || !phase.isStartHeld) return false;
		phase.isStartHeld = false;
		return true;
	}

	/** Frees the key. While the outcome is unknown, keeps the key and returns false instead. */
	freeKey(): boolean {
		const phase = this.#phase;
		if (phase.name !== "finished" && phase.name !== "durable") return false;
		phase.isKeyFree = true;
		return true;
	}

	/** Created on first use, because most handlers never read it. */
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
