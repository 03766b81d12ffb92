import type { ErrorCode, Response } from "../../protocol/index.ts";
import { safeText } from "../sessions/safe-text.ts";
import { CommandError } from "./call.ts";
import { createMessage, type Message } from "./message.ts";

/** How a command ended, without the identity of who asked. Written as JSON once, so that every repetition is equal. */
export interface Outcome {
	/** No `id`, no `replayed`. */
	readonly response: Response;
	readonly json: string;
}

/** What goes into the response of a command that failed. */
export interface Failure {
	readonly code: ErrorCode;
	readonly error: string;
	readonly sessionVersion?: number | undefined;
	readonly timedOut?: true;
}

/** The outcome of a response. Throws where its data cannot be JSON. */
export function outcomeOf(response: Response): Outcome {
	return { response, json: JSON.stringify(response) };
}

export function failed(command: string, failure: Failure): Outcome {
	return outcomeOf(failureResponse(command, failure));
}

/** A failure as a response, for a command of a type, or of type `unknown`. */
export function failureResponse(
	command: string,
	{ code, error, sessionVersion, timedOut }: Failure,
): Response {
	return {
		type: "response",
		command,
		success: false,
		error,
		code,
		...(sessionVersion !== undefined && { sessionVersion }),
		...(timedOut && { timedOut }),
	};
}

/** What a handler threw, as it may travel. */
export function failureOf(thrown: unknown): { code: ErrorCode; error: string } {
	if (thrown instanceof CommandError) return { code: thrown.code, error: thrown.message };
	return { code: "failed", error: textOf(thrown) };
}

/** Throwing something whose text cannot be had must not break more than its own command. */
function textOf(thrown: unknown): string {
	try {
		return safeText(thrown) || "The command failed.";
	} catch {
		return "The command failed.";
	}
}

/** The response to somebody who asked, with their id if they gave one. */
export function responseMessage(
	{ response, json }: Outcome,
	id: string | undefined,
	replayed: boolean,
): Message {
	const identity = {
		...(id !== undefined && { id }),
		...(replayed && { replayed: true as const }),
	};
	// The JSON of an outcome is never written twice: the identity goes in front of the fields it has.
	const front =
		(id === undefined ? "" : `"id":${JSON.stringify(id)},`) + (replayed ? '"replayed":true,' : "");
	return createMessage({ ...response, ...identity }, `{${front}${json.slice(1)}`);
}
