import { JournalUnavailable } from "../journal/journal.ts";
import type { EngineLimits } from "../limits.ts";
import type { Failure } from "./outcome.ts";

export const shuttingDown: Failure = {
	code: "shutting_down",
	error: "The server is shutting down: connect again later.",
};

export const notJson: Failure = {
	code: "failed",
	error: "The command was carried out, but its result cannot be written as JSON.",
};

export const interruptedWaiting: Failure = {
	code: "interrupted",
	error:
		"The server stopped before this command began; it had no effect. Use a new id to try again.",
};

export const interruptedRunning: Failure = {
	code: "interrupted",
	error:
		"The server stopped while this command was running. It may or may not have had an effect: look at the session, then use a new id.",
};

export const busy: Failure = {
	code: "busy",
	error: "The server has too many commands under way: try again in a moment.",
};

/** A change that ran, but whose outcome the journal refused. */
export const notDurable: Failure = {
	code: "not_durable",
	error:
		"The command was carried out and its effect is there, but the journal could not write that down: after a restart the server may not know of it. Look at the session, and do not send the command under a new id.",
};

/** A repeated read whose answer was not kept and has changed. */
export const answerGone: Failure = {
	code: "answer_gone",
	error:
		"This read was answered before. The answer was too long to keep, and reading again gives another one: ask under a new id.",
};

export const journalUnreadable: Failure = {
	code: "journal_unavailable",
	error:
		"The journal cannot be read, so nobody knows whether this command was carried out before. Reading goes on.",
};

/** A change whose outcome is neither in the journal nor in memory. */
export const outcomeNotKept: Failure = {
	code: "interrupted",
	error:
		"The outcome of this command could not be kept. It may or may not have had an effect: look at the session, then use a new id.",
};

export const answerTooLarge = (characters: number, max: number): Failure => ({
	code: "too_large",
	error: `The answer has ${characters} characters, and this server sends at most ${max}: ask for less of it (get_entries with since, list_sessions), or raise maxAnswerBytes.`,
});

export const tooManyPending = (max: number): Failure => ({
	code: "busy",
	error: `This connection has ${max} commands under way, which is the most it may have: wait for responses.`,
});

export const rateLimited = (perMinute: number, waitMs: number): Failure => ({
	code: "rate_limited",
	error: `More than ${perMinute} commands in a minute: try again in ${waitMs} ms.`,
});

export const timeout = (afterMs: number): Failure => ({
	code: "timeout",
	error: `The command took longer than ${afterMs} ms and was told to stop. It may still have had an effect: look at the session, then use a new id.`,
	timedOut: true,
});

export const turnTimeout = ({ queueMs }: EngineLimits): Failure => ({
	code: "timeout",
	error: `The command waited longer than ${queueMs} ms for its turn and was never started. Use a new id to try again.`,
	timedOut: true,
});

export const dependencyTimeout = ({ dependencyMs }: EngineLimits): Failure => ({
	code: "dependency_timeout",
	error: `What the command depends on did not finish within ${dependencyMs} ms. Use a new id to try again.`,
});

export const journalUnavailable = (why: string): Failure => ({
	code: "journal_unavailable",
	error: `Changes are not accepted, since they cannot be made durable: ${why}. Reading goes on.`,
});

export function notRecorded(thrown: unknown): Failure {
	if (!(thrown instanceof JournalUnavailable)) return journalUnavailable("the journal failed");
	return thrown.code === "busy"
		? { code: "busy", error: `The command was not started: ${thrown.message}.` }
		: journalUnavailable(thrown.message);
}

export const idConflict = (id = ""): Failure => ({
	code: "id_conflict",
	error: `id "${id}" was used for a command with other content: use a new id for this one.`,
});

export const keyConflict = (key = ""): Failure => ({
	code: "key_conflict",
	error: `idempotencyKey "${key}" was used for a command with other content: use a new key for this one.`,
});

export const dependsOnItself = (id: string): Failure => ({
	code: "dependency_cycle",
	error: `The command depends on itself: "${id}" is its own id.`,
});

/** `forgottenBeforeMs`: earlier commands may have been evicted; 0 if none was. */
export function dependencyUnknown(id: string, forgottenBeforeMs: number): Failure {
	const advice =
		forgottenBeforeMs > 0
			? `commands from before ${new Date(forgottenBeforeMs).toISOString()} may have been forgotten`
			: "a command can depend on those sent before it, by their id";
	return { code: "dependency_unknown", error: `Dependency "${id}" is not known: ${advice}.` };
}

export const dependencyFailed = (id: string): Failure => ({
	code: "dependency_failed",
	error: `Dependency "${id}" failed.`,
});

export const unknownSession = (id: string): Failure => ({
	code: "unknown_session",
	error: `There is no session "${id}": create or load it first.`,
});

export const versionMismatch = (id: string, version: number, expected: number): Failure => ({
	code: "version_mismatch",
	error: `Session "${id}" is at version ${version}, not ${expected}: look at it, then send the command again with a new id.`,
	sessionVersion: version,
});
