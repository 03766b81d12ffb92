import type { ServerEvent, ServerMessage } from "../server-events.ts";
import { PROTOCOL_VERSION } from "../version.ts";
import {
	CannotConnect,
	type Closed,
	REFUSED,
	type Transport,
	type Wire,
	type WireListener,
} from "./wire.ts";

/** What the server says about itself. */
export type ServerReady = Extract<ServerEvent, { type: "server_ready" }>["data"];

/** How the connection is doing. */
export type ClientState =
	| { name: "connecting"; attempt: number }
	| { name: "open"; server: ServerReady }
	/** Lost, or not to be had: the next attempt is `retryMs` away. */
	| { name: "waiting"; attempt: number; retryMs: number; why: string }
	/** For good. */
	| { name: "closed"; why: string };

/** One connection after the other, until it is closed. */
export interface Connection {
	readonly state: ClientState;
	/** Sends a frame if the connection is open. */
	send(text: string): void;
	close(why: string): void;
}

export interface ConnectionOptions {
	transport: Transport;
	/** The first wait before another attempt; each wait is twice as long, up to the last. */
	firstRetryMs: number;
	lastRetryMs: number;
	/** A server that says nothing for this long is asked whether it is there, and given up after as long again. */
	silenceMs: number;
	random(): number;
	onMessage(message: ServerMessage): void;
	/** The connection is lost; another attempt follows unless the state is `closed`. */
	onLost(how: Closed): void;
	onState(state: ClientState): void;
}

/** Keeps a connection to a server. */
export function keepConnected(options: ConnectionOptions): Connection {
	let state: ClientState = { name: "connecting", attempt: 1 };
	let wire: Wire | undefined;
	let timer: ReturnType<typeof setTimeout> | undefined;
	let heard = false;
	let probed = false;
	let openedAt = 0;
	/** What comes from an earlier connection is no longer of interest. */
	let current = 0;
	// Nobody can listen before the caller has what this returns.
	queueMicrotask(() => connect(1));

	return {
		get state() {
			return state;
		},
		send: (text) => wire?.send(text),
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
		/** What a transport hands over before it says that it is open. */
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

	/** A transport that throws is one that cannot connect. */
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
		// A server that takes connections and drops them at once is as good as none: the waits go on growing.
		const failures = lasted ? 1 : attempt;
		const longest = Math.min(options.firstRetryMs * 2 ** (failures - 1), options.lastRetryMs);
		// Half of it by chance, or all clients of a restarted server would come back in one moment.
		const retryMs = Math.round(longest * (0.5 + options.random() / 2));
		set({ name: "waiting", attempt: failures, retryMs, why });
		timer = setTimeout(() => connect(failures + 1), retryMs);
	}

	/** Parts with the connection, whatever state it is in. */
	function leave(how: Closed): void {
		current++;
		clearTimeout(timer);
		wire?.close();
		wire = undefined;
		options.onLost(how);
	}

	/** A network that went away closes nothing: only silence tells. */
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

/** Additions keep the first number of the version. */
function isOurs(version: string): boolean {
	return version.split(".")[0] === PROTOCOL_VERSION.split(".")[0];
}

/** A message of the server; `undefined` for what is none, which a newer server may send. */
function parsed(text: string): ServerMessage | undefined {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== "object" || value === null) return undefined;
		return typeof (value as { type?: unknown }).type === "string"
			? (value as ServerMessage)
			: undefined;
	} catch {
		return undefined; // Nobody waits for a frame that nobody can read.
	}
}

function textOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
