import type { Response } from "../../protocol/index.ts";
import type { FinishedCommand } from "./journal.ts";

/** Drops data that is too large. The success of a change is kept; otherwise a client would repeat it. */
export function keptOutcome(
	{ response, json = JSON.stringify(response) }: FinishedCommand,
	changing: boolean,
	maxBytes: number,
): { response: Response; json: string } {
	// Approximate: the UTF-16 length may be less than the byte count, but counting reads the text again.
	if (json.length <= maxBytes) return { response, json };
	const { data: _data, ...rest } = response;
	const short: Response = changing
		? { ...rest, ...(rest.error && { error: rest.error.slice(0, 1_000) }) }
		: {
				type: "response",
				command: response.command,
				success: false,
				code: "failed",
				error: `the outcome of this ${response.command} was too large to keep: send the command again with a new id`,
			};
	return { response: short, json: JSON.stringify(short) };
}
