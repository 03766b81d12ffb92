import { closedError } from "./client/client-error.ts";
import {
	type ClientState,
	type ConnectionOptions,
	keepConnected,
} from "./client/keep-connected.ts";
import { type Answer, createRequests, type RequestOptions } from "./client/requests.ts";
import { type StreamOptions, streamOf } from "./client/stream.ts";
import {
	createSubscriptions,
	type StreamFrame,
	type SubscribeOptions,
	type Subscription,
	tell,
} from "./client/subscriptions.ts";
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

/** All commands except those that `subscribe` and `stream` send. */
export type RequestType = Exclude<CommandType, "subscribe" | "unsubscribe">;

/** Optional for a command without fields of its own. */
export type RequestArguments<Type extends CommandType> =
	Record<never, never> extends CommandFields<Type>
		? [fields?: CommandFields<Type>, options?: RequestOptions]
		: [fields: CommandFields<Type>, options?: RequestOptions];

/** Reconnects, resends unanswered commands under their ids (each runs once), resumes streams. */
export interface Client {
	readonly state: ClientState;
	/** Throws a {@link ClientError}. Waits for a connection until `timeoutMs` or `signal` ends it. */
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
	stream(sessionId: string, options?: StreamOptions): AsyncIterableIterator<StreamFrame>;
	/** Session list, lifecycle and shutdown events. Returns an unsubscribe function. */
	onEvent(listener: (event: ServerEvent) => void): () => void;
	onState(listener: (state: ClientState) => void): () => void;
	newId(): string;
	/** Final. Requests in flight fail with `closed`; the server may still carry them out. */
	close(): void;
}

/** `url` is `ws://…` or the address of the server's page, with or without `#token=…`. */
export type ClientOptions = ({ url: string; token?: string } | { transport: Transport }) &
	Partial<Pick<ConnectionOptions, "firstRetryMs" | "lastRetryMs" | "silenceMs" | "random">> & {
		/** Which commands' lifecycle events to receive. Default: none. */
		lifecycle?: "all" | "own" | "none";
		/** Largest frame the server takes. Default: 10 MiB. */
		maxFrameBytes?: number;
	};

/** Stays connected until closed. Throws for an address or token that can never work. */
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
			// Fails only with the connection; the next one asks again.
			requests.requestOnce("subscribe", { lifecycle }).catch(() => undefined);
			// Streams first, to see live what resent commands cause.
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
