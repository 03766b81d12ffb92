import type { ServerEvent, ServerMessage } from "../server-events.ts";
import {
	CannotConnect,
	type Closed,
	PROTOCOL_VERSION,
	REFUSED,
	type Transport,
	type Wire,
	type WireListener,
} from "./wire.ts";

export type ServerReady = Extract<ServerEvent, { type: "server_ready" }>["data"];

export type ClientState =
	| { name: "connecting"; attempt: number }
	| { name: "open"; server: ServerReady }
	/** The next attempt follows in `retryMs`. */
	| { name: "waiting"; attempt: number; retryMs: number; why: string }
	| { name: "closed"; why: string };

export interface ConnectionOptions {
	transport: Transport;
	/** First wait before a reconnect; doubles each time. Default: 250 ms. */
	firstRetryMs: number;
	/** Longest wait before a reconnect. Default: 15 s. */
	lastRetryMs: number;
	/** Silence before a probe; after as long again the connection is dropped. Default: 30 s. */
	silenceMs: number;
	/** Jitter source in [0, 1). */
	random(): number;
	onMessage(message: ServerMessage): void;
	/** Another attempt follows unless the state is `closed`. */
	onLost(how: Closed): void;
	onState(state: ClientState): void;
}

export function keepConnected(options: ConnectionOptions) {
	let state: ClientState = { name: "connecting", attempt: 1 };
	let wire: Wire | undefined;
	let timer: ReturnType<typeof setTimeout> | undefined;
	let heard = false;
	let probed = false;
	let openedAt = 0;
	/** Generation: callbacks of earlier connections are ignored. */
	let current = 0;
	// Listeners can attach only after this returns.
	queueMicrotask(() => connect(1));

	return {
		get state(): ClientState {
			return state;
		},
		/** Drops the frame unless connected. */
		send: (text: string) => wire?.send(text),
		close,
	};

	function close(why: string): void {
		if (state.name === "closed") return;
		leave({ reason: why });
		set({ name: "closed", why });
	}

	function connect(attempt: number): void {
		if (state.name === "closed") return;
		const mine = ++current;
		set({ name: "connecting", attempt });
		watchSilence(mine, attempt);
		const isMine = () => mine === current;
		/** Frames that arrive before the transport reports open. */
		const early: string[] = [];
		open({
			message: (text) => {
				if (!isMine()) return;
				if (wire) receive(text);
				else early.push(text);
			},
			closed: (how) => isMine() && lost(how, attempt),
		}).then(
			(opened) => {
				if (!isMine()) {
					opened.close();
					return;
				}
				wire = opened;
				for (const text of early) if (isMine()) receive(text);
			},
			(error: unknown) => {
				if (!isMine()) return;
				if (error instanceof CannotConnect) close(error.message);
				else lost({ reason: textOf(error) }, attempt);
			},
		);
	}

	/** A transport that throws cannot connect. */
	async function open(listener: WireListener): Promise<Wire> {
		return options.transport.open(listener);
	}

	function receive(text: string): void {
		heard = true;
		const message = parsed(text);
		if (!message) return;
		if (message.type === "server_ready") {
			if (!isOurs(message.data.protocolVersion)) {
				const { protocolVersion } = message.data;
				close(`the server speaks protocol ${protocolVersion}, this client ${PROTOCOL_VERSION}`);
				return;
			}
			openedAt = Date.now();
			set({ name: "open", server: message.data });
		}
		options.onMessage(message);
	}

	function lost(how: Closed, attempt: number): void {
		const lasted = state.name === "open" && Date.now() - openedAt >= options.lastRetryMs;
		leave(how);
		const why = how.reason || `the connection was closed${how.code ? ` (${how.code})` : ""}`;
		if (how.code === REFUSED) {
			set({ name: "closed", why });
			return;
		}
		// A server that drops connections at once counts as down: the backoff keeps growing.
		const failures = lasted ? 1 : attempt;
		const longest = Math.min(options.firstRetryMs * 2 ** (failures - 1), options.lastRetryMs);
		// Jitter, or all clients of a restarted server would reconnect at once.
		const retryMs = Math.round(longest * (0.5 + options.random() / 2));
		set({ name: "waiting", attempt: failures, retryMs, why });
		timer = setTimeout(() => connect(failures + 1), retryMs);
	}

	function leave(how: Closed): void {
		current++;
		clearTimeout(timer);
		wire?.close();
		wire = undefined;
		options.onLost(how);
	}

	/** A lost network closes nothing: only silence shows it. */
	function watchSilence(mine: number, attempt: number): void {
		heard = false;
		probed = false;
		const look = () => {
			if (mine !== current) return;
			if (heard) {
				heard = false;
				probed = false;
			} else if (probed || state.name === "connecting") {
				lost({ reason: "the server does not answer" }, attempt);
				return;
			} else {
				probed = true;
				wire?.send('{"type":"health_check"}');
			}
			timer = setTimeout(look, options.silenceMs);
		};
		clearTimeout(timer);
		timer = setTimeout(look, options.silenceMs);
	}

	function set(next: ClientState): void {
		state = next;
		options.onState(next);
	}
}

/** Additions keep the major version. */
function isOurs(version: string): boolean {
	return version.split(".")[0] === PROTOCOL_VERSION.split(".")[0];
}

/** `undefined` for unknown frames, which a newer server may send. */
function parsed(text: string): ServerMessage | undefined {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== "object" || value === null) return undefined;
		return typeof (value as { type?: unknown }).type === "string"
			? (value as ServerMessage)
			: undefined;
	} catch {
		return undefined; // unreadable frames are dropped
	}
}

function textOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
