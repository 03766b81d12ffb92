import type { Data, Response } from "../../protocol/index.ts";
import { safeText } from "../safe-text.ts";
import { CommandError } from "./call.ts";
import { Message, type SharedData, sha256, type WrittenData } from "./message.ts";

/** The final result of a command. Without `id` and `replayed`, so it is the same for each repetition. */
export interface Outcome {
	/** Has no `data` if the outcome is kept for repetitions. */
	readonly response: Response;
	/** The response as JSON. Serialized once, so that repetitions do not see later changes to the data. */
	readonly json: string;
	readonly shared?: SharedData;
	/** Not an outcome: another server must run the command. */
	readonly moved?: Moved;
}

/** Why a command cannot run here: another server has the session, or this one cannot take it. */
export type Moved = "elsewhere" | "refused";

export interface PastRun {
	readonly kind: "past";
	readonly fingerprint: string;
	readonly outcome: Outcome;
	readonly finishedAtMs: number;
	/** Set for a read whose answer is too long to keep. A repetition reads again and compares the digests. */
	readonly digest?: string | undefined;
	/** The journal has not written the outcome yet, so it records no further names for it. */
	readonly unsaved?: true | undefined;
}

export interface Failure {
	readonly code: Data<"ErrorCode">;
	readonly error: string;
	readonly sessionVersion?: number | undefined;
	readonly timedOut?: true;
	readonly moved?: Moved;
}

/** Throws if the data cannot be serialized as JSON. */
export function outcomeOf(response: Response): Outcome {
	return { response, json: JSON.stringify(response) };
}

export function writtenOutcome(response: Response, written: WrittenData, data: unknown): Outcome {
	const shared = { head: headOf(response), written };
	return { response: { ...response, data }, json: `${shared.head}${written.json}}`, shared };
}

function headOf(response: Response): string {
	return `${JSON.stringify(dataless(response)).slice(0, -1)},"data":`;
}

function dataless({ data: _, ...rest }: Response): Response {
	return rest;
}

export function failed(command: string, failure: Failure): Outcome {
	const outcome = outcomeOf(failureResponse(command, failure));
	return failure.moved ? { ...outcome, moved: failure.moved } : outcome;
}

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

/** Never throws, even if the thrown value has no readable text. */
export function failureOf(thrown: unknown): Failure {
	if (thrown instanceof CommandError) return { code: thrown.code, error: thrown.message };
	let error = "";
	try {
		error = safeText(thrown);
	} catch {
		// The value cannot be converted to text: the general message below is used.
	}
	return { code: "failed", error: error || "The command failed." };
}

/** Maximum length of a read's answer that is kept, in characters of JSON. */
const KEPT_ANSWER_CHARACTERS = 4_096;

export function isLong({ json }: Outcome): boolean {
	return json.length > KEPT_ANSWER_CHARACTERS;
}

/** Equal answers have equal digests, whether their data is shared or not. */
export function digestOf({ response, json, shared }: Outcome): string {
	const head = shared?.head ?? headOf(response);
	const data = shared?.written.digest ?? sha256(json.slice(head.length, -1));
	return `${json.length}:${sha256(head + data)}`;
}

/** Drops the handler's live data, which may be large and may still change. Keeps the JSON. */
export function withoutData({ response, json }: Outcome): Outcome {
	return { response: response.data === undefined ? response : dataless(response), json };
}

export function shortened({ response }: Outcome): Outcome {
	return outcomeOf(dataless(response));
}

export function responseMessage(outcome: Outcome, id?: string, replayed?: true): Message {
	const { response, json, shared } = outcome;
	const identity = id === undefined ? "" : `"id":${JSON.stringify(id)},`;
	const prefix = replayed ? `${identity}"replayed":true,` : identity;
	const marked = (text: string) => (prefix === "" ? text : `{${prefix}${text.slice(1)}`);
	// An outcome that was kept has its data only in `json`.
	if (replayed && !shared) return Message.fromJson(marked(json));
	const named = id === undefined ? response : { ...response, id };
	const value = replayed ? { ...named, replayed } : named;
	if (!shared) return new Message(value, marked(json));
	return new Message(value, undefined, { ...shared, head: marked(shared.head) });
}
