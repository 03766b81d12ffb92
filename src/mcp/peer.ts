import { isRecord, property } from "../core/property.ts";

type Id = string | number;

/** What carries messages: standard input and output, or a transport of the SDK. */
export interface McpTransport {
	onmessage?: ((message: never) => void) | undefined;
	onclose?: (() => void) | undefined;
	start(): Promise<void>;
	/** `relatedRequestId`: over HTTP, the message goes out with the answer to that request. */
	send(message: never, options?: { relatedRequestId?: Id }): Promise<void>;
	close(): Promise<void>;
}

/** A request that is being answered. */
export interface Incoming {
	readonly params: Readonly<Record<string, unknown>>;
	/** Aborts when the client cancels the request or leaves. */
	readonly signal: AbortSignal;
	/** Sends a notification that belongs to this request. */
	notify(method: string, params: object): void;
	/** Asks the client. Rejects if it fails, leaves or takes longer than `timeoutMs`. */
	request(method: string, params: object, timeoutMs: number): Promise<unknown>;
}

interface PeerHandlers {
	readonly requests: Readonly<Record<string, (incoming: Incoming) => object | Promise<object>>>;
	readonly notifications: Readonly<Record<string, () => void>>;
	onClose(): void;
}

interface Outgoing {
	resolve(result: unknown): void;
	reject(error: Error): void;
}

const METHOD_NOT_FOUND = -32_601;
const INVALID_REQUEST = -32_600;
const INTERNAL = -32_603;

/** An error with a code of JSON-RPC. Errors of tools are results instead. */
export class RpcError extends Error {
	readonly code: number;

	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

/**
 * One side of a JSON-RPC connection, as a server of MCP needs it. The SDK's own is not used: loading it takes longer than
 * all of the rest (docs/decisions/0025).
 */
export class Peer {
	readonly #handlers: PeerHandlers;
	readonly #incoming = new Map<Id, AbortController>();
	readonly #outgoing = new Map<Id, Outgoing>();
	#transport: McpTransport | undefined;
	#count = 0;

	constructor(handlers: PeerHandlers) {
		this.#handlers = handlers;
	}

	async connect(transport: McpTransport): Promise<void> {
		this.#transport = transport;
		transport.onmessage = (message: unknown) => this.#receive(message);
		transport.onclose = () => this.#closed();
		await transport.start();
	}

	async close(): Promise<void> {
		await this.#transport?.close();
		this.#closed();
	}

	#receive(message: unknown): void {
		if (!isRecord(message) || message.jsonrpc !== "2.0") return; // no id to answer to
		const { id, method } = message;
		if (typeof method !== "string") {
			if (isId(id)) this.#settle(id, message);
			return;
		}
		const params = isRecord(message.params) ? message.params : {};
		if (id === undefined) this.#notified(method, params);
		else if (isId(id)) void this.#answer(id, method, params);
	}

	#notified(method: string, params: Record<string, unknown>): void {
		if (method === "notifications/cancelled") {
			const { requestId } = params;
			if (isId(requestId)) this.#incoming.get(requestId)?.abort();
			return;
		}
		if (Object.hasOwn(this.#handlers.notifications, method)) {
			this.#handlers.notifications[method]?.();
		}
	}

	async #answer(id: Id, method: string, params: Record<string, unknown>): Promise<void> {
		if (this.#incoming.has(id)) {
			const error = { code: INVALID_REQUEST, message: "The id of a pending request" };
			return this.#send({ id, error }, id);
		}
		const abort = new AbortController();
		this.#incoming.set(id, abort);
		const outcome = await this.#outcomeOf(id, method, params, abort.signal);
		this.#incoming.delete(id);
		// A cancelled request has no answer.
		if (!abort.signal.aborted) this.#send({ id, ...outcome }, id);
	}

	async #outcomeOf(
		id: Id,
		method: string,
		params: Record<string, unknown>,
		signal: AbortSignal,
	): Promise<object> {
		const { requests } = this.#handlers;
		const handle = Object.hasOwn(requests, method) ? requests[method] : undefined;
		if (!handle) return { error: { code: METHOD_NOT_FOUND, message: "Method not found" } };
		try {
			const result = await handle({
				...{ params, signal },
				notify: (name, fields) => this.#send({ method: name, params: fields }, id),
				request: (name, fields, timeoutMs) =>
					this.#request({ method: name, params: fields }, { id, signal, timeoutMs }),
			});
			return { result };
		} catch (error) {
			const code = error instanceof RpcError ? error.code : INTERNAL;
			return { error: { code, message: (error as Error).message } };
		}
	}

	async #request(
		message: { method: string; params: object },
		about: { id: Id; signal: AbortSignal; timeoutMs: number },
	): Promise<unknown> {
		const id = this.#count++;
		const { promise, resolve, reject } = Promise.withResolvers<unknown>();
		const give = (reason: string) => {
			const params = { requestId: id, reason };
			this.#send({ method: "notifications/cancelled", params }, about.id);
			reject(new Error(reason));
		};
		const timer = setTimeout(() => give("The request timed out"), about.timeoutMs);
		const onAbort = () => give("The call was cancelled");
		about.signal.addEventListener("abort", onAbort, { once: true });
		this.#outgoing.set(id, { resolve, reject });
		try {
			this.#send({ id, ...message }, about.id);
			return await promise;
		} finally {
			clearTimeout(timer);
			about.signal.removeEventListener("abort", onAbort);
			this.#outgoing.delete(id);
		}
	}

	#settle(id: Id, message: Record<string, unknown>): void {
		const pending = this.#outgoing.get(id);
		if ("result" in message) pending?.resolve(message.result);
		else pending?.reject(new Error(String(property(message.error, "message"))));
	}

	#send(message: object, relatedRequestId: Id): void {
		const framed = { jsonrpc: "2.0", ...message } as never;
		// A client that has gone closes the transport, which ends all of it.
		this.#transport?.send(framed, { relatedRequestId }).catch(() => {});
	}

	#closed(): void {
		if (!this.#transport) return;
		this.#transport = undefined;
		for (const abort of this.#incoming.values()) abort.abort();
		for (const { reject } of this.#outgoing.values()) reject(new Error("The client has gone"));
		this.#handlers.onClose();
	}
}

function isId(id: unknown): id is Id {
	return typeof id === "string" || typeof id === "number";
}
