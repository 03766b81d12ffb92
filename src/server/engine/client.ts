import type { Message } from "./message.ts";

/** A connection as the engine sees it. Transports make them. */
export interface Client {
	/** Unique in this process. */
	readonly id: string;
	readonly principal: string;
	/** Which lifecycle events it gets: of all commands of its principal, of its own, or none. Default: all. */
	lifecycle: "all" | "own" | "none";
	/**
	 * Queues a message behind all earlier ones. Never blocks, never throws, does nothing once the client is gone. One that
	 * can wait leaves with the next that cannot, or a few milliseconds later.
	 */
	send(message: Message, canWait?: boolean): void;
	/** Whether reads may be answered now; false while too much waits to be sent. Default: always. */
	readonly hasRoom?: boolean;
	/** Resolves when there may be room again, or the client is gone. */
	whenRoom?(): Promise<void>;
	/** Resolves when most of what was sent has left, or the client is gone. */
	drained?(): Promise<void>;
	/** Whether it has disconnected. */
	readonly gone: boolean;
}
