import type { ErrorCode, Response } from "../../protocol/index.ts";
import { safeText } from "../safe-text.ts";
import { CommandError } from "./call.ts";
import {
	createMessage,
	createSharingMessage,
	createWrittenMessage,
	type Message,
	type SharedEnd,
} from "./message.ts";
import { sha256, type WrittenData } from "./written-data.ts";

/** How a command ended, without the identity of who asked: no `id`, no `replayed`. */
export interface Outcome {
	/** Without `data` in outcomes that are kept for repetitions. */
	readonly response: Response;
	/** All of it, written once, so that every repetition is equal whatever became of the data since. */
	readonly json: string;
	/** The same, where others are sent the same data. */
	readonly shared?: SharedEnd;
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

/** The same with data that was written before. */
export function writtenOutcome(response: Response, written: WrittenData, data: unknown): Outcome {
	const shared = { head: headOf(response), written };
	return { response: { ...response, data }, json: `${shared.head}${written.json}}`, shared };
}

/** The JSON of a response up to its data, which comes last. */
function headOf({ data: _, ...rest }: Response): string {
	return `${JSON.stringify(rest).slice(0, -1)},"data":`;
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

/** The outcome as it is kept: what a handler returned may be large, alive and changing. */
export function withoutData({ response, json }: Outcome): Outcome {
	if (response.data === undefined) return { response, json };
	const { data: _, ...rest } = response;
	return { response: rest, json };
}

/** A longer answer to a read is not kept for repetitions, in characters. */
const KEPT_ANSWER = 4_096;

export function isLong({ json }: Outcome): boolean {
	return json.length > KEPT_ANSWER;
}

/** What tells an outcome with data from every other one, whether its data was written before or not. */
export function digestOf({ response, json, shared }: Outcome): string {
	const head = shared?.head ?? headOf(response);
	const data = shared?.written.digest ?? sha256(json.slice(head.length, -1));
	return `${json.length}:${sha256(head + data)}`;
}

/** What is kept of an outcome beside its digest. */
export function shortened({ response }: Outcome): Outcome {
	const { data: _, ...rest } = response;
	return outcomeOf(rest);
}

/** The response to the client that asked first, with its id if it gave one. */
export function responseMessage(
	{ response, json, shared }: Outcome,
	id: string | undefined,
): Message {
	const value = id === undefined ? response : { ...response, id };
	if (shared !== undefined) {
		return createSharingMessage(value, { ...shared, head: withId(shared.head, id) });
	}
	return createMessage(value, withId(json, id));
}

function withId(json: string, id: string | undefined): string {
	return id === undefined ? json : `{"id":${JSON.stringify(id)},${json.slice(1)}`;
}

/** The response to a repetition, with its own id if it gave one. */
export function replayMessage(
	{ response, json, shared }: Outcome,
	id: string | undefined,
): Message {
	const identity = id === undefined ? "" : `"id":${JSON.stringify(id)},`;
	const replayed = (text: string) => `{${identity}"replayed":true,${text.slice(1)}`;
	if (shared === undefined) return createWrittenMessage(replayed(json));
	const value = { ...(id !== undefined && { id }), replayed: true as const, ...response };
	return createSharingMessage(value, { ...shared, head: replayed(shared.head) });
}
