import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/**
 * The body of a request on its way to the upstream. undici destroys it when the answer comes early: the
 * rest of the request is then read and dropped, and the client stays.
 */
export class Upload extends Readable {
	readonly #request: IncomingMessage;

	/** `observe` gets each chunk after it was passed on. */
	constructor(request: IncomingMessage, observe: (chunk: Buffer) => void) {
		super();
		this.#request = request;
		request.on("data", (chunk: Buffer) => {
			if (!this.push(chunk) && !this.destroyed) request.pause();
			observe(chunk);
		});
		request.on("end", () => this.push(null));
		request.on("error", (error) => this.destroy(error));
		this.on("error", () => {}); // undici reports it
	}

	override _read(): void {
		this.#request.resume();
	}

	override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
		this.#request.resume();
		callback(error);
	}
}
