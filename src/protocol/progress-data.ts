import Type from "typebox";
import { Count, oneOf, text, wholeNumber } from "./field-schemas.ts";

/** Maximum characters of text in one report. The rest follows in the next. */
export const MAX_REPORT_CHARACTERS = 64 * 1024;

const ReportedBlock = Type.Object({
	/** Its place in the message. */
	index: wholeNumber(0, 999),
	kind: oneOf("text", "thinking", "toolCall"),
	/** Where `text` begins in the block. */
	from: Count,
	/** That of a tool call is the JSON of its arguments. */
	text: text(MAX_REPORT_CHARACTERS, { min: 0 }),
	/** Id and name of a tool call. */
	id: Type.Optional(text(256)),
	toolName: Type.Optional(text(256)),
});

/** An answer that a pi in a terminal is writing: what is new since the last report. */
export const ReportedMessage = Type.Object({
	/** Pi's own time of the message, in ms since 1970. It identifies the message. */
	timestamp: Count,
	model: Type.Optional(text(256)),
	blocks: Type.Array(ReportedBlock, { maxItems: 100, description: "an array of up to 100 blocks" }),
});

/** A tool that runs, with the end of its output so far. */
export const ReportedCall = Type.Object({
	toolCallId: text(256),
	toolName: text(256),
	output: Type.Optional(text(16 * 1024, { min: 0 })),
});

export const ProgressAnswer = Type.Object({
	/** Whether a client follows the session. If not, reports need no text. */
	watched: Type.Boolean(),
	/** How many characters the server has of each block of the message. */
	has: Type.Array(Type.Number()),
});
