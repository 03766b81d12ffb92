import type { Later } from "../../core/later.ts";
import type { Replies } from "./replies.ts";
import type { ReceivedCommand } from "./run.ts";

interface ArrivalsOptions<Prepared> {
	/** Must not throw or reject. */
	prepare(received: ReceivedCommand): Later<Prepared>;
	accept(received: ReceivedCommand, prepared: Prepared): void;
	readonly replies: Pick<Replies, "hold" | "letGo" | "noteIdle">;
}

interface Arrival<Prepared> {
	readonly received: ReceivedCommand;
	prepared?: Prepared;
}

/**
 * Accepts commands in the order in which they arrived. A journal that answers at once costs no tick. Behind a
 * command that waits for an answer, all later ones wait too.
 */
export class Arrivals<Prepared> {
	readonly #options: ArrivalsOptions<Prepared>;
	readonly #waiting: Arrival<Prepared>[] = [];

	constructor(options: ArrivalsOptions<Prepared>) {
		this.#options = options;
	}

	add(received: ReceivedCommand): void {
		const { prepare, accept, replies } = this.#options;
		const prepared = prepare(received);
		const isThere = !(prepared instanceof Promise);
		if (isThere && this.#waiting.length === 0) {
			accept(received, prepared);
			return;
		}
		const arrival: Arrival<Prepared> = { received };
		this.#waiting.push(arrival);
		replies.hold(received);
		if (isThere) arrival.prepared = prepared;
		else
			prepared.then((answer) => {
				arrival.prepared = answer;
				this.#acceptFirst();
			});
	}

	#acceptFirst(): void {
		const { accept, replies } = this.#options;
		for (let first = this.#waiting[0]; first?.prepared; first = this.#waiting[0]) {
			this.#waiting.shift();
			replies.letGo(first.received);
			accept(first.received, first.prepared);
			replies.noteIdle(first.received);
		}
	}
}
