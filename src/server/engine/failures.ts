import { JournalUnavailable } from "../journal/journal.ts";
import type { EngineLimits } from "./engine.ts";
import type { Failure } from "./outcome.ts";

/** The failures of the engine's own making, in one place. */

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

export function answerTooLarge(characters: number, max: number): Failure {
	const error = `The answer has ${characters} characters, and this server sends at most ${max}: ask for less of it (get_entries with since, list_sessions), or raise maxAnswerBytes.`;
	return { code: "too_large", error };
}

export function tooManyPending(max: number): Failure {
	return {
		code: "busy",
		error: `This connection has ${max} commands under way, which is the most it may have: wait for responses.`,
	};
}

export const busy: Failure = {
	code: "busy",
	error: "The server has too many commands under way: try again in a moment.",
};

export function rateLimited(perMinute: number, waitMs: number): Failure {
	return {
		code: "rate_limited",
		error: `More than ${perMinute} commands in a minute: try again in ${waitMs} ms.`,
	};
}

export function timeout(afterMs: number): Failure {
	return {
		code: "timeout",
		error: `The command took longer than ${afterMs} ms and was told to stop. It may still have had an effect: look at the session, then use a new id.`,
		timedOut: true,
	};
}

export function waitTimeout(
	forWhat: "turn" | "dependency",
	{ queueMs, dependencyMs }: Pick<EngineLimits, "queueMs" | "dependencyMs">,
): Failure {
	if (forWhat === "turn") {
		const error = `The command waited longer than ${queueMs} ms for its turn and was never started. Use a new id to try again.`;
		return { code: "timeout", error, timedOut: true };
	}
	const error = `What the command depends on did not finish within ${dependencyMs} ms. Use a new id to try again.`;
	return { code: "dependency_timeout", error };
}

/** The journal refuses the record of a change that has not begun; `why` ends the sentence. */
export function journalUnavailable(why: string): Failure {
	return {
		code: "journal_unavailable",
		error: `Changes are not accepted, since they cannot be made durable: ${why}. Reading goes on.`,
	};
}

/** What the journal threw at a change that has not begun. */
export function admissionRefused(thrown: unknown): Failure {
	if (!(thrown instanceof JournalUnavailable)) return journalUnavailable("the journal failed");
	return thrown.code === "busy"
		? { code: "busy", error: `The command was not started: ${thrown.message}.` }
		: journalUnavailable(thrown.message);
}

/** The journal refuses the outcome of a change. */
export const notDurable: Failure = {
	code: "not_durable",
	error:
		"The command was carried out and its effect is there, but the journal could not write that down: after a restart the server may not know of it. Look at the session, and do not send the command under a new id.",
};

/** For a repetition of a read whose answer was too long to keep, and is another one by now. */
export const answerGone: Failure = {
	code: "answer_gone",
	error:
		"This read was answered before. The answer was too long to keep, and reading again gives another one: ask under a new id.",
};

/** For a change whose names cannot be looked up. */
export const journalUnreadable: Failure = {
	code: "journal_unavailable",
	error:
		"The journal cannot be read, so nobody knows whether this command was carried out before. Reading goes on.",
};

/** For a change whose outcome the journal refused, once memory has forgotten it too. */
export const outcomeNotKept: Failure = {
	code: "interrupted",
	error:
		"The outcome of this command could not be kept. It may or may not have had an effect: look at the session, then use a new id.",
};

export function idConflict(id = ""): Failure {
	const error = `id "${id}" was used for a command with other content: use a new id for this one.`;
	return { code: "id_conflict", error };
}

export function keyConflict(key = ""): Failure {
	const error = `idempotencyKey "${key}" was used for a command with other content: use a new key for this one.`;
	return { code: "key_conflict", error };
}

export function dependsOnItself(id: string): Failure {
	const error = `The command depends on itself: "${id}" is its own id.`;
	return { code: "dependency_cycle", error };
}

/** `forgottenBeforeMs`: commands before this time may have been known once; 0 if none was forgotten. */
export function dependencyUnknown(id: string, forgottenBeforeMs: number): Failure {
	const advice =
		forgottenBeforeMs > 0
			? `commands from before ${new Date(forgottenBeforeMs).toISOString()} may have been forgotten`
			: "a command can depend on those sent before it, by their id";
	return { code: "dependency_unknown", error: `Dependency "${id}" is not known: ${advice}.` };
}

export function dependencyFailed(id: string): Failure {
	return { code: "dependency_failed", error: `Dependency "${id}" failed.` };
}

export function unknownSession(id: string): Failure {
	const error = `There is no session "${id}": create or load it first.`;
	return { code: "unknown_session", error };
}

export function versionMismatch(id: string, version: number, expected: number): Failure {
	const error = `Session "${id}" is at version ${version}, not ${expected}: look at it, then send the command again with a new id.`;
	return { code: "version_mismatch", error, sessionVersion: version };
}
