import { JournalUnavailable } from "../journal/journal.ts";
import type { EngineLimits } from "../limits.ts";
import type { Failure } from "./outcome.ts";

function failure(code: Failure["code"], error: string): Failure {
	return { code, error };
}

export const shuttingDown = failure(
	"shutting_down",
	"The server is shutting down: connect again later.",
);

export const notJson = failure(
	"failed",
	"The command was carried out, but its result cannot be written as JSON.",
);

export const interruptedWaiting = failure(
	"interrupted",
	"The server stopped before this command began; it had no effect. Use a new id to try again.",
);

export const interruptedRunning = failure(
	"interrupted",
	"The server stopped while this command was running. It may or may not have had an effect: look at the session, then use a new id.",
);

export const busy = failure(
	"busy",
	"The server has too many commands under way: try again in a moment.",
);

/** A change that ran, but whose outcome the journal refused. */
export const notDurable = failure(
	"not_durable",
	"The command was carried out and its effect is there, but the journal could not write that down: after a restart the server may not know of it. Look at the session, and do not send the command under a new id.",
);

/** A repeated read whose answer was not kept and has changed. */
export const answerGone = failure(
	"answer_gone",
	"This read was answered before. The answer was too long to keep, and reading again gives another one: ask under a new id.",
);

export const journalUnreadable = failure(
	"journal_unavailable",
	"The journal cannot be read, so nobody knows whether this command was carried out before. Reading goes on.",
);

/** A change whose outcome is neither in the journal nor in memory. */
export const outcomeNotKept = failure(
	"interrupted",
	"The outcome of this command could not be kept. It may or may not have had an effect: look at the session, then use a new id.",
);

export const answerTooLarge = (characters: number, max: number) =>
	failure(
		"too_large",
		`The answer has ${characters} characters, and this server sends at most ${max}: ask for less of it (get_entries with since, list_sessions), or raise maxAnswerBytes.`,
	);

export const tooManyPending = (max: number) =>
	failure(
		"busy",
		`This connection has ${max} commands under way, which is the most it may have: wait for responses.`,
	);

export const rateLimited = (perMinute: number, waitMs: number) =>
	failure(
		"rate_limited",
		`More than ${perMinute} commands in a minute: try again in ${waitMs} ms.`,
	);

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

export const dependencyTimeout = ({ dependencyMs }: EngineLimits) =>
	failure(
		"dependency_timeout",
		`What the command depends on did not finish within ${dependencyMs} ms. Use a new id to try again.`,
	);

export const journalUnavailable = (why: string) =>
	failure(
		"journal_unavailable",
		`Changes are not accepted, since they cannot be made durable: ${why}. Reading goes on.`,
	);

export function notRecorded(thrown: unknown): Failure {
	if (!(thrown instanceof JournalUnavailable)) return journalUnavailable("the journal failed");
	return thrown.code === "busy"
		? failure("busy", `The command was not started: ${thrown.message}.`)
		: journalUnavailable(thrown.message);
}

export const idConflict = (id = "") =>
	failure(
		"id_conflict",
		`id "${id}" was used for a command with other content: use a new id for this one.`,
	);

export const keyConflict = (key = "") =>
	failure(
		"key_conflict",
		`idempotencyKey "${key}" was used for a command with other content: use a new key for this one.`,
	);

export const dependsOnItself = (id: string) =>
	failure("dependency_cycle", `The command depends on itself: "${id}" is its own id.`);

/** `forgottenBeforeMs`: earlier commands may have been evicted; 0 if none was. */
export function dependencyUnknown(id: string, forgottenBeforeMs: number): Failure {
	const advice =
		forgottenBeforeMs > 0
			? `commands from before ${new Date(forgottenBeforeMs).toISOString()} may have been forgotten`
			: "a command can depend on those sent before it, by their id";
	return failure("dependency_unknown", `Dependency "${id}" is not known: ${advice}.`);
}

export const dependencyFailed = (id: string) =>
	failure("dependency_failed", `Dependency "${id}" failed.`);

export const unknownSession = (id: string) =>
	failure("unknown_session", `There is no session "${id}": create or load it first.`);

export const versionMismatch = (id: string, version: number, expected: number): Failure => ({
	code: "version_mismatch",
	error: `Session "${id}" is at version ${version}, not ${expected}: look at it, then send the command again with a new id.`,
	sessionVersion: version,
});
