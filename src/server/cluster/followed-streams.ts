import { type Client, Message } from "../engine/message.ts";
import type { StreamName } from "../journal/journal.ts";
import { streamKey } from "../journal/uncommitted.ts";
import type { Streams } from "../streams/streams.ts";
import type { Link } from "./link.ts";
import type { Router } from "./router.ts";

interface FollowedStreamsOptions {
	readonly streams: Pick<
		Streams,
		"follow" | "pass" | "attach" | "unsubscribe" | "hasSubscribers" | "isFollowing" | "forget"
	>;
	readonly router: Pick<Router, "receive">;
	/** A client of this server. */
	client(id: string, principal: string): Client | undefined;
	/** A client that acts for the principal when none is connected. */
	follower(principal: string): Client;
}

interface Followed {
	readonly name: StreamName;
	readonly link: Link;
	readonly handle: number;
}

interface FollowedEvent {
	readonly handle: number;
	/** Absent for what is only shown. */
	readonly seq: number | null;
	readonly isGap: boolean;
}

const RETRY_MS = 500;

/** Streams of other servers that clients of this one subscribe to: one subscription for all of them. */
export class FollowedStreams {
	readonly #options: FollowedStreamsOptions;
	readonly #byHandle = new Map<string, Followed>();
	readonly #byName = new Map<string, Followed>();
	readonly #wanted = new Set<string>();
	#isClosed = false;

	constructor(options: FollowedStreamsOptions) {
		this.#options = options;
	}

	/** The other server's number for the stream, and its last event. What is missing comes from the journal. */
	onStream(link: Link, handle: number, name: StreamName, seq: number): void {
		const followed = { name, link, handle };
		this.#byHandle.set(handleKey(link, handle), followed);
		this.#byName.set(streamKey(name), followed);
		this.#options.streams.follow(name, seq);
	}

	onEvent(link: Link, { handle, seq, isGap }: FollowedEvent, json: string): void {
		const followed = this.#byHandle.get(handleKey(link, handle));
		if (!followed) return;
		this.#options.streams.pass(followed.name, Message.fromJson(json), seq ?? undefined, isGap);
	}

	/** A command of this client has subscribed it. */
	onAttach(clientId: string, name: StreamName, after: number): void {
		const { streams, client } = this.#options;
		const subscriber = client(clientId, name.principal);
		if (subscriber && !subscriber.gone) {
			// The last subscriber may have left while the answer was in flight.
			if (!streams.isFollowing(name)) {
				streams.follow(name, after);
				this.want(name);
			}
			streams.attach(subscriber, name, after);
		}
		if (!streams.hasSubscribers(name)) this.leave(name);
	}

	onDetach(clientId: string, name: StreamName): void {
		const subscriber = this.#options.client(clientId, name.principal);
		if (subscriber) this.#options.streams.unsubscribe(subscriber, name);
	}

	/** The other server does not have the session any more. */
	onLost(link: Link, handle: number): void {
		const followed = this.#byHandle.get(handleKey(link, handle));
		if (followed) this.#lose(followed);
	}

	onLinkClosed(link: Link): void {
		for (const followed of [...this.#byHandle.values()]) {
			if (followed.link === link) this.#lose(followed);
		}
	}

	/** The last subscriber has left. */
	leave(name: StreamName): void {
		const followed = this.#byName.get(streamKey(name));
		if (!followed) return;
		this.#forget(followed);
		this.#options.streams.forget(name);
		followed.link.send("unsubscribe", followed.handle);
	}

	/** Subscribes this server, wherever the session is or will be. */
	want(name: StreamName): void {
		const key = streamKey(name);
		if (this.#wanted.has(key) || this.#isClosed) return;
		this.#wanted.add(key);
		const { router, follower, streams } = this.#options;
		const command = JSON.stringify({ type: "subscribe", sessionId: name.sessionId });
		router.receive(follower(name.principal), command, ({ value }) => {
			this.#wanted.delete(key);
			const { success, code } = value.type === "response" ? value : { success: false };
			// The session is gone: its subscribers have learned so.
			if (code === "unknown_session") streams.forget(name);
			else if (!success) setTimeout(() => this.#wantIfMissing(name), RETRY_MS).unref();
			else this.#wantIfMissing(name); // it may have moved since
		});
	}

	#wantIfMissing(name: StreamName): void {
		const { streams } = this.#options;
		const isMissing = streams.isFollowing(name) && !this.#byName.has(streamKey(name));
		if (isMissing && streams.hasSubscribers(name)) this.want(name);
	}

	close(): void {
		this.#isClosed = true;
	}

	#lose(followed: Followed): void {
		this.#forget(followed);
		if (this.#options.streams.hasSubscribers(followed.name)) this.want(followed.name);
		else this.#options.streams.forget(followed.name);
	}

	#forget(followed: Followed): void {
		this.#byHandle.delete(handleKey(followed.link, followed.handle));
		const key = streamKey(followed.name);
		if (this.#byName.get(key) === followed) this.#byName.delete(key);
	}
}

function handleKey({ peer }: Link, handle: number): string {
	return `${peer} ${handle}`;
}
