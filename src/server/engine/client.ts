import type { Message } from "./message.ts";

/** A connection as the engine sees it. Transports make them. */
export interface Client {
	/** Unique in this process. */
	readonly id: string;
	readonly principal: string;
	/** Which lifecycle events it gets: of all commands of its principal, of its own, or none. Default: all. */
	lifecycle: "all" | "own" | "none";
	/** Queues a message behind all earlier ones. Never blocks, never throws, does nothing once the client is gone. */
	send(message: Message): void;
	/** So much waits for it that large answers had better wait, too. */
	readonly crowded?: boolean;
	/** Resolves when most of what was sent has left, or the client is gone. */
	drained?(): Promise<void>;
	/** Whether it has disconnected. */
	readonly gone: boolean;
}
