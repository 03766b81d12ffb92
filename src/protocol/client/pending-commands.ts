import type { CommandFields, CommandType, ResponseData } from "../command-table.ts";
import type { Response } from "../envelope.ts";
import { ClientError, responseError } from "./client-error.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";

/** The successful response to one command. */
export interface SuccessResponse<Type extends CommandType> extends Response<ResponseData[Type]> {
	readonly id: string;
	readonly success: true;
	readonly data: ResponseData[Type];
}

/** Options of one command. */
export interface CommandOptions {
	/** The command's id, which others can name in `dependsOn`. Default: a fresh id. */
	readonly id?: string;
	readonly dependsOn?: string[];
	readonly ifSessionVersion?: number;
	/** The command may have been sent before under this id, such as before a page reload. */
	readonly isRepeated?: boolean;
	/** Time until the client gives up; the server may still execute the command. Default: no limit. */
	readonly timeoutMs?: number;
	readonly signal?: AbortSignal;
}

interface PendingCommandsOptions {
	readonly connection: Pick<ReconnectingConnection, "isOpen" | "send">;
	newId(): string;
	readonly maxFrameBytes: number;
}

interface PendingCommand {
	readonly text: string;
	/** How often the command was sent. With `isRepeated`, one earlier attempt counts too. */
	sent: number;
	readonly once: boolean;
	resolve(response: Response): void;
	reject(reason: unknown): void;
}

/** Delay before a command is resent to a busy server. */
export const BUSY_RETRY_MS = 500;

/** Commands without a response. They are resent after each reconnect until answered. */
export class PendingCommands {
	readonly #options: PendingCommandsOptions;
	readonly #pending = new Map<string, PendingCommand>();

	constructor(options: PendingCommandsOptions) {
		this.#options = options;
	}

	async send<Type extends CommandType>(
		type: Type,
		fields: CommandFields<Type>,
		options: CommandOptions = {},
	): Promise<SuccessResponse<Type>> {
		const { id: given, isRepeated: _, ...retryOptions } = options;
		const { dependsOn, ifSessionVersion } = options;
		const id = given ?? this.#options.newId();
		const envelope = {
			id,
			idempotencyKey: id,
			...(dependsOn && { dependsOn }),
			...(ifSessionVersion !== undefined && { ifSessionVersion }),
		};
		try {
			const response = await this.#start({ ...fields, type, ...envelope }, false, options);
			return response as SuccessResponse<Type>;
		} catch (error) {
			if (!(error instanceof ClientError) || error.code !== "answer_gone") throw error;
			// The server sent the answer on an earlier connection and cannot repeat it. This happens only for reads, so a retry is safe.
			return this.send(type, fields, retryOptions);
		}
	}

	/** For commands about this connection only. Fails with `closed` if the connection is lost. */
	async sendOnce<Type extends CommandType>(type: Type, fields: CommandFields<Type>) {
		const command = { ...fields, type, id: this.#options.newId() };
		return (await this.#start(command, true)) as SuccessResponse<Type>;
	}

	receive(response: Response): void {
		const { id, code } = response;
		if (id === undefined) return;
		const command = this.#pending.get(id);
		if (!command) return;
		if (!command.once && code === "shutting_down") return; // resent to the next server
		const isRefused = code === "busy" || code === "rate_limited";
		if (!command.once && isRefused && command.sent > 1) {
			// The command may have run on an earlier connection, in spite of this refusal.
			setTimeout(() => {
				const { isOpen } = this.#options.connection;
				if (isOpen && this.#pending.get(id) === command) this.#transmit(command);
			}, BUSY_RETRY_MS);
			return;
		}
		command.resolve(response);
	}

	resendAll(): void {
		for (const command of this.#pending.values()) if (!command.once) this.#transmit(command);
	}

	connectionLost(wasTooLarge: boolean): void {
		for (const command of [...this.#pending.values()]) {
			if (command.once) command.reject(new ClientError("closed", "The connection was lost."));
		}
		if (wasTooLarge) this.#rejectLargest();
	}

	rejectAll(error: ClientError): void {
		for (const command of [...this.#pending.values()]) command.reject(error);
	}

	#start(
		command: { type: string; id: string },
		once: boolean,
		{ timeoutMs, signal, isRepeated }: CommandOptions = {},
	): Promise<Response> {
		const { id, type } = command;
		const { maxFrameBytes } = this.#options;
		const text = JSON.stringify(command);
		return new Promise((resolve, reject) => {
			signal?.throwIfAborted();
			if (isLonger(text, maxFrameBytes)) {
				const limit = `the server accepts at most ${maxFrameBytes} bytes`;
				throw new ClientError("too_large", `This ${type} is too large: ${limit}.`);
			}
			if (this.#pending.has(id)) {
				throw new ClientError(
					"id_conflict",
					`A command with the id ${JSON.stringify(id)} is in flight.`,
				);
			}
			const remove = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", onAbort);
				this.#pending.delete(id);
			};
			const pending: PendingCommand = {
				text,
				sent: isRepeated ? 1 : 0,
				once,
				resolve(response) {
					remove();
					if (response.success) resolve(response);
					else reject(responseError(response));
				},
				reject(reason) {
					remove();
					reject(reason);
				},
			};
			const onAbort = () => pending.reject(signal?.reason);
			const noAnswer = `No answer to ${type} within ${timeoutMs} ms.`;
			const onTimeout = () => pending.reject(new ClientError("no_answer", noAnswer));
			const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
			signal?.addEventListener("abort", onAbort, { once: true });
			this.#pending.set(id, pending);
			if (this.#options.connection.isOpen) this.#transmit(pending);
		});
	}

	#transmit(command: PendingCommand): void {
		command.sent++;
		this.#options.connection.send(command.text);
	}

	/** The server closed the connection because of a large frame. A resend would fail too. */
	#rejectLargest(): void {
		const sent = [...this.#pending.values()].filter((command) => command.sent > 0);
		const largest = sent.sort((a, b) => b.text.length - a.text.length)[0];
		largest?.reject(
			new ClientError("too_large", "The server does not accept a frame of this size."),
		);
	}
}

function isLonger(text: string, bytes: number): boolean {
	// A UTF-16 unit takes at most three bytes, so most texts need not be encoded.
	return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}
