import type { CommandFields } from "../command-table.ts";
import type { ServerEvent } from "../server-events.ts";
import { listen, notify } from "./listeners.ts";
import type { PendingCommands } from "./pending-commands.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";

/** A request in the book of traffic, with the number of its conversation. */
export type RequestBilled = Extract<ServerEvent, { type: "request_billed" }>["data"];

/** Listeners to events of the server. On each connection, they get the events that they listen to. */
export class ServerEventListeners {
	readonly #commands: PendingCommands;
	readonly #connection: ReconnectingConnection;
	readonly #lifecycle: "all" | "own" | "none";
	readonly #all = new Set<(event: ServerEvent) => void>();
	readonly #billed = new Set<(billed: RequestBilled) => void>();

	constructor(
		commands: PendingCommands,
		connection: ReconnectingConnection,
		lifecycle: "all" | "own" | "none",
	) {
		this.#commands = commands;
		this.#connection = connection;
		this.#lifecycle = lifecycle;
	}

	onEvent(listener: (event: ServerEvent) => void): () => void {
		return listen(this.#all, listener);
	}

	onRequestBilled(listener: (billed: RequestBilled) => void): () => void {
		const stop = listen(this.#billed, listener);
		if (this.#billed.size === 1) this.#set({ traffic: true });
		return () => {
			const { size } = this.#billed;
			stop();
			if (size === 1 && this.#billed.size === 0) this.#set({ traffic: false });
		};
	}

	receive(event: ServerEvent): void {
		if (event.type === "request_billed") notify(this.#billed, event.data);
		notify(this.#all, event);
	}

	resume(): void {
		this.#set({ lifecycle: this.#lifecycle, ...(this.#billed.size > 0 && { traffic: true }) });
	}

	/** This fails only if the connection is lost; the next connection sets it again. */
	#set(fields: CommandFields<"subscribe">): void {
		if (this.#connection.isOpen)
			this.#commands.sendOnce("subscribe", fields).catch(() => undefined);
	}
}
