import type { Response } from "../../protocol/index.ts";
import type { AdmittedCommand, FinishedCommand, StoredCommand } from "./journal.ts";

/** A response as it is kept. */
export interface KeptOutcome {
	response: Response;
	json: string;
}

/**
 * What to keep of a response. One that is too large is not kept: asking for it again by id says so. That a change was
 * made is kept even then, since whoever does not know would make it again.
 */
export function keptOutcome(
	{ response, json = JSON.stringify(response) }: Pick<FinishedCommand, "response" | "json">,
	changing: boolean,
	maxBytes: number,
): KeptOutcome {
	// UTF-16 units are at most bytes, and counting bytes would read each outcome once more.
	if (json.length <= maxBytes) return { response, json };
	const short: Response = changing
		? withoutData(response)
		: {
				type: "response",
				command: response.command,
				success: false,
				code: "failed",
				error: `the outcome of this ${response.command} was too large to keep: send it again with a new id`,
			};
	return { response: short, json: JSON.stringify(short) };
}

/** The outcome of a command that was under way when its process ended. */
export function interruptedResponse(type: string): Response {
	return {
		type: "response",
		command: type,
		success: false,
		code: "interrupted",
		error:
			"the server stopped while this command was under way; it may or may not have had an effect: look at the session, then use a new id",
	};
}

/** A command without an outcome that no living process works on. */
export function interrupted(command: AdmittedCommand, atMs: number): StoredCommand {
	return { ...command, response: interruptedResponse(command.type), finishedAtMs: atMs };
}

function withoutData(response: Response): Response {
	const { data: _, ...rest } = response;
	return { ...rest, ...(rest.error ? { error: rest.error.slice(0, 1_000) } : {}) };
}
