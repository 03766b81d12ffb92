import type { ErrorCode, Response } from "../envelope.ts";

/** Why a request failed: a code of the server, or one of the client's own. */
export type ClientErrorCode =
	| ErrorCode
	/** The client was closed, or the server refused the connection for good. */
	| "closed"
	/** No answer within `timeoutMs`. The command may have had an effect. */
	| "no_answer";

/** A request, or a subscription, that failed. */
export class ClientError extends Error {
	readonly code: ClientErrorCode;
	/** What the server said, if it was the server. */
	readonly response?: Response;

	constructor(code: ClientErrorCode, message: string, response?: Response) {
		super(message);
		this.name = "ClientError";
		this.code = code;
		if (response) this.response = response;
	}
}

/** The error of a response without success. */
export function errorOf(response: Response): ClientError {
	return new ClientError(
		response.code ?? "failed",
		response.error ?? `${response.command} failed`,
		response,
	);
}

/** The error of everything that is asked of a client, or under way, when it is closed. */
export function closedError(why: string): ClientError {
	return new ClientError("closed", `There is no connection: ${why}.`);
}
