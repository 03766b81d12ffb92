import type { Exchange } from "../wire/exchange.ts";
import { BodyCopy, type CopyBudget } from "./body-copy.ts";

export interface TurnsOptions {
	readonly about: Pick<Exchange, "upstream" | "method" | "path" | "requestHeaders">;
	readonly budget: CopyBudget;
	readonly maxBodyBytes: number;
	onExchange(exchange: Exchange): void;
}

const FIRST = ["response.create"];
const LAST = [
	...["response.completed", "response.failed", "response.incomplete"],
	...["response.done", "response.cancelled", "error"],
];
const SWITCHED = 101;
/** More requests at once are not looked at. Agents send one after the other. */
const MAX_TURNS = 64;

interface Turn {
	readonly startedMs: number;
	readonly body: BodyCopy;
	firstByteMs?: number;
	/** `undefined` above the limits. */
	frames: string[] | undefined;
	bytes: number;
}

/** Splits the messages of one WebSocket into exchanges: a request and the frames that answer it. */
export class Turns {
	readonly #options: TurnsOptions;
	readonly #open: Turn[] = [];
	readonly #startedMs = Date.now();
	#settled: Promise<void> = Promise.resolve();
	#onIdle: (() => void) | undefined;

	constructor(options: TurnsOptions) {
		this.#options = options;
	}

	/** A text message of the client. */
	sent(data: Buffer): void {
		if (this.#open.length >= MAX_TURNS || !isOfType(data, FIRST)) return;
		const body = new BodyCopy(this.#options.budget, this.#options.maxBodyBytes);
		body.add(data);
		this.#open.push({ startedMs: Date.now(), body, frames: [], bytes: 0 });
	}

	/** A text message of the upstream. It answers the oldest request that is open. */
	received(data: Buffer): void {
		const [turn] = this.#open;
		if (!turn) return;
		turn.firstByteMs ??= Date.now();
		this.#keep(turn, data);
		if (!isOfType(data, LAST)) return;
		this.#open.shift();
		this.#finish(turn, "complete");
	}

	/** The connection has ended: so have the requests without an end. */
	end(how: Exchange["end"]): void {
		for (const turn of this.#open.splice(0)) this.#finish(turn, how);
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

	#keep(turn: Turn, data: Buffer): void {
		if (!turn.frames) return;
		const { budget, maxBodyBytes } = this.#options;
		if (turn.bytes + data.length > maxBodyBytes || !budget.take(data.length)) {
			budget.release(turn.bytes);
			turn.bytes = 0;
			turn.frames = undefined;
			return;
		}
		turn.bytes += data.length;
		turn.frames.push(data.toString("utf8"));
	}

	#finish(turn: Turn, end: Exchange["end"]): void {
		const endedMs = Date.now();
		const { about, budget, onExchange } = this.#options;
		const handOver = async () => {
			const requestBody = await turn.body.join();
			onExchange({
				...about,
				startedMs: turn.startedMs,
				...(turn.firstByteMs !== undefined && { firstByteMs: turn.firstByteMs }),
				endedMs,
				status: SWITCHED,
				...(requestBody && { requestBody }),
				...(turn.frames && { frames: turn.frames }),
				end,
			});
			turn.body.drop();
			budget.release(turn.bytes);
		};
		const before = this.#settled;
		this.#settled = handOver().then(() => before);
		if (this.#open.length === 0) this.#onIdle?.();
	}
}

/** Where the type usually stands: reading it there spares a search through the message. */
const HEAD = /^\s*\{\s*"type"\s*:\s*"([^"]*)"/;
const HEAD_BYTES = 96;

function isOfType(message: Buffer, types: readonly string[]): boolean {
	const head = HEAD.exec(message.toString("latin1", 0, HEAD_BYTES));
	if (head) return types.includes(head[1] ?? "");
	return types.some((type) => hasType(message, type));
}

/** Bounds the work for a message that repeats the word. */
const MAX_PLACES = 16;

/** Quotes inside JSON strings are escaped, so a match is a real `type` member, in practice that of the outermost object. */
function hasType(message: Buffer, type: string): boolean {
	const word = `"${type}"`;
	let at = message.indexOf(word);
	for (let place = 0; at >= 0 && place < MAX_PLACES; place++) {
		const before = message.toString("latin1", Math.max(0, at - 16), at);
		if (/"type"\s*:\s*$/.test(before)) return true;
		at = message.indexOf(word, at + 1);
	}
	return false;
}
