import { nearest } from "../text/nearest.ts";

const MEGABYTE = 2 ** 20;

const ENGINE_LIMITS = {
	maxFrameBytes: 10 * MEGABYTE,
	/** Maximum commands in flight per connection, in total, and per principal. Further ones are refused. */
	maxPendingPerClient: 128,
	maxPending: 10_000,
	maxPendingPerPrincipal: 5_000,
	/** Maximum characters of all commands in flight. One command alone may always be as large as a frame. */
	maxPendingBytes: 256 * MEGABYTE,
	maxPendingBytesPerPrincipal: 128 * MEGABYTE,
	/** Maximum characters of one answer as JSON. A read fails if its answer is larger. */
	maxAnswerBytes: 64 * MEGABYTE,
	/** Maximum commands per minute and principal, also all in one burst. Stops a runaway program. */
	commandsPerMinute: 600_000,
	shortMs: 30_000,
	longMs: 300_000,
	/** A command that is queued for longer never starts. */
	queueMs: 300_000,
	dependencyMs: 30_000,
	/** How long a lane waits for the handler of a timed-out command to end. */
	graceMs: 5_000,
};

const OUTBOX_LIMITS = {
	/** Above this many unsent bytes, deltas of a session are coalesced. */
	softQueueBytes: MEGABYTE / 4,
	/** High-water mark. Above it, a `gap` replaces pending deltas, and the client's frames are not read. */
	hardQueueBytes: 4 * MEGABYTE,
	/** Above this many unsent bytes, the connection is closed. The latest message does not count. */
	maxQueueBytes: 64 * MEGABYTE,
	/** Above this many unsent bytes in total, the connections with the largest queues are closed. */
	maxQueueBytesInAll: 256 * MEGABYTE,
	/** Time without progress after which a client is disconnected, for each megabyte in flight. */
	stallMs: 30_000,
};

export const DEFAULT_LIMITS = {
	...ENGINE_LIMITS,
	/** Maximum connections in total and per principal, and new connections per minute and principal. */
	maxConnections: 1_000,
	maxConnectionsPerPrincipal: 500,
	connectionsPerMinute: 12_000,
	maxUnfinishedBytesInAll: 256 * MEGABYTE,
	maxSessions: 300,
	maxSessionsPerPrincipal: 100,
	/** A session without subscriber, run and command is closed after this time, and opened again by the next command. */
	parkMs: 600_000,
	/** How long running commands may continue while the server stops. */
	drainMs: 30_000,
	...OUTBOX_LIMITS,
} as const satisfies Record<string, number>;

export type EngineLimits = Record<keyof typeof ENGINE_LIMITS, number>;
export type OutboxLimits = Record<keyof typeof OUTBOX_LIMITS, number>;
export type ServerLimits = Record<keyof typeof DEFAULT_LIMITS, number>;

/** Applies assignments such as `maxSessions=20` to the defaults. Throws if a name or number is invalid. */
export function limitsFrom(assignments: readonly string[]): ServerLimits {
	const limits: ServerLimits = { ...DEFAULT_LIMITS };
	for (const assignment of assignments) {
		const [name = "", value = ""] = assignment.split("=", 2);
		if (!isLimit(name)) {
			const known = Object.keys(DEFAULT_LIMITS);
			const close = nearest(name, known);
			const hint = close ? `did you mean "${close}"?` : `the limits are ${known.join(", ")}`;
			throw new Error(`unknown limit "${name}"; ${hint}`);
		}
		const number = Number(value);
		if (value === "" || !Number.isSafeInteger(number) || number < 1) {
			throw new Error(`limit ${name} must be a whole number of at least 1, got "${value}"`);
		}
		limits[name] = number;
	}
	return limits;
}

function isLimit(name: string): name is keyof ServerLimits {
	return Object.hasOwn(DEFAULT_LIMITS, name);
}

export type RateBucket = ReturnType<typeof createRateBucket>;

/** A token bucket that starts full and so allows bursts of `perMinute`. `clock` is monotonic, in ms. */
export function createRateBucket(perMinute: number, clock: () => number) {
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
		/** Milliseconds until the next `take` succeeds; 0 if it would succeed now. */
		waitMs() {
			fill();
			return left >= 1 ? 0 : Math.ceil((1 - left) / perMs);
		},
	};
}
