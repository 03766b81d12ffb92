import type { CommandFields, CommandType, ResponseData } from "../command-table.ts";
import type { Response } from "../envelope.ts";
import { ClientError, errorOf } from "./client-error.ts";

export interface Answer<Type extends CommandType> extends Response<ResponseData[Type]> {
	id: string;
	success: true;
	data: ResponseData[Type];
}

export interface RequestOptions {
	/** Also for `dependsOn` of others. Default: a fresh id. */
	id?: string;
	dependsOn?: string[];
	ifSessionVersion?: number;
	/** May have been sent before under this id, such as before a page reload. */
	isRepeated?: boolean;
	/** Give up after this time; the server may still carry it out. */
	timeoutMs?: number;
	signal?: AbortSignal;
}

export type Requests = ReturnType<typeof createRequests>;

export interface RequestsOptions {
	send(text: string): void;
	newId(): string;
	isOpen(): boolean;
	maxFrameBytes: number;
}

interface Pending {
	readonly text: string;
	/** Connections it was sent on, including one before this client. */
	sent: number;
	readonly once: boolean;
	answer(response: Response): void;
	fail(reason: unknown): void;
}

/** Wait before a resent command is offered again to a busy server. */
const BUSY_RETRY_MS = 500;

/** Commands in flight, resent after each reconnect until answered. */
export function createRequests({ send, newId, isOpen, maxFrameBytes }: RequestsOptions) {
	const pending = new Map<string, Pending>();

	function start(
		command: { type: string; id: string },
		once: boolean,
		{ timeoutMs, signal, isRepeated }: RequestOptions = {},
	): Promise<Response> {
		const { id, type } = command;
		const text = JSON.stringify(command);
		return new Promise((resolve, reject) => {
			signal?.throwIfAborted();
			if (isLonger(text, maxFrameBytes)) {
				const most = `the server takes ${maxFrameBytes} bytes`;
				throw new ClientError("too_large", `This ${type} is too large: ${most}.`);
			}
			if (pending.has(id)) {
				throw new ClientError("id_conflict", `The id ${JSON.stringify(id)} is under way.`);
			}
			const onAbort = () => fail(signal?.reason);
			const onTimeout = () =>
				fail(new ClientError("no_answer", `No answer to ${type} within ${timeoutMs} ms.`));
			const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
			signal?.addEventListener("abort", onAbort, { once: true });
			const entry: Pending = { text, sent: isRepeated ? 1 : 0, once, answer, fail };
			pending.set(id, entry);
			if (isOpen()) sendOne(entry);

			function answer(response: Response): void {
				forget();
				if (response.success) resolve(response);
				else reject(errorOf(response));
			}

			function fail(reason: unknown): void {
				forget();
				reject(reason);
			}

			function forget(): void {
				clearTimeout(timer);
				signal?.removeEventListener("abort", onAbort);
				pending.delete(id);
			}
		});
	}

	function sendOne(entry: Pending): void {
		entry.sent++;
		send(entry.text);
	}

	async function request<Type extends CommandType>(
		type: Type,
		fields: CommandFields<Type>,
		options: RequestOptions = {},
	): Promise<Answer<Type>> {
		const { id: given, isRepeated: _, ...further } = options;
		const { dependsOn, ifSessionVersion } = options;
		const id = given ?? newId();
		const envelope = {
			id,
			idempotencyKey: id,
			...(dependsOn && { dependsOn }),
			...(ifSessionVersion !== undefined && { ifSessionVersion }),
		};
		try {
			const response = await start({ ...fields, type, ...envelope }, false, options);
			return response as Answer<Type>;
		} catch (error) {
			if (!(error instanceof ClientError) || error.code !== "answer_gone") throw error;
			// Answered on an earlier connection: only a read can lose its answer.
			return request(type, fields, further);
		}
	}

	return {
		request,
		/** About this connection: not resent, since a replay has no effect. Fails with `closed`. */
		async requestOnce<Type extends CommandType>(type: Type, fields: CommandFields<Type>) {
			return (await start({ ...fields, type, id: newId() }, true)) as Answer<Type>;
		},
		receive(response: Response): void {
			const { id, code } = response;
			if (id === undefined) return;
			const entry = pending.get(id);
			if (!entry) return;
			if (!entry.once && code === "shutting_down") return; // for the next server
			const isRefused = code === "busy" || code === "rate_limited";
			if (!entry.once && isRefused && entry.sent > 1) {
				// It may have run on an earlier connection: this refusal proves nothing.
				setTimeout(() => {
					if (isOpen() && pending.get(id) === entry) sendOne(entry);
				}, BUSY_RETRY_MS);
				return;
			}
			entry.answer(response);
		},
		/** Resends unanswered commands on a new connection. */
		sendAll(): void {
			for (const entry of pending.values()) if (!entry.once) sendOne(entry);
		},
		lost(wasTooLarge: boolean): void {
			for (const entry of [...pending.values()]) {
				if (entry.once) entry.fail(new ClientError("closed", "The connection was lost."));
			}
			if (wasTooLarge) dropLargest();
		},
		failAll(error: ClientError): void {
			for (const entry of [...pending.values()]) entry.fail(error);
		},
	};

	/** The server closed because of this frame: a resend would fail too. */
	function dropLargest(): void {
		const sent = [...pending.values()].filter((entry) => entry.sent > 0);
		const largest = sent.sort((a, b) => b.text.length - a.text.length)[0];
		largest?.fail(new ClientError("too_large", "The server does not take a frame of this size."));
	}
}

function isLonger(text: string, bytes: number): boolean {
	// A UTF-16 unit is at most three bytes: most texts need no measuring.
	return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}
