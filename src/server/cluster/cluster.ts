import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Engine } from "../engine/engine.ts";
import { type Client, Message } from "../engine/message.ts";
import type { Journal, StreamName } from "../journal/journal.ts";
import type { ServerLimits } from "../limits.ts";
import type { Streams } from "../streams/streams.ts";
import type { Located } from "./find-place.ts";
import { FollowedStreams } from "./followed-streams.ts";
import type { FrameHeads, FrameKind, Interest } from "./frames.ts";
import type { Link, LinkLimits } from "./link.ts";
import { Links } from "./links.ts";
import type { Server } from "./placement.ts";
import { Router } from "./router.ts";
import { ServedLink } from "./served-link.ts";

export interface ClusterOptions {
	readonly engine: Engine;
	readonly streams: Streams;
	readonly journal: Pick<Journal, "find">;
	locate(name: StreamName): Promise<Located | undefined>;
	/** This server's id. It changes if the others gave it up. */
	self(): string;
	readonly secret: string;
	readonly leaseMs: number;
	readonly limits: ServerLimits;
	readonly allowsPlain: boolean;
	/** Whether the principal has a valid token here. */
	mayActFor(principal: string): boolean;
	/** Called after a client of another server has left. */
	onEnd(client: Client): void;
	/** Asks for the living servers. */
	refresh(): void;
	readonly warn: (line: string) => void;
}

const MIN_PING_MS = 100;
/** Pings within a lease; a link is closed after half a lease of silence. */
const PINGS = 10;
/** UTF-8 bytes of a character. */
const CHARACTER_BYTES = 3;
const ASK_MS = 2_000;

type FrameReceivers = {
	readonly [Kind in FrameKind]: (head: FrameHeads[Kind], body: string) => void;
};

/** This server among the others: links, the router for its clients, and what the others' clients want of it. */
export class Cluster {
	readonly router: Router;
	readonly #options: ClusterOptions;
	readonly #links: Links;
	readonly #followed: FollowedStreams;
	readonly #clients = new Map<string, Client>();
	readonly #byPrincipal = new Map<string, Set<Client>>();
	readonly #interests = new Map<string, Interest>();
	readonly #followers = new Map<string, Client>();
	#servers: readonly Server[] = [];

	constructor(options: ClusterOptions) {
		const { streams, limits, secret, self, allowsPlain, warn } = options;
		this.#options = options;
		this.#links = new Links({
			secret,
			self,
			limits: linkLimits(options),
			maxFrameBytes: CHARACTER_BYTES * (limits.maxAnswerBytes + limits.maxFrameBytes),
			allowsPlain,
			warn,
			onLink: (link) => this.#start(link),
		});
		this.router = new Router({
			...options,
			servers: () => this.#servers,
			link: (id) => this.#links.get(id),
			onClients: (client) => this.#noteClient(client),
		});
		this.#followed = new FollowedStreams({
			streams,
			router: this.router,
			client: (id, principal) => this.#client(id, principal),
			follower: (principal) => this.follower(principal),
		});
	}

	/** Called with the living servers, this one included, whenever they are known again. */
	update(servers: readonly Server[]): void {
		this.#servers = servers;
		this.#links.update(servers);
	}

	/** Takes the upgrade if it is for a link. */
	accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
		this.#links.accept(request, socket, head);
	}

	/** Clients of this server that subscribe to the session follow it to its next owner. */
	followOn(name: StreamName): void {
		this.#followed.want(name);
	}

	onDeserted(name: StreamName): void {
		this.#followed.leave(name);
	}

	/** Announces to the other servers that these sessions are free. */
	announceReleased(names: readonly StreamName[]): void {
		const list = names.map(({ principal, sessionId }) => [principal, sessionId] as const);
		for (const link of this.#links.all()) link.send("released", list);
	}

	/** A client has chosen other lifecycle events. */
	noteLifecycle(client: Client): void {
		if (!client.relay) this.#updateInterest(client.principal);
	}

	/** The answers of all other servers that answer in time, with their ids. */
	async askAll(principal: string, command: object): Promise<{ id: string; json: string }[]> {
		const follower = this.follower(principal);
		const answers = this.#links.all().map(async (link) => {
			const json = await this.router.ask(link, follower, command, ASK_MS);
			return json === undefined ? [] : [{ id: link.peer, json }];
		});
		return (await Promise.all(answers)).flat();
	}

	/** The living servers, and whether there is a link to each. */
	servers(): (Server & { isSelf: boolean; isLinked: boolean })[] {
		const self = this.#options.self();
		return this.#servers.map((server) => ({
			...server,
			isSelf: server.id === self,
			isLinked: this.#links.get(server.id)?.isOpen === true,
		}));
	}

	/** A client that stands for the principal where none of its own does. */
	follower(principal: string): Client {
		return getOrAdd(this.#followers, principal, () => {
			const follower: Client = {
				id: `follower ${principal}`,
				principal,
				lifecycle: "none",
				send: () => {},
				gone: false,
				relay: { follow: () => {}, unfollow: () => {}, isFollowing: () => false },
			};
			this.#options.engine.connect(follower);
			return follower;
		});
	}

	counters() {
		const { forwarded, resent } = this.router.counters;
		return { links: this.#links.all().length, forwarded, resent, waiting: this.router.pending };
	}

	close(): void {
		this.#followed.close();
		this.router.close();
		this.#links.close();
	}

	#start(link: Link): void {
		const { engine, streams, limits, mayActFor, onEnd } = this.#options;
		const { maxFrameBytes } = limits;
		const served = new ServedLink({ link, engine, streams, maxFrameBytes, mayActFor, onEnd });
		const receivers = this.#receivers(link, served);
		link.start({
			onFrame: (kind, head, body) => receivers[kind](head as never, body),
			onClose: () => {
				this.#links.remove(link);
				served.close();
				this.router.onLinkClosed(link);
				this.#followed.onLinkClosed(link);
			},
		});
		for (const [principal, level] of this.#interests) link.send("interest", [principal, level]);
		// A server that is new: sessions can be placed there.
		if (!this.#servers.some(({ id }) => id === link.peer)) this.#options.refresh();
		this.router.onLink();
	}

	/** What each kind of frame does. Only servers with the secret get here, and they have the same version. */
	#receivers(link: Link, served: ServedLink): FrameReceivers {
		const { router } = this;
		const followed = this.#followed;
		return {
			// From clients of the other server.
			command: (head, command) => served.onCommand(head, command),
			clientGone: ([id, principal]) => served.onClientGone(id, principal),
			unsubscribe: (handle) => served.onUnsubscribe(handle),
			interest: ([principal, level]) => served.onInterest(principal, level),
			// For clients of this server.
			response: (number, response) => router.onResponse(link, number, response),
			moved: ([number, why]) => router.onMoved(link, number, why),
			message: ([id, principal], message) =>
				this.#client(id, principal)?.send(Message.fromJson(message)),
			lifecycle: ([id, principal, lifecycle]) => {
				const client = this.#client(id, principal);
				if (client) client.lifecycle = lifecycle;
				this.#updateInterest(principal);
			},
			notice: ([principal, kind], message) =>
				this.#options.engine.passOn(principal, Message.fromJson(message), kind),
			stream: ([handle, principal, sessionId, seq]) =>
				followed.onStream(link, handle, { principal, sessionId }, seq),
			event: ([handle, seq, isGap], event) =>
				followed.onEvent(link, { handle, seq, isGap: isGap === 1 }, event),
			attach: ([id, principal, sessionId, after]) =>
				followed.onAttach(id, { principal, sessionId }, after),
			detach: ([id, principal, sessionId]) => followed.onDetach(id, { principal, sessionId }),
			streamLost: (handle) => followed.onLost(link, handle),
			released: (names) =>
				router.onReleased(
					link,
					names.map(([principal, sessionId]) => ({ principal, sessionId })),
				),
		};
	}

	#client(id: string, principal: string): Client | undefined {
		const client = this.#clients.get(id);
		return client?.principal === principal ? client : undefined;
	}

	#noteClient(client: Client): void {
		const { id, principal, gone } = client;
		const all = getOrAdd(this.#byPrincipal, principal, () => new Set<Client>());
		if (gone) {
			all.delete(client);
			this.#clients.delete(id);
			if (all.size === 0) this.#byPrincipal.delete(principal);
			for (const link of this.#links.all()) link.send("clientGone", [id, principal]);
		} else {
			all.add(client);
			this.#clients.set(id, client);
		}
		this.#updateInterest(principal);
	}

	/** The others send events of the principal's commands only where a client wants them. */
	#updateInterest(principal: string): void {
		const clients = [...(this.#byPrincipal.get(principal) ?? [])];
		const wantsAll = clients.some(({ lifecycle }) => lifecycle === "all");
		const level = clients.length === 0 ? undefined : wantsAll ? "all" : "notices";
		if (this.#interests.get(principal) === level) return;
		if (level) this.#interests.set(principal, level);
		else this.#interests.delete(principal);
		for (const link of this.#links.all()) link.send("interest", [principal, level ?? "none"]);
	}
}

function linkLimits({ leaseMs, limits }: ClusterOptions): LinkLimits {
	return {
		pingMs: Math.max(MIN_PING_MS, leaseMs / PINGS),
		silenceMs: Math.max(5 * MIN_PING_MS, leaseMs / 2),
		highBytes: limits.hardQueueBytes,
		maxBytes: limits.maxQueueBytes,
	};
}
