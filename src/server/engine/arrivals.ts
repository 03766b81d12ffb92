import type { Later } from "../../core/later.ts";
import type { Replies } from "./replies.ts";
import type { ReceivedCommand, Tenant } from "./run.ts";

interface ArrivalsOptions<Prepared> {
	accept(received: ReceivedCommand, prepared: Prepared): void;
	readonly replies: Pick<Replies, "hold" | "letGo" | "noteIdle">;
}

interface Arrival<Prepared> {
	readonly received: ReceivedCommand;
	prepared?: Prepared;
	isLost?: true;
}

/** Commands that wait for an answer of the journal, and all that arrived after them, in that order. */
export class Arrivals<Prepared> {
	readonly #options: ArrivalsOptions<Prepared>;
	readonly #waiting: Arrival<Prepared>[] = [];
	isEmpty = true;

	constructor(options: ArrivalsOptions<Prepared>) {
		this.#options = options;
	}

	/** `prepared` must not reject. */
	add(received: ReceivedCommand, prepared: Later<Prepared>): void {
		const arrival: Arrival<Prepared> = { received };
		this.#waiting.push(arrival);
		this.isEmpty = false;
		this.#options.replies.hold(received);
		if (!(prepared instanceof Promise)) arrival.prepared = prepared;
		else
			prepared.then((answer) => {
				if (!arrival.isLost) arrival.prepared = answer;
				this.#acceptFirst();
			});
	}

	has(tenant: Tenant, sessionId: string): boolean {
		return this.#waiting.some(({ received }) => isOf(received, tenant, sessionId));
	}

	/** Prepares the commands of a session that another process has now. */
	lose(tenant: Tenant, sessionId: string, prepared: Prepared): void {
		for (const arrival of this.#waiting) {
			if (!isOf(arrival.received, tenant, sessionId)) continue;
			arrival.prepared = prepared;
			arrival.isLost = true;
		}
	}

	#acceptFirst(): void {
		const { accept, replies } = this.#options;
		for (let first = this.#waiting[0]; first?.prepared; first = this.#waiting[0]) {
			this.#waiting.shift();
			this.isEmpty = this.#waiting.length === 0;
			replies.letGo(first.received);
			accept(first.received, first.prepared);
			replies.noteIdle(first.received);
		}
	}
}

function isOf({ sender, sessionId: id }: ReceivedCommand, tenant: Tenant, sessionId: string) {
	return sender.tenant === tenant && id === sessionId;
}
