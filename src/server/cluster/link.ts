import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { type FrameHeads, type FrameKind, LETTERS } from "./frames.ts";

export interface LinkLimits {
	/** How often the other side is pinged. */
	readonly pingMs: number;
	/** A link that was silent for longer is closed. */
	readonly silenceMs: number;
	/** High-water mark of unsent bytes: reads and streams wait. */
	readonly highBytes: number;
	/** Above this many unsent bytes, the latest frame not counted, the link is closed. */
	readonly maxBytes: number;
}

interface LinkHandler {
	/** `head` is parsed JSON; `body` is the text behind it. */
	onFrame(kind: FrameKind, head: unknown, body: string): void;
	onClose(): void;
}

const KINDS: ReadonlyMap<string, FrameKind> = new Map(
	Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as FrameKind]),
);

/**
 * One authenticated connection between two servers. A frame is a letter, a JSON value, a line feed and a text that is
 * passed on as it is, so that neither commands nor answers are serialized again.
 */
export class Link {
	readonly peer: string;
	/** The server that opened it. */
	readonly dialer: string;
	readonly #ws: WebSocket;
	readonly #socket: Duplex;
	readonly #limits: LinkLimits;
	readonly #timer: NodeJS.Timeout;
	#handler: LinkHandler | undefined;
	#heardAt = performance.now();
	#isCorked = false;
	#onRoom: (() => void)[] = [];
	isOpen = true;

	constructor(
		{ peer, dialer }: { peer: string; dialer: string },
		ws: WebSocket,
		socket: Duplex,
		limits: LinkLimits,
	) {
		this.peer = peer;
		this.dialer = dialer;
		this.#ws = ws;
		this.#socket = socket;
		this.#limits = limits;
		const hear = () => {
			this.#heardAt = performance.now();
		};
		socket.on("data", hear);
		socket.on("drain", () => this.#noteRoom());
		ws.on("message", (data) => this.#receive(String(data)));
		ws.on("error", () => ws.terminate());
		ws.on("close", () => this.#closed());
		this.#timer = setInterval(() => this.#beat(), limits.pingMs).unref();
	}

	/** Frames that came before wait in the socket. */
	start(handler: LinkHandler): void {
		this.#handler = handler;
	}

	send<Kind extends FrameKind>(kind: Kind, head: FrameHeads[Kind], body = ""): void {
		if (!this.isOpen) return;
		// The new frame does not count: an answer that is larger alone would come again and again.
		if (this.#unsent > this.#limits.maxBytes) {
			this.close();
			return;
		}
		// Frames of one tick share a write.
		if (!this.#isCorked) {
			this.#isCorked = true;
			this.#socket.cork();
			process.nextTick(() => {
				this.#isCorked = false;
				this.#socket.uncork();
			});
		}
		this.#ws.send(`${LETTERS[kind]}${JSON.stringify(head)}\n${body}`);
	}

	get hasRoom(): boolean {
		return !this.isOpen || this.#unsent < this.#limits.highBytes;
	}

	/** Resolves when there may be room, or the link is closed. */
	whenRoom(): Promise<void> {
		if (this.hasRoom) return Promise.resolve();
		return new Promise((resolve) => this.#onRoom.push(resolve));
	}

	close(): void {
		this.#ws.terminate();
		this.#closed();
	}

	get #unsent(): number {
		return this.#ws.bufferedAmount;
	}

	#receive(text: string): void {
		const end = text.indexOf("\n");
		if (end < 1) {
			this.close();
			return;
		}
		let head: unknown;
		try {
			head = JSON.parse(text.slice(1, end));
		} catch {
			this.close();
			return;
		}
		// A newer server of the same version may send frames that this one ignores.
		const kind = KINDS.get(text.charAt(0));
		if (kind) this.#handler?.onFrame(kind, head, text.slice(end + 1));
	}

	#beat(): void {
		if (performance.now() - this.#heardAt > this.#limits.silenceMs) this.close();
		else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.ping();
		this.#noteRoom();
	}

	#noteRoom(): void {
		if (this.hasRoom) for (const resolve of this.#onRoom.splice(0)) resolve();
	}

	#closed(): void {
		if (!this.isOpen) return;
		this.isOpen = false;
		clearInterval(this.#timer);
		this.#noteRoom();
		this.#handler?.onClose();
	}
}
