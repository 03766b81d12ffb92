import type { ServerEvent, ServerMessage } from "../server-events.ts";
import {
	CannotConnect,
	type CloseInfo,
	type Connection,
	type ConnectionListener,
	PROTOCOL_VERSION,
	REFUSED,
	type Transport,
} from "./transport.ts";

export type ServerReady = Extract<ServerEvent, { type: "server_ready" }>["data"];

/** The state of the connection. Only `closed` is final. */
export type ClientState =
	| { name: "connecting"; attempt: number }
	| { name: "open"; server: ServerReady }
	/** The next attempt follows in `retryMs`. */
	| { name: "waiting"; attempt: number; retryMs: number; why: string }
	| { name: "closed"; why: string };

export interface ReconnectOptions {
	readonly transport: Transport;
	/** First wait before a reconnect; doubles each time. Default: 250 ms. */
	readonly firstRetryMs: number;
	/** Maximum wait before a reconnect. Default: 15 s. */
	readonly lastRetryMs: number;
	/** Silence before a probe. After the same time again, the connection is dropped. Default: 30 s. */
	readonly silenceMs: number;
	/** Jitter source in [0, 1). */
	random(): number;
	onMessage(message: ServerMessage): void;
	/** Another attempt follows unless the state is `closed`. */
	onLost(info: CloseInfo): void;
	onState(state: ClientState): void;
}

/** Reconnects with exponential backoff and jitter until it is closed. */
export class ReconnectingConnection {
	readonly #options: ReconnectOptions;
	#state: ClientState = { name: "connecting", attempt: 1 };
	#connection: Connection | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#receivedFrame = false;
	#probed = false;
	#openedAt = 0;
	/** Callbacks of earlier generations are ignored. */
	#generation = 0;

	constructor(options: ReconnectOptions) {
		this.#options = options;
		// Connects later, because listeners can attach only after the constructor returns.
		queueMicrotask(() => this.#connect(1));
	}

	get state(): ClientState {
		return this.#state;
	}

	get isOpen(): boolean {
		return this.#state.name === "open";
	}

	/** Drops the frame unless connected. */
	send(text: string): void {
		this.#connection?.send(text);
	}

	close(why: string): void {
		if (this.#state.name === "closed") return;
		this.#disconnect({ reason: why });
		this.#setState({ name: "closed", why });
	}

	#connect(attempt: number): void {
		if (this.#state.name === "closed") return;
		const generation = ++this.#generation;
		this.#setState({ name: "connecting", attempt });
		this.#watchSilence(generation, attempt);
		const isCurrent = () => generation === this.#generation;
		/** Frames that arrive before the transport reports open. */
		const early: string[] = [];
		const listener: ConnectionListener = {
			message: (text) => {
				if (!isCurrent()) return;
				if (this.#connection) this.#receive(text);
				else early.push(text);
			},
			closed: (info) => isCurrent() && this.#lost(info, attempt),
		};
		// If the transport throws, the promise rejects.
		new Promise<Connection>((resolve) => resolve(this.#options.transport.open(listener))).then(
			(opened) => {
				if (!isCurrent()) {
					opened.close();
					return;
				}
				this.#connection = opened;
				for (const text of early) if (isCurrent()) this.#receive(text);
			},
			(error: unknown) => {
				if (!isCurrent()) return;
				if (error instanceof CannotConnect) this.close(error.message);
				else
					this.#lost({ reason: error instanceof Error ? error.message : String(error) }, attempt);
			},
		);
	}

	#receive(text: string): void {
		this.#receivedFrame = true;
		const message = parseMessage(text);
		if (!message) return;
		if (message.type === "server_ready") {
			const { protocolVersion } = message.data;
			if (!isCompatible(protocolVersion)) {
				const versions = `protocol ${protocolVersion}, but this client speaks ${PROTOCOL_VERSION}`;
				this.close(`the server speaks ${versions}`);
				return;
			}
			this.#openedAt = Date.now();
			this.#setState({ name: "open", server: message.data });
		}
		this.#options.onMessage(message);
	}

	#lost(info: CloseInfo, attempt: number): void {
		const { firstRetryMs, lastRetryMs, random } = this.#options;
		const lasted = this.isOpen && Date.now() - this.#openedAt >= lastRetryMs;
		this.#disconnect(info);
		const why = info.reason || `the connection was closed${info.code ? ` (${info.code})` : ""}`;
		if (info.code === REFUSED) {
			this.#setState({ name: "closed", why });
			return;
		}
		// A server that drops new connections counts as down, so the backoff keeps growing.
		const failures = lasted ? 1 : attempt;
		const longest = Math.min(firstRetryMs * 2 ** (failures - 1), lastRetryMs);
		// Without jitter, all clients of a restarted server would reconnect at once.
		const retryMs = Math.round(longest * (0.5 + random() / 2));
		this.#setState({ name: "waiting", attempt: failures, retryMs, why });
		this.#timer = setTimeout(() => this.#connect(failures + 1), retryMs);
	}

	#disconnect(info: CloseInfo): void {
		this.#generation++;
		clearTimeout(this.#timer);
		this.#connection?.close();
		this.#connection = undefined;
		this.#options.onLost(info);
	}

	/** Detects a lost network by silence, because a lost network does not close the socket. */
	#watchSilence(generation: number, attempt: number): void {
		const { silenceMs } = this.#options;
		this.#receivedFrame = false;
		this.#probed = false;
		const check = () => {
			if (generation !== this.#generation) return;
			if (this.#receivedFrame) {
				this.#receivedFrame = false;
				this.#probed = false;
			} else if (this.#probed || this.#state.name === "connecting") {
				this.#lost({ reason: "the server does not answer" }, attempt);
				return;
			} else {
				this.#probed = true;
				this.#connection?.send('{"type":"health_check"}');
			}
			this.#timer = setTimeout(check, silenceMs);
		};
		clearTimeout(this.#timer);
		this.#timer = setTimeout(check, silenceMs);
	}

	#setState(next: ClientState): void {
		this.#state = next;
		this.#options.onState(next);
	}
}

/** Compares major versions only: additions keep the major version. */
function isCompatible(version: string): boolean {
	return version.split(".")[0] === PROTOCOL_VERSION.split(".")[0];
}

/** Returns `undefined` for frames that are not JSON or have no type. The client ignores them. */
function parseMessage(text: string): ServerMessage | undefined {
	try {
		const value = JSON.parse(text) as { type?: unknown } | null;
		return typeof value?.type === "string" ? (value as ServerMessage) : undefined;
	} catch {
		return undefined; // unreadable frames are dropped
	}
}
