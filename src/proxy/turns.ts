import { type Exchange, FRAME_START } from "../wire/exchange.ts";
import { BodyCopy, type CopyLimits } from "./body-copy.ts";
import { messageType } from "./message-type.ts";

interface TurnsOptions extends CopyLimits {
	readonly about: Pick<Exchange, "upstream" | "method" | "path" | "requestHeaders">;
	onExchange(exchange: Exchange): void;
}

const REQUEST = "response.create";
const FIRST = "response.created";
const LAST = new Set([
	...["response.completed", "response.failed", "response.incomplete"],
	...["response.done", "response.cancelled", "error"],
]);
const SWITCHED = 101;
/** More requests at once are not looked at. Agents send one after the other. */
const MAX_TURNS = 64;

interface Turn {
	readonly startedMs: number;
	readonly body: BodyCopy;
	firstByteMs?: number;
	readonly frames: BodyCopy;
	/** Whether its answer has begun. */
	isBegun: boolean;
}

/** Splits the messages of one WebSocket into exchanges: a request and the frames that answer it. */
export class Turns {
	readonly #options: TurnsOptions;
	readonly #open: Turn[] = [];
	readonly #startedMs = Date.now();
	#settled: Promise<void> = Promise.resolve();
	#onIdle: (() => void) | undefined;
	#isUnsure = false;

	constructor(options: TurnsOptions) {
		this.#options = options;
	}

	/** A text message of the client. */
	sent(data: Buffer): void {
		const type = messageType(data);
		// It may be a request: its answer looks like those to later ones.
		this.#isUnsure ||= type === undefined;
		if (this.#isUnsure || type !== REQUEST || this.#open.length >= MAX_TURNS) return;
		const body = new BodyCopy(this.#options, data.length);
		body.add(data);
		const frames = new BodyCopy(this.#options);
		this.#open.push({ startedMs: Date.now(), body, frames, isBegun: false });
	}

	/** A text message of the upstream. It answers the oldest request that is open. */
	received(data: Buffer): void {
		const type = messageType(data) ?? "";
		// The end of an answer may be of a type that is not known here.
		if (type === FIRST && this.#open.length > 1 && this.#open[0]?.isBegun) {
			this.#finish("upstream-cut");
		}
		const [turn] = this.#open;
		if (!turn) return;
		turn.firstByteMs ??= Date.now();
		turn.isBegun ||= type === FIRST;
		turn.frames.add(FRAME_START);
		turn.frames.add(data);
		if (LAST.has(type)) this.#finish("complete");
	}

	/** The connection has ended: so have the requests without an end. */
	end(how: Exchange["end"]): void {
		while (this.#open.length > 0) this.#finish(how);
		this.#onIdle = undefined;
	}

	/** The upstream refused the WebSocket, or did not answer. */
	refused(status?: number, isComplete = false): void {
		const endedMs = Date.now();
		this.#options.onExchange({
			...this.#options.about,
			startedMs: this.#startedMs,
			endedMs,
			...(status !== undefined && { status }),
			end: status === undefined ? "upstream-failed" : isComplete ? "complete" : "client-gone",
		});
	}

	/** Calls back once no request is open. */
	whenIdle(callback: () => void): void {
		if (this.#open.length === 0) callback();
		else this.#onIdle = callback;
	}

	/** Resolves when all finished exchanges are handed over. */
	async settled(): Promise<void> {
		await this.#settled;
	}

	/** Ends the oldest request that is open. */
	#finish(end: Exchange["end"]): void {
		const turn = this.#open.shift();
		if (!turn) return;
		const endedMs = Date.now();
		const { about, onExchange } = this.#options;
		const handOver = async () => {
			const requestBody = await turn.body.join();
			const frames = await turn.frames.join();
			onExchange({
				...about,
				startedMs: turn.startedMs,
				...(turn.firstByteMs !== undefined && { firstByteMs: turn.firstByteMs }),
				endedMs,
				status: SWITCHED,
				...(requestBody && { requestBody }),
				...(frames && { frames }),
				end,
			});
			turn.body.drop();
			turn.frames.drop();
		};
		// One after the other: a long answer takes longer to join.
		this.#settled = this.#settled.then(handOver);
		if (this.#open.length === 0) this.#onIdle?.();
	}
}
