import { getOrAdd } from "../../core/get-or-add.ts";
import type { Engine } from "../engine/engine.ts";
import * as failures from "../engine/failures.ts";
import { readFrame } from "../engine/frame.ts";
import type { Client, Message, Relay } from "../engine/message.ts";
import { failed, responseMessage } from "../engine/outcome.ts";
import type { StreamName } from "../journal/journal.ts";
import { streamKey } from "../journal/uncommitted.ts";
import type { Streams } from "../streams/streams.ts";
import type { CommandHead, Interest } from "./frames.ts";
import type { Link } from "./link.ts";

interface ServedLinkOptions {
	readonly link: Link;
	readonly engine: Pick<Engine, "connect" | "receive" | "disconnect" | "addRelay">;
	readonly streams: Pick<Streams, "join" | "unsubscribe" | "lastOf">;
	readonly maxFrameBytes: number;
	/** Whether the principal has a valid token, as far as this server knows. */
	mayActFor(principal: string): boolean;
	/** Called after a client of the other server has left. */
	onEnd(client: Client): void;
}

type Lifecycle = Client["lifecycle"];
/** What another server's clients want of this one's sessions. */
export class ServedLink {
	readonly #options: ServedLinkOptions;
	readonly #clients = new Map<string, LinkClient>();
	readonly #upstreams = new Map<string, Upstream>();
	readonly #relays = new Map<string, () => void>();
	#handles = 0;

	constructor(options: ServedLinkOptions) {
		this.#options = options;
	}

	/** Commands of one link arrive in order, and go to the engine in this order. */
	onCommand([n, id, principal, lifecycle, commandId]: CommandHead, frame: string): void {
		const { link, engine, mayActFor } = this.#options;
		if (!mayActFor(principal)) {
			this.#refuse(n, principal, frame);
			return;
		}
		const client = getOrAdd(this.#clients, `${principal} ${id}`, () => {
			const made = new LinkClient(id, principal, this);
			engine.connect(made);
			return made;
		});
		client.noteLifecycle(lifecycle);
		engine.receive(client, frame, {
			...(commandId !== undefined && { commandId }),
			reply: (message) => link.send("response", n, message.json()),
			moved: (why) => link.send("moved", [n, why]),
		});
	}

	onClientGone(id: string, principal: string): void {
		const client = this.#clients.get(`${principal} ${id}`);
		if (client) this.#end(client);
	}

	/** The other server has clients of the principal. */
	onInterest(principal: string, level: Interest): void {
		const { link, engine, mayActFor } = this.#options;
		this.#relays.get(principal)?.();
		this.#relays.delete(principal);
		if (level === "none") return;
		const relay = engine.addRelay(principal, {
			wantsLifecycle: level === "all",
			send: (message, kind) => {
				// Asked each time: the principal's token may be read here later than there, or revoked. Under
				// backpressure, what is only shown is dropped.
				if (link.hasRoom && mayActFor(principal))
					link.send("notice", [principal, kind], message.json());
			},
		});
		this.#relays.set(principal, relay);
	}

	onUnsubscribe(handle: number): void {
		for (const [key, upstream] of this.#upstreams) {
			if (upstream.handle !== handle) continue;
			this.#upstreams.delete(key);
			this.#options.streams.unsubscribe(upstream, upstream.stream);
		}
	}

	close(): void {
		for (const client of [...this.#clients.values()]) this.#end(client);
		for (const upstream of this.#upstreams.values()) {
			upstream.gone = true;
			this.#options.streams.unsubscribe(upstream, upstream.stream);
		}
		this.#upstreams.clear();
		for (const end of this.#relays.values()) end();
		this.#relays.clear();
	}

	get link(): Link {
		return this.#options.link;
	}

	/** One subscription for all clients of the other server. */
	follow(client: LinkClient, stream: StreamName, after: number): void {
		const { link, streams } = this.#options;
		getOrAdd(this.#upstreams, streamKey(stream), () => {
			const upstream = new Upstream(++this.#handles, stream, link, streams);
			upstream.announce(streams.join(upstream, stream));
			upstream.onLost = () => this.#upstreams.delete(streamKey(stream));
			return upstream;
		});
		link.send("attach", [client.id, stream.principal, stream.sessionId, after]);
	}

	#end(client: LinkClient): void {
		this.#clients.delete(`${client.principal} ${client.id}`);
		client.gone = true;
		this.#options.engine.disconnect(client);
		this.#options.onEnd(client);
	}

	#refuse(n: number, principal: string, text: string): void {
		const frame = readFrame(text, this.#options.maxFrameBytes);
		const { type = "unknown", id } = frame.ok ? frame.command : {};
		const message = responseMessage(failed(type, failures.notTrusted(principal)), id);
		this.#options.link.send("response", n, message.json());
	}
}

/** A client of another server, as the engine sees it. */
class LinkClient implements Client {
	readonly id: string;
	readonly principal: string;
	gone = false;
	readonly #served: ServedLink;
	readonly #following = new Set<string>();
	#lifecycle: Lifecycle = "none";

	constructor(id: string, principal: string, served: ServedLink) {
		this.id = id;
		this.principal = principal;
		this.#served = served;
	}

	get lifecycle(): Lifecycle {
		return this.#lifecycle;
	}

	/** Set by a command: the client's own server must know. */
	set lifecycle(value: Lifecycle) {
		this.#lifecycle = value;
		this.#served.link.send("lifecycle", [this.id, this.principal, value]);
	}

	noteLifecycle(value: Lifecycle): void {
		this.#lifecycle = value;
	}

	send(message: Message): void {
		this.#served.link.send("message", [this.id, this.principal], message.json());
	}

	get hasRoom(): boolean {
		return this.#served.link.hasRoom;
	}

	whenRoom(): Promise<void> {
		return this.#served.link.whenRoom();
	}

	whenDrained(): Promise<void> {
		return this.#served.link.whenRoom();
	}

	readonly relay: Relay = {
		follow: (stream, after) => {
			this.#following.add(streamKey(stream));
			this.#served.follow(this, stream, after);
		},
		unfollow: (stream) => {
			this.#following.delete(streamKey(stream));
			this.#served.link.send("detach", [this.id, stream.principal, stream.sessionId]);
		},
		isFollowing: (stream) => this.#following.has(streamKey(stream)),
	};
}

/** Another server as the subscriber of one stream. */
class Upstream implements Client {
	readonly id: string;
	readonly principal: string;
	readonly handle: number;
	readonly stream: StreamName;
	readonly lifecycle = "none";
	gone = false;
	onLost: () => void = () => {};
	readonly #link: Link;
	readonly #streams: ServedLinkOptions["streams"];
	#isBehind = false;

	constructor(
		handle: number,
		stream: StreamName,
		link: Link,
		streams: ServedLinkOptions["streams"],
	) {
		this.id = `${link.peer} ${handle}`;
		this.principal = stream.principal;
		this.handle = handle;
		this.stream = stream;
		this.#link = link;
		this.#streams = streams;
	}

	announce(seq: number): void {
		const { principal, sessionId } = this.stream;
		this.#link.send("stream", [this.handle, principal, sessionId, seq]);
	}

	send(message: Message): void {
		if (this.#isBehind) return;
		if (!this.#link.hasRoom) {
			this.#isBehind = true;
			void this.#link.whenRoom().then(() => this.#goOn());
			return;
		}
		const { value } = message;
		const isGap = value.type === "gap";
		const seq = isGap ? value.toSeq : seqOf(value);
		this.#link.send("event", [this.handle, seq, isGap ? 1 : 0], message.json());
	}

	streamLost(): void {
		this.#link.send("streamLost", this.handle);
		this.onLost();
	}

	/** The other server reads what it missed from the journal. */
	#goOn(): void {
		this.#isBehind = false;
		const last = this.#streams.lastOf(this.stream);
		if (!this.gone && last !== undefined) this.announce(last);
	}
}

function seqOf(value: Message["value"]): number | null {
	return (value.type === "event" ? value.seq : undefined) ?? null;
}
