import { getOrAdd } from "../../core/get-or-add.ts";
import type { Later } from "../../core/later.ts";
import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Client } from "../engine/message.ts";
import { ReadQueue } from "../engine/read-queue.ts";
import type { StreamName } from "../journal/journal.ts";
import { Stream, type StreamsJournal } from "./stream.ts";

interface StreamsOptions {
	readonly journal: StreamsJournal;
	/** Streams that the end of the last process interrupted. Each gets an `agent_settled` first. */
	readonly cutOff?: readonly StreamName[];
	readonly now?: () => number;
}

/** Stores events before it sends them, so that no other event gets their numbers, even after a crash. */
export class Streams {
	readonly #journal: StreamsJournal;
	readonly #now: () => number;
	readonly #byPrincipal = new Map<string, Map<string, Stream>>();
	readonly #catchingUp = new Set<Promise<void>>();
	/** Pages of stored events take turns like reads, because clients may request thousands at once. */
	readonly #pages = new ReadQueue<{ readonly client: Client; send(): void }>({
		tenantOf: ({ client }) => this.#byPrincipal.get(client.principal) ?? client,
		queueOf: ({ client }) => client,
		hasRoom: () => true, // `catchUp` waits for room itself
		whenRoom: async () => {},
		work: ({ send }) => send(),
		clock: () => performance.now(),
	});

	constructor({ journal, cutOff = [], now = Date.now }: StreamsOptions) {
		this.#journal = journal;
		this.#now = now;
		// The transaction that stores this event also clears the stream's in-progress flag, so a later start does not send it again.
		for (const name of cutOff) this.emit(name, { type: "agent_settled", interrupted: true });
	}

	/** Returns immediately. The events of one session keep their order. */
	emit(name: StreamName, event: Data<"SessionEvent">): void {
		this.#open(name).emit(event);
	}

	/** Resolves immediately to the last number. With `after`, the client catches up in the background. */
	async subscribe(client: Client, name: StreamName, after?: number): Promise<{ seq: number }> {
		const stream = this.#open(name);
		const seq = stream.last;
		if (after === undefined) {
			stream.join(client);
			return { seq };
		}
		if (after > seq) {
			throw new CommandError(
				"not_found",
				`"after" is ${after}, but the last event of session "${name.sessionId}" is ${seq}: subscribe with ${seq} or less, or without "after"`,
			);
		}
		const turn = () => new Promise<void>((send) => this.#pages.add({ client, send }));
		const catchingUp = stream.catchUp(client, after, turn);
		this.#catchingUp.add(catchingUp);
		void catchingUp.finally(() => this.#catchingUp.delete(catchingUp));
		return { seq };
	}

	/** The stream's last event number when this process opened it. */
	seqAtStart(name: StreamName): number {
		return this.#open(name).seqAtStart;
	}

	hasUiRequest(name: StreamName, requestId: string, after: number): Later<boolean> {
		return this.#find(name)?.hasUiRequest(requestId, after) ?? false;
	}

	isSubscribed(client: Client, name: StreamName): boolean {
		return this.#find(name)?.isSubscribed(client) === true;
	}

	unsubscribe(client: Client, name: StreamName): void {
		this.#find(name)?.leave(client);
	}

	unsubscribeAll(client: Client): void {
		const streams = this.#byPrincipal.get(client.principal);
		for (const stream of streams?.values() ?? []) stream.leave(client);
	}

	/** Live subscribers still get the events that the removed stream has queued. */
	remove(name: StreamName): void {
		this.#find(name)?.stopCatchingUp();
		const streams = this.#byPrincipal.get(name.principal);
		streams?.delete(name.sessionId);
		if (streams?.size === 0) this.#byPrincipal.delete(name.principal);
	}

	/** Drops a stream that another server has now. Returns its subscribers, which get nothing more. */
	lose(name: StreamName): Client[] {
		const stream = this.#find(name);
		const clients = stream?.end() ?? [];
		this.remove(name);
		return clients;
	}

	async whenDrained(): Promise<void> {
		const all = [...this.#byPrincipal.values()].flatMap((streams) => [...streams.values()]);
		await Promise.all([...this.#catchingUp, ...all.map((stream) => stream.whenDrained())]);
	}

	#find({ principal, sessionId }: StreamName): Stream | undefined {
		return this.#byPrincipal.get(principal)?.get(sessionId);
	}

	/** Copies the name, because callers may pass objects with more fields. */
	#open({ principal, sessionId }: StreamName): Stream {
		const streams = getOrAdd(this.#byPrincipal, principal, () => new Map<string, Stream>());
		const create = () => new Stream({ principal, sessionId }, this.#journal, this.#now);
		return getOrAdd(streams, sessionId, create);
	}
}
