import { closedError } from "./client/client-error.ts";
import { listen, notify } from "./client/listeners.ts";
import {
	type CommandOptions,
	PendingCommands,
	type SuccessResponse,
} from "./client/pending-commands.ts";
import {
	type ClientState,
	ReconnectingConnection,
	type ReconnectOptions,
} from "./client/reconnecting-connection.ts";
import { type RequestBilled, ServerEventListeners } from "./client/server-event-listeners.ts";
import { openStream, type StreamOptions } from "./client/stream.ts";
import {
	type StreamFrame,
	type SubscribeOptions,
	type Subscription,
	Subscriptions,
} from "./client/subscriptions.ts";
import { TOO_LARGE, type Transport, webSocketTransport } from "./client/transport.ts";
import type { CommandFields, CommandType } from "./command-table.ts";
import type { ServerEvent } from "./server-events.ts";

export { ClientError, type ClientErrorCode } from "./client/client-error.ts";
export type { CommandOptions, SuccessResponse } from "./client/pending-commands.ts";
export type { ClientState, ServerReady } from "./client/reconnecting-connection.ts";
export type { RequestBilled } from "./client/server-event-listeners.ts";
export type { StreamOptions } from "./client/stream.ts";
export type {
	RestartFrame,
	StreamFrame,
	SubscribeOptions,
	Subscription,
} from "./client/subscriptions.ts";
export {
	CannotConnect,
	type CloseInfo,
	type Connection,
	type ConnectionListener,
	type Transport,
	tokenFault,
	webSocketTransport,
} from "./client/transport.ts";

/** All commands except those that `subscribe` and `stream` send. */
export type SendableCommandType = Exclude<CommandType, "subscribe" | "unsubscribe">;

/** `fields` is optional for a command without fields of its own. */
export type CommandArguments<Type extends CommandType> =
	Record<never, never> extends CommandFields<Type>
		? [fields?: CommandFields<Type>, options?: CommandOptions]
		: [fields: CommandFields<Type>, options?: CommandOptions];

/**
 * A connection to one server that survives losses: it reconnects, resends unanswered commands under
 * their ids (each runs once) and resumes streams.
 */
export interface Client {
	/** The current state of the connection. */
	readonly state: ClientState;
	/** Waits for connection and response, limited by `timeoutMs` and `signal`. Throws {@link ClientError}. */
	request<Type extends SendableCommandType>(
		type: Type,
		...rest: CommandArguments<Type>
	): Promise<SuccessResponse<Type>>;
	/** Delivers a session's events, each once and in order, across connections. */
	subscribe(
		sessionId: string,
		listener: (frame: StreamFrame) => void,
		options?: SubscribeOptions,
	): Subscription;
	/** The same events for `for await`. Subscribes immediately; ends with the loop or the session. */
	stream(sessionId: string, options?: StreamOptions): AsyncIterableIterator<StreamFrame>;
	/** Listens to all server events, including those of sessions. Returns an unsubscribe function. */
	onEvent(listener: (event: ServerEvent) => void): () => void;
	/**
	 * Listens to requests that strata's proxy writes into the book of traffic; the server watches the book
	 * only while a client listens. Returns an unsubscribe function.
	 */
	onRequestBilled(listener: (billed: RequestBilled) => void): () => void;
	/** Listens to changes of {@link state}. Returns an unsubscribe function. */
	onState(listener: (state: ClientState) => void): () => void;
	/** A fresh command id, unique to this client. */
	newId(): string;
	/** Closes for good. Commands in flight fail with `closed`; the server may still execute them. */
	close(): void;
}

/**
 * A server to connect to, and how often to retry. `url` is `ws://…` or the address of the server's
 * page, with or without `#token=…`.
 */
export type ClientOptions = ({ url: string; token?: string } | { transport: Transport }) &
	Partial<Pick<ReconnectOptions, "firstRetryMs" | "lastRetryMs" | "silenceMs" | "random">> & {
		/** Which commands' lifecycle events to receive. Default: none. */
		lifecycle?: "all" | "own" | "none";
		/** Maximum size of a frame that the server accepts. Default: 10 MiB. */
		maxFrameBytes?: number;
	};

/** Connects to a server and stays connected until closed. Throws for an unusable address or token. */
export function createClient(options: ClientOptions): Client {
	const { lifecycle = "none", maxFrameBytes = 10 * 2 ** 20 } = options;
	const stateListeners = new Set<(state: ClientState) => void>();
	const clientId = crypto.randomUUID();
	let commandCount = 0;
	const newId = () => `${clientId}:${++commandCount}`;

	const connection = new ReconnectingConnection({
		transport:
			"transport" in options ? options.transport : webSocketTransport(options.url, options.token),
		firstRetryMs: options.firstRetryMs ?? 250,
		lastRetryMs: options.lastRetryMs ?? 15_000,
		silenceMs: options.silenceMs ?? 30_000,
		random: options.random ?? Math.random,
		onMessage(message) {
			if (message.type === "response") return commands.receive(message);
			subscriptions.receive(message);
			events.receive(message);
		},
		onLost({ code }) {
			commands.connectionLost(code === TOO_LARGE);
			subscriptions.connectionLost();
		},
		onState(state) {
			if (state.name === "open") {
				events.resume();
				// Streams resume first, so that they see the live events of resent commands.
				subscriptions.resume();
				commands.resendAll();
			}
			if (state.name === "closed") {
				const error = closedError(state.why);
				subscriptions.endAll(error);
				commands.rejectAll(error);
			}
			notify(stateListeners, state);
		},
	});
	const commands = new PendingCommands({ connection, newId, maxFrameBytes });
	const subscriptions = new Subscriptions(commands, connection);
	const events = new ServerEventListeners(commands, connection, lifecycle);

	return {
		get state() {
			return connection.state;
		},
		request(type, ...[fields, commandOptions]) {
			const { state } = connection;
			if (state.name === "closed") return Promise.reject(closedError(state.why));
			return commands.send(type, (fields ?? {}) as CommandFields<typeof type>, commandOptions);
		},
		subscribe: (...rest) => subscriptions.subscribe(...rest),
		stream: (sessionId, streamOptions) => openStream(subscriptions, sessionId, streamOptions),
		onEvent: (listener) => events.onEvent(listener),
		onRequestBilled: (listener) => events.onRequestBilled(listener),
		onState: (listener) => listen(stateListeners, listener),
		newId,
		close: () => connection.close("the client was closed"),
	};
}
