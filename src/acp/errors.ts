import { RequestError } from "@agentclientprotocol/sdk";
import { describeError } from "../core/errno.ts";
import { ClientError, type ClientErrorCode } from "../protocol/client.ts";

const INVALID_PARAMS = -32_602;
const INVALID_REQUEST = -32_600;
const INTERNAL = -32_603;
const NOT_FOUND = -32_002;

const CODES: { readonly [Code in ClientErrorCode]?: number } = {
	invalid_command: INVALID_PARAMS,
	unknown_command: INVALID_PARAMS,
	too_large: INVALID_PARAMS,
	wrong_state: INVALID_REQUEST,
	forbidden: INVALID_REQUEST,
	unknown_session: NOT_FOUND,
	not_found: NOT_FOUND,
};

/** Error messages about commands and their ids, which no editor shows. */
const TEXTS: { readonly [Code in ClientErrorCode]?: string } = {
	interrupted:
		"The server stopped before this ended, so it may or may not have had an effect: look at the session, and send it again if it had none.",
	not_durable:
		"This had an effect, but the server could not store it: look at the session before you send it again.",
};

/** An error as an editor shows it: one sentence. The server's own code is in `data`, and its words if the sentence is ours. */
export function asRequestError(error: unknown): RequestError {
	if (error instanceof RequestError) return error;
	if (!(error instanceof ClientError)) return new RequestError(INTERNAL, describeError(error));
	const { code, message } = error;
	const text = TEXTS[code];
	const data = { code, ...(text !== undefined && { message }) };
	return new RequestError(CODES[code] ?? INTERNAL, text ?? message, data);
}

export function invalidParams(message: string): RequestError {
	return new RequestError(INVALID_PARAMS, message);
}

export function invalidRequest(message: string): RequestError {
	return new RequestError(INVALID_REQUEST, message);
}

export function sessionNotFound(id: string): RequestError {
	return new RequestError(NOT_FOUND, `There is no session "${id.slice(0, 100)}"`);
}

export function sessionNotOpen(id: string): RequestError {
	return new RequestError(
		NOT_FOUND,
		`The session "${id.slice(0, 100)}" is not open: load it first`,
	);
}
