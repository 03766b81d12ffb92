import { existsSync } from "node:fs";
import { CodeIndexError } from "../../codeindex/index.ts";
import { ABORTED } from "../../core/aborted.ts";
import { describeError, errnoOf } from "../../core/errno.ts";
import { printable } from "./log-tail.ts";

/** Code `failed` means that a retry may succeed: callers keep the connection and its crash count. */
export const faults = {
	aborted: () => new CodeIndexError("aborted", ABORTED),

	closed: () =>
		new CodeIndexError("unavailable", "The connection to KotaDB was closed: open a new one"),

	notStarted(command: string, cwd: string, error: unknown): CodeIndexError {
		const code = errnoOf(error);
		// ENOENT can also mean a missing working folder.
		if (code === "ENOENT" && !existsSync(cwd)) {
			return failed(`KotaDB could not be started: the project folder ${cwd} does not exist`, error);
		}
		const why =
			code === "ENOENT"
				? `the program "${printable(command, 200)}" was not found`
				: `"${printable(command, 200)}" cannot be run (${printable(describeError(error), 200)})`;
		return failed(
			`KotaDB could not be started: ${why}. Install it, or correct kota.command in the user's strata.json; ${EMBEDDED}`,
			error,
		);
	},

	silent: (ms: number, words: string) =>
		failed(
			`KotaDB was started but did not answer within ${seconds(ms)}${words}. Check kota.command and kota.args; ${EMBEDDED}`,
		),

	notUnderstood: (error: unknown) =>
		failed(
			`The program of kota.command does not speak MCP as expected: ${printable(describeError(error), 300)}`,
			error,
		),

	crashed: (tool: string, how: string, words: string) =>
		failed(
			`KotaDB exited (${how}) while running ${tool}${words}. The next question starts it again`,
		),

	gaveUp: (times: number, words: string) =>
		failed(
			`KotaDB exited ${times} times in a row and is not restarted automatically${words}. See /kota status, correct kota.command and kota.args if needed, then /kota restart; ${EMBEDDED}`,
		),

	timedOut: (tool: string, ms: number) =>
		failed(
			`KotaDB did not answer ${tool} within ${seconds(ms)} and was stopped, as it would have blocked every later question. Ask for less (a smaller depth or limit), or raise kota.timeoutSeconds`,
		),

	tooBig: (tool: string, maxBytes: number) =>
		failed(
			`KotaDB's answer to ${tool} is larger than ${Math.round(maxBytes / 1024 ** 2)} MB and was not read: ask for less`,
		),

	noDatabase: (database: string, error: unknown) =>
		failed(
			`The folder of KotaDB's database ${database} cannot be written to: ${printable(describeError(error), 200)}`,
			error,
		),

	refused: (tool: string, words: string) =>
		failed(`KotaDB failed on ${tool}: ${printable(words, 500) || "it gave no reason"}`),

	misshapen: (tool: string, what: string) =>
		failed(
			`KotaDB's answer to ${tool} is not understood: ${printable(what, 300)}. Is it version 2.2?`,
		),
};

const EMBEDDED = 'kota.engine "embedded" needs no other program';

function failed(message: string, cause?: unknown): CodeIndexError {
	return new CodeIndexError("failed", message, cause === undefined ? undefined : { cause });
}

function seconds(ms: number): string {
	return `${Number((ms / 1000).toPrecision(2))} s`;
}
