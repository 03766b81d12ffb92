import type { ErrorCode, Response } from "../envelope.ts";

/** An error code of the server, or one of the client's own codes. */
export type ClientErrorCode =
	| ErrorCode
	/** The client was closed, or the server refused it for good. */
	| "closed"
	/** No answer within `timeoutMs`. The command may have had an effect. */
	| "no_answer";

/** A command failed, or the client cannot send it. The message is for people, `code` for programs. */
export class ClientError extends Error {
	readonly code: ClientErrorCode;
	/** The server's response. Absent if the client itself raised the error. */
	readonly response?: Response;

	constructor(code: ClientErrorCode, message: string, response?: Response) {
		super(message);
		this.name = "ClientError";
		this.code = code;
		if (response) this.response = response;
	}
}

export function responseError(response: Response): ClientError {
	const message = response.error ?? `${response.command} failed`;
	return new ClientError(response.code ?? "failed", message, response);
}

export function closedError(why: string): ClientError {
	return new ClientError("closed", `Not connected: ${why}.`);
}
