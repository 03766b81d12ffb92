import { nearest } from "../text/nearest.ts";

/** Every bound of the server, by one name each. */
export interface ServerLimits extends EngineLimits, OutboxLimits {
	/** Connections in all, and of one principal. */
	maxConnections: number;
	maxConnectionsPerPrincipal: number;
	/** New connections a minute of one principal, with bursts up to the same number. */
	connectionsPerMinute: number;
	/** Unfinished frames, over all connections. */
	maxUnfinishedBytesInAll: number;
	/** Sessions in all, and of one principal. */
	maxSessions: number;
	maxSessionsPerPrincipal: number;
	/** How long running commands may go on after the server was asked to stop. */
	drainMs: number;
}

/** Bounds of what clients can make the engine hold or do. */
export interface EngineLimits {
	maxFrameBytes: number;
	/** Commands in flight on one connection; more are refused before acceptance. */
	maxPendingPerClient: number;
	/** Commands in flight in all, and of one principal. */
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
	/** How long a lane waits for the handler of a timed-out command before the next may start. */
	graceMs: number;
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

/** The rates stop a runaway program, not a busy one: the other bounds protect the machine. */
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

/** Lets so many through a minute, with bursts up to the same number. Constant time and space. */
export interface RateBucket {
	/** Takes one; false when there is none left. */
	take(): boolean;
	/** Milliseconds until there is one again; 0 when there is one now. */
	waitMs(): number;
}

/** A full bucket. `clock` is monotonic, in milliseconds. */
export function createRateBucket(perMinute: number, clock: () => number): RateBucket {
	const perMs = perMinute / 60_000;
	let left = perMinute;
	let filledAt = clock();

	function fill(): void {
		const now = clock();
		left = Math.min(perMinute, left + (now - filledAt) * perMs);
		filledAt = now;
	}

	return {
		take() {
			fill();
			if (left < 1) return false;
			left -= 1;
			return true;
		},
		waitMs() {
			fill();
			return left >= 1 ? 0 : Math.ceil((1 - left) / perMs);
		},
	};
}
