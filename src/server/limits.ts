import { nearest } from "../text/nearest.ts";

const MEGABYTE = 2 ** 20;

/** What clients can make the engine hold or do. */
const engineLimits = {
	maxFrameBytes: 10 * MEGABYTE,
	/** Commands in flight: of one connection (more are refused before acceptance), in all, and of one principal. */
	maxPendingPerClient: 128,
	maxPending: 10_000,
	maxPendingPerPrincipal: 5_000,
	/** Their frames, in characters, in all and of one principal; a command alone may have as many as a frame may. */
	maxPendingBytes: 256 * MEGABYTE,
	maxPendingBytesPerPrincipal: 128 * MEGABYTE,
	/** One answer as JSON, in characters; a read whose answer is larger fails. */
	maxAnswerBytes: 64 * MEGABYTE,
	/** Of one principal, with bursts up to the same number. Stops a runaway program, not a busy one. */
	commandsPerMinute: 600_000,
	/** Time of a command by its timeout class. */
	shortMs: 30_000,
	longMs: 300_000,
	/** A queued command that waits longer never starts. */
	queueMs: 300_000,
	dependencyMs: 30_000,
	/** How long a lane waits for the handler of a timed-out command before the next may start. */
	graceMs: 5_000,
};

/** What one connection may leave unread. */
const outboxLimits = {
	/** From here on pending deltas of a session are joined. */
	softQueueBytes: MEGABYTE / 4,
	/** From here on deltas are left out and a `gap` says so; the client's own frames are not read until it is below. */
	hardQueueBytes: 4 * MEGABYTE,
	/** From here on the connection is closed; one message may be larger, if nothing waits before it. */
	maxQueueBytes: 64 * MEGABYTE,
	/** All connections together: from here on those are closed that leave most unread. */
	maxQueueBytesInAll: 256 * MEGABYTE,
	/** How long a connection may take none of each megabyte that waits for it. */
	stallMs: 30_000,
};

/** Every bound of the server, by one name each. */
export const defaultLimits = {
	...engineLimits,
	/** Connections in all, of one principal, and new ones a minute of one principal. */
	maxConnections: 1_000,
	maxConnectionsPerPrincipal: 500,
	connectionsPerMinute: 12_000,
	/** Unfinished frames, over all connections. */
	maxUnfinishedBytesInAll: 256 * MEGABYTE,
	maxSessions: 300,
	maxSessionsPerPrincipal: 100,
	/** How long running commands may go on after the server was asked to stop. */
	drainMs: 30_000,
	...outboxLimits,
} as const satisfies Record<string, number>;

export type EngineLimits = Record<keyof typeof engineLimits, number>;
export type OutboxLimits = Record<keyof typeof outboxLimits, number>;
export type ServerLimits = Record<keyof typeof defaultLimits, number>;

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
