import type { Journal } from "../journal/journal.ts";
import type { Call, Handlers } from "./call.ts";
import type { Client } from "./client.ts";
import type { MemoryBounds } from "./identities.ts";
import type { Latency } from "./latency.ts";

/**
 * Takes commands from clients and answers them: admission, lifecycle events, lanes, replay by id and key, dependencies,
 * versions, timeouts and limits. It knows neither pi nor sockets: handlers do the work, clients carry the words.
 */
export interface Engine {
	/** A client is there. It gets `server_ready` first. */
	connect(client: Client): void;
	/** A frame of a client: text, or bytes that should be UTF-8. Never throws. */
	receive(client: Client, frame: string | Uint8Array): void;
	/** The client is gone; what it started goes on. */
	disconnect(client: Client): void;
	/** The version of a session; `undefined` when there is no such session. */
	version(principal: string, sessionId: string): number | undefined;
	/** Resolves when all commands of the client so far have their responses, or the client is gone. */
	answered(client: Client): Promise<void>;
	counters(): EngineCounters;
	/** Of the latest commands; `undefined` before the first. */
	latencyMs(): Latency | undefined;
	/**
	 * Refuses new commands, tells everybody, waits for running commands up to `graceMs`, aborts the rest and stores
	 * their failure.
	 */
	shutdown(reason: string, graceMs: number): Promise<void>;
}

export interface EngineOptions {
	journal: Journal;
	handlers: Handlers;
	limits: EngineLimits;
	/** Told in `server_ready`. */
	serverVersion: string;
	transports: readonly string[];
	/** Outcomes kept in memory beside the journal. Default: 10,000 names, 16 million characters. */
	memory?: MemoryBounds;
	/**
	 * A repetition was answered with the success of an earlier command; `data` reads that one's. What such a command does
	 * for its connection has not been done for this one.
	 */
	replayed?(call: Omit<Call, "signal">, data: () => unknown): void;
	/** Milliseconds since 1970. */
	now?: () => number;
	/** Milliseconds that never go back. */
	clock?: () => number;
}

/** Bounds of what clients can make the server hold or do. */
export interface EngineLimits {
	maxFrameBytes: number;
	/** Commands under way on one connection; more are refused before admission. */
	maxPendingPerClient: number;
	/** Commands under way in all, and of one principal. */
	maxPending: number;
	maxPendingPerPrincipal: number;
	/** Their frames, in characters, in all and of one principal; a command alone may have as many as a frame may. */
	maxPendingBytes: number;
	maxPendingBytesPerPrincipal: number;
	/** One answer as JSON, in characters; a read whose answer is larger fails. */
	maxAnswerBytes: number;
	/** Commands a minute of one principal, with bursts up to the same number. */
	commandsPerMinute: number;
	/** Milliseconds by timeout class; a queued command that waits longer than `queueMs` never starts. */
	shortMs: number;
	longMs: number;
	queueMs: number;
	dependencyMs: number;
	/** How long a lane waits for a timed-out command to really end before the next may start. */
	graceMs: number;
}

export interface EngineCounters {
	clients: number;
	pending: number;
	lanes: number;
	accepted: number;
	finished: number;
	failed: number;
	replayed: number;
	timedOut: number;
	rateLimited: number;
	rejected: number;
}
