import { closedError } from "./client/client-error.ts";
import { type ClientState, keepConnected } from "./client/keep-connected.ts";
import { type Answer, createRequests, type RequestOptions } from "./client/requests.ts";
import { type StreamOptions, streamOf } from "./client/stream.ts";
import {
	createSubscriptions,
	type StreamFrame,
	type SubscribeOptions,
	type Subscription,
} from "./client/subscriptions.ts";
import { tell } from "./client/tell.ts";
import { TOO_LARGE, type Transport, webSocketTransport } from "./client/wire.ts";
import type { CommandFields, CommandType } from "./command-table.ts";
import type { ServerEvent, ServerMessage } from "./server-events.ts";

export { ClientError, type ClientErrorCode } from "./client/client-error.ts";
export type { ClientState, ServerReady } from "./client/keep-connected.ts";
export type { Answer, RequestOptions } from "./client/requests.ts";
export type { StreamOptions } from "./client/stream.ts";
export type {
	RestartFrame,
	StreamFrame,
	SubscribeOptions,
	Subscription,
} from "./client/subscriptions.ts";
export {
	CannotConnect,
	type Closed,
	type Transport,
	tokenFault,
	type Wire,
	type WireListener,
	webSocketTransport,
} from "./client/wire.ts";

/** Every command but those that `subscribe` and `stream` send by themselves. */
export type RequestType = Exclude<CommandType, "subscribe" | "unsubscribe">;

/** The fields of a command; for a command without fields of its own they may be left out. */
export type RequestArguments<Type extends CommandType> =
	Record<never, never> extends CommandFields<Type>
		? [fields?: CommandFields<Type>, options?: RequestOptions]
		: [fields: CommandFields<Type>, options?: RequestOptions];

/**
 * A server's client that outlives its connections: it comes back by itself, repeats what was not answered under the same
 * id, so that it happens once, and goes on with its streams where they broke off.
 */
export interface Client {
	readonly state: ClientState;
	/**
	 * Sends a command. Resolves when it has succeeded and throws a {@link ClientError} when it has failed. It waits for a
	 * connection as long as it takes; `timeoutMs` or `signal` in the options put an end to that.
	 */
	request<Type extends RequestType>(
		type: Type,
		...rest: RequestArguments<Type>
	): Promise<Answer<Type>>;
	/** A session's events, each once and in order, across connections. */
	subscribe(
		sessionId: string,
		listener: (frame: StreamFrame) => void,
		options?: SubscribeOptions,
	): Subscription;
	/** The same as something to loop over. */
	stream(sessionId: string, options?: StreamOptions): AsyncIterableIterator<StreamFrame>;
	/** What else the server says: sessions come and go, lifecycle events, shutdown. Returns how to stop listening. */
	onEvent(listener: (event: ServerEvent) => void): () => void;
	/** Returns how to stop listening. */
	onState(listener: (state: ClientState) => void): () => void;
	/** An id that no other command has. */
	newId(): string;
	/** For good. What is under way fails with the code `closed`, though the server may carry it out. */
	close(): void;
}

/**
 * A server's address (`ws://…`, or that of its page, with or without `#token=…`) and token, or a transport that knows them.
 */
export type ClientOptions = ({ url: string; token?: string } | { transport: Transport }) & {
	/** Which commands' lifecycle events to get. Default: none. */
	lifecycle?: "all" | "own" | "none";
	/** The first wait before connecting again; each is twice as long as the one before. Default: 250 ms. */
	firstRetryMs?: number;
	/** The longest wait. Default: 15 s. */
	lastRetryMs?: number;
	/** How long the server may be silent before it is asked whether it is there. Default: 30 s. */
	silenceMs?: number;
	/** The largest frame the server takes. Default: 10 MiB. */
	maxFrameBytes?: number;
	/** From 0 up to, but not including, 1; spreads the waits. */
	random?: () => number;
};

/** Connects, and stays connected until it is closed. Throws for an address or a token that can never work. */
export function createClient(options: ClientOptions): Client {
	const stateListeners = new Set<(state: ClientState) => void>();
	const eventListeners = new Set<(event: ServerEvent) => void>();
	const name = crypto.randomUUID();
	let count = 0;
	const newId = () => `${name}:${++count}`;
	const isOpen = () => connection.state.name === "open";

	const connection = keepConnected({
		transport:
			"transport" in options ? options.transport : webSocketTransport(options.url, options.token),
		firstRetryMs: options.firstRetryMs ?? 250,
		lastRetryMs: options.lastRetryMs ?? 15_000,
		silenceMs: options.silenceMs ?? 30_000,
		random: options.random ?? Math.random,
		onMessage,
		onLost({ code }) {
			requests.lost(code === TOO_LARGE);
			subscriptions.lost();
		},
		onState,
	});
	const requests = createRequests({
		send: (text) => connection.send(text),
		newId,
		isOpen,
		maxFrameBytes: options.maxFrameBytes ?? 10 * 2 ** 20,
	});
	const subscriptions = createSubscriptions(requests, () => connection.state);

	return {
		get state() {
			return connection.state;
		},
		request(type, ...[fields, requestOptions]) {
			const { state } = connection;
			if (state.name === "closed") return Promise.reject(closedError(state.why));
			return requests.request(type, (fields ?? {}) as CommandFields<typeof type>, requestOptions);
		},
		subscribe: subscriptions.subscribe,
		stream: (sessionId, streamOptions) => streamOf(subscriptions, sessionId, streamOptions),
		onEvent: (listener) => listen(eventListeners, listener),
		onState: (listener) => listen(stateListeners, listener),
		newId,
		close: () => connection.close("the client was closed"),
	};

	function onState(state: ClientState): void {
		if (state.name === "open") {
			const lifecycle = options.lifecycle ?? "none";
			// Fails only with the connection, and the next one asks again.
			requests.requestOnce("subscribe", { lifecycle }).catch(() => undefined);
			// Streams first: what a repeated command causes is then seen as it happens.
			subscriptions.resume();
			requests.sendAll();
		}
		if (state.name === "closed") {
			const error = closedError(state.why);
			subscriptions.endAll(error);
			requests.failAll(error);
		}
		for (const listener of [...stateListeners]) tell(listener, state);
	}

	function onMessage(message: ServerMessage): void {
		if (message.type === "response") {
			requests.receive(message);
			return;
		}
		subscriptions.receive(message);
		for (const listener of [...eventListeners]) tell(listener, message);
	}
}

function listen<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
	listeners.add(listener);
	return () => listeners.delete(listener);
}
