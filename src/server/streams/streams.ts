import { getOrAdd } from "../../core/get-or-add.ts";
import type { Later } from "../../core/later.ts";
import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Client, Message } from "../engine/message.ts";
import { ReadQueue } from "../engine/read-queue.ts";
import type { StreamName } from "../journal/journal.ts";
import { Stream, type StreamOptions, type TurnOf } from "./stream.ts";

interface StreamsOptions extends StreamOptions {
	/** Streams that the end of the last process interrupted. Each gets an `agent_settled` first. */
	readonly cutOff?: readonly StreamName[];
	/** Called when the last subscriber has left a stream of another server. */
	onDeserted?(name: StreamName): void;
}

/** Stores events before it sends them, so that no other event gets their numbers, even after a crash. */
export class Streams {
	readonly #options: StreamOptions;
	readonly #onDeserted: StreamsOptions["onDeserted"];
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

	constructor({ cutOff = [], onDeserted, ...options }: StreamsOptions) {
		this.#options = options;
		this.#onDeserted = onDeserted;
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
		if (after === undefined && !client.relay) {
			stream.join(client);
			return { seq };
		}
		if (after !== undefined && after > seq) {
			throw new CommandError(
				"not_found",
				`"after" is ${after}, but the last event of session "${name.sessionId}" is ${seq}: subscribe with ${seq} or less, or without "after"`,
			);
		}
		if (client.relay) client.relay.follow(stream.name, after ?? seq);
		else this.#catchUp(stream, client, after ?? seq);
		return { seq };
	}

	/** Subscribes another server, from now on. Returns the last number. */
	join(server: Client, name: StreamName): number {
		const stream = this.#open(name);
		stream.join(server);
		return stream.last;
	}

	/** The highest number that was sent, or `undefined` if the stream is not here. */
	lastOf(name: StreamName): number | undefined {
		const stream = this.#find(name);
		return stream?.isFollowing ? undefined : stream?.last;
	}

	/** This process has the session now: its subscribers go on where they are. */
	own(name: StreamName): void {
		const stream = this.#find(name);
		if (stream?.isFollowing) stream.own(this.#turnOf);
	}

	/** Subscribes to a stream that another server has, and whose number is known. */
	attach(client: Client, name: StreamName, after: number): void {
		const stream = this.#find(name);
		if (!stream || client.gone) return;
		if (after >= stream.last) stream.join(client);
		else this.#catchUp(stream, client, after);
	}

	/** Another server has the session, and its stream is at this number. */
	follow({ principal, sessionId }: StreamName, seq: number): void {
		const name = { principal, sessionId };
		const streams = getOrAdd(this.#byPrincipal, principal, () => new Map<string, Stream>());
		const known = streams.get(sessionId);
		if (known?.isFollowing) known.resumeAt(seq, this.#turnOf);
		else if (!known) streams.set(sessionId, new Stream(name, this.#options, seq));
	}

	/** Passes on what the server that has the session sent. */
	pass(name: StreamName, message: Message, seq: number | undefined, isGap: boolean): void {
		const stream = this.#find(name);
		if (stream?.isFollowing) stream.pass(message, seq, isGap, this.#turnOf);
	}

	/** Whether another server has the stream, and this one passes it on. */
	isFollowing(name: StreamName): boolean {
		return this.#find(name)?.isFollowing === true;
	}

	#catchUp(stream: Stream, client: Client, after: number): void {
		const catchingUp = stream.catchUp(client, after, this.#turnOf(client));
		this.#catchingUp.add(catchingUp);
		void catchingUp.finally(() => this.#catchingUp.delete(catchingUp));
	}

	readonly #turnOf: TurnOf = (client) => () =>
		new Promise<void>((send) => this.#pages.add({ client, send }));

	/** The stream's last event number when this process opened it. */
	seqAtStart(name: StreamName): number {
		return this.#open(name).seqAtStart;
	}

	hasUiRequest(name: StreamName, requestId: string, after: number): Later<boolean> {
		return this.#find(name)?.hasUiRequest(requestId, after) ?? false;
	}

	isSubscribed(client: Client, name: StreamName): boolean {
		if (client.relay) return client.relay.isFollowing(name);
		return this.#find(name)?.isSubscribed(client) === true;
	}

	/** Whether clients of this server subscribe to the stream. */
	hasSubscribers(name: StreamName): boolean {
		return this.#find(name)?.hasSubscribers === true;
	}

	unsubscribe(client: Client, name: StreamName): void {
		client.relay?.unfollow(name);
		const stream = this.#find(name);
		if (stream) this.#leave(stream, client);
	}

	unsubscribeAll(client: Client): void {
		const streams = this.#byPrincipal.get(client.principal);
		for (const stream of [...(streams?.values() ?? [])]) this.#leave(stream, client);
	}

	#leave(stream: Stream, client: Client): void {
		stream.leave(client);
		if (!stream.isFollowing || stream.hasSubscribers) return;
		this.remove(stream.name);
		this.#onDeserted?.(stream.name);
	}

	/** Live subscribers still get the events that the removed stream has queued. */
	remove(name: StreamName): void {
		const stream = this.#find(name);
		stream?.stopCatchingUp();
		void stream?.whenDrained().then(() => stream.dropServers());
		const streams = this.#byPrincipal.get(name.principal);
		streams?.delete(name.sessionId);
		if (streams?.size === 0) this.#byPrincipal.delete(name.principal);
	}

	/** Drops the stream of another server. */
	forget(name: StreamName): void {
		if (this.isFollowing(name)) this.remove(name);
	}

	/** Another server has the session now. Returns whether clients of this one still subscribe to its stream. */
	lose(name: StreamName): boolean {
		const stream = this.#find(name);
		stream?.detach();
		if (stream?.hasSubscribers) return true;
		this.remove(name);
		return false;
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
		const create = () => new Stream({ principal, sessionId }, this.#options);
		const stream = getOrAdd(streams, sessionId, create);
		if (stream.isFollowing) stream.own(this.#turnOf);
		return stream;
	}
}
