import { inTime } from "../core/in-time.ts";
import type { Engine } from "./engine/engine.ts";
import type { Journal, SessionRecord, StreamName } from "./journal/journal.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { Streams } from "./streams/streams.ts";

/** An open session that may be closed when it is idle. */
interface ParkedSession extends StreamName {
	readonly record: SessionRecord;
	/** A running pi, if it has one. */
	readonly current?: unknown;
	/** Whether it can be closed without interrupting anything. */
	readonly isIdle: boolean;
	/** When it was last used, by a monotonic clock. */
	usedMs: number;
}

interface ParkingOptions<Session extends ParkedSession> {
	readonly parkMs: number;
	/** Sessions in which nothing happens. */
	idle(): Session[];
	/** Whether a client subscribes to it, or a command of it is in flight. */
	isWanted(name: StreamName): boolean;
	/** Closes its pi. The next command opens it again. */
	rest(session: Session): Promise<void>;
	/** Gives the session up, for any server to claim. Absent if this process is the only one. */
	readonly giveUp?: {
		save(record: SessionRecord): Promise<void>;
		drop(session: Session): void;
	};
	readonly clock?: () => number;
}

/** How often to look, in parts of the time, and at most and at least. */
const LOOKS = 4;
const MOST_MS = 30_000;
const LEAST_MS = 20;

/** Closes sessions that were idle for some time: memory and claims are for those in use. */
export class Parking<Session extends ParkedSession> {
	readonly #options: ParkingOptions<Session>;
	readonly #clock: () => number;
	readonly #timer: NodeJS.Timeout;
	#looking: Promise<void> | undefined;
	#isClosed = false;
	/** Sessions that were closed since the start. */
	parked = 0;

	constructor(options: ParkingOptions<Session>) {
		const { parkMs, clock = () => performance.now() } = options;
		this.#options = options;
		this.#clock = clock;
		const everyMs = Math.max(LEAST_MS, Math.min(MOST_MS, parkMs / LOOKS));
		this.#timer = setInterval(() => void this.look(), everyMs).unref();
	}

	/** Parks what was idle for long enough, one session after the other. Never rejects. */
	look(): Promise<void> {
		this.#looking ??= this.#look().finally(() => {
			this.#looking = undefined;
		});
		return this.#looking;
	}

	/** Resolves when no session is being parked. */
	async close(): Promise<void> {
		this.#isClosed = true;
		clearInterval(this.#timer);
		await this.#looking;
	}

	async #look(): Promise<void> {
		for (const session of this.#options.idle()) {
			if (this.#isClosed) return;
			if (this.#isDue(session)) await this.#park(session);
		}
	}

	async #park(session: Session): Promise<void> {
		const { rest, giveUp, isWanted } = this.#options;
		if (session.current !== undefined) await rest(session);
		else if (!giveUp) return;
		try {
			// All records of the session are written after this: another server may go on from them.
			await giveUp?.save(session.record);
		} catch {
			return; // the journal refuses records; the next look tries again
		}
		const isInUse = session.current !== undefined || !session.isIdle || isWanted(session);
		if (giveUp && (isInUse || this.#isClosed)) return;
		giveUp?.drop(session);
		this.parked++;
	}

	#isDue(session: Session): boolean {
		const now = this.#clock();
		// The time begins when the last client has left.
		if (this.#options.isWanted(session)) session.usedMs = now;
		return session.isIdle && now - session.usedMs >= this.#options.parkMs;
	}
}

/** Commands of a session that is being given up wait for this time at most. */
const GIVE_UP_MS = 1_000;

/** Parks the sessions of a server. With a journal that servers share, any of them can claim what is parked. */
export function startParking(
	parkMs: number,
	parts: { sessions: Sessions; streams: Streams; engine: Engine; journal: Journal },
) {
	const { sessions, streams, engine, journal } = parts;
	type Session = ReturnType<Sessions["idle"]>[number];
	return new Parking<Session>({
		parkMs,
		idle: sessions.idle,
		rest: sessions.rest,
		isWanted: (name) => streams.hasSubscribers(name) || engine.isBusy(name),
		...(journal.unheld && {
			giveUp: {
				save: (record) => journal.saveSession(record),
				drop(session) {
					sessions.park(session);
					streams.remove(session);
					engine.park(session, inTime(journal.release([session]), GIVE_UP_MS));
				},
			},
		}),
	});
}
