/** Reads the session files of coding agents as entries, which economy replays. */

export { type ResultText, resultTextOf } from "./block-maker.ts";
export {
	type FilesFound,
	type FoundSession,
	findSessionFiles,
	findSessions,
	inOrderOfStart,
	type SessionPlace,
	sessionPlaces,
	sessionState,
} from "./find.ts";
export { type ImportedSession, readSessions, type SessionFileOptions } from "./session-file.ts";
export { AGENT_NAMES, type AgentName } from "./session-format.ts";
