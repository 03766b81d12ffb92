/** What agents send to model providers and what comes back, in one form for all providers. */

export { AnswerReader } from "./answer-reader.ts";
export type {
	Format,
	Usage,
	WireAnswer,
	WireRequest,
} from "./format.ts";
export { PARTS, type Part, type Piece } from "./piece.ts";
export { FORMATS, formatOf, readPayload, readRequest, readSpeaker } from "./request.ts";
export { ResponseThreads } from "./response-threads.ts";
export type { Speaker } from "./who.ts";
