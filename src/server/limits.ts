import { nearest } from "../text/nearest.ts";
import type { EngineLimits } from "./engine/engine.ts";

/** Every bound of the server, by one name each. */
export interface ServerLimits extends EngineLimits, OutboxLimits {
	/** Connections in all, and of one principal. */
	maxConnections: number;
	maxConnectionsPerPrincipal: number;
	/** New connections a minute of one principal, with bursts up to the same number. */
	connectionsPerMinute: number;
	/** Frames of which the rest has not come yet, over all connections; see `inbox-pool.ts`. */
	maxUnfinishedBytesInAll: number;
	/** Sessions in all, and of one principal. */
	maxSessions: number;
	maxSessionsPerPrincipal: number;
	/** How long running commands may go on after the server was asked to stop. */
	drainMs: number;
}

/** What one connection may leave unread before something is done about it. */
export interface OutboxLimits {
	/** From here on pending deltas of a session are joined. */
	softQueueBytes: number;
	/** From here on deltas are left out and a `gap` says so; the client's own frames are not read until it is below. */
	hardQueueBytes: number;
	/** From here on the connection is closed; one message may be larger, if nothing waits before it. */
	maxQueueBytes: number;
	/** All connections together: from here on those are closed that leave most unread. */
	maxQueueBytesInAll: number;
	/** How long a connection may take none of each megabyte that waits for it. */
	stallMs: number;
}

const MEGABYTE = 2 ** 20;

/**
 * The defaults. The rates are there to stop a runaway program, not a busy one: what protects the machine are the bounds
 * of what is under way and of what is kept.
 */
export const defaultLimits: Readonly<ServerLimits> = {
	maxFrameBytes: 10 * MEGABYTE,
	maxPendingPerClient: 128,
	maxPending: 10_000,
	maxPendingPerPrincipal: 5_000,
	maxPendingBytes: 256 * MEGABYTE,
	maxPendingBytesPerPrincipal: 128 * MEGABYTE,
	maxAnswerBytes: 64 * MEGABYTE,
	commandsPerMinute: 600_000,
	shortMs: 30_000,
	longMs: 300_000,
	queueMs: 300_000,
	dependencyMs: 30_000,
	graceMs: 5_000,
	maxConnections: 1_000,
	maxConnectionsPerPrincipal: 500,
	connectionsPerMinute: 12_000,
	maxUnfinishedBytesInAll: 256 * MEGABYTE,
	maxSessions: 300,
	maxSessionsPerPrincipal: 100,
	drainMs: 30_000,
	softQueueBytes: MEGABYTE / 4,
	hardQueueBytes: 4 * MEGABYTE,
	maxQueueBytes: 64 * MEGABYTE,
	maxQueueBytesInAll: 256 * MEGABYTE,
	stallMs: 30_000,
};

/** The defaults with some replaced, as in `["maxSessions=20", "drainMs=5000"]`. Throws for a name or number it does not know. */
export function limitsFrom(assignments: readonly string[]): ServerLimits {
	const limits: ServerLimits = { ...defaultLimits };
	for (const assignment of assignments) {
		const [name = "", value = ""] = assignment.split("=", 2);
		if (!isLimit(name)) {
			const close = nearest(name, Object.keys(defaultLimits));
			const hint = close
				? `did you mean "${close}"?`
				: `known: ${Object.keys(defaultLimits).join(", ")}`;
			throw new Error(`unknown limit "${name}"; ${hint}`);
		}
		const number = Number(value);
		if (value === "" || !Number.isSafeInteger(number) || number < 1) {
			throw new Error(`limit ${name} needs a whole number from 1 on, got "${value}"`);
		}
		limits[name] = number;
	}
	return limits;
}

function isLimit(name: string): name is keyof ServerLimits {
	return Object.hasOwn(defaultLimits, name);
}
