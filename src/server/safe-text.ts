import { basename } from "node:path";
import { describeError } from "../core/errno.ts";
import type { Data } from "../protocol/index.ts";
import { CommandError } from "./engine/call.ts";

/** The error's first line. Cuts absolute paths to their last name, unless the client sent them (`given`). */
export function safeText(error: unknown, given: readonly string[] = []): string {
	const [line = ""] = describeError(error).trim().split(/\r?\n/, 1);
	const lastName = (path: string) =>
		given.includes(path) ? path : basename(path.replaceAll("\\", "/"));
	const safe = line
		.replaceAll(QUOTED_PATH, (_all, quote: string, path: string) => quote + lastName(path) + quote)
		.replaceAll(FILE_ADDRESS, lastName)
		.replaceAll(ABSOLUTE_PATH, lastName);
	return safe.length <= MAX_TEXT ? safe : `${safe.slice(0, MAX_TEXT)}…`;
}

/** Returns a `CommandError` unchanged. */
export function asCommandError(
	error: unknown,
	code: Data<"ErrorCode"> = "failed",
	given: readonly string[] = [],
): CommandError {
	if (error instanceof CommandError) return error;
	return new CommandError(code, safeText(error, given) || "The command failed", { cause: error });
}

export function notFound(message: string): CommandError {
	return new CommandError("not_found", message);
}

export function wrongState(message: string): CommandError {
	return new CommandError("wrong_state", message);
}

const MAX_TEXT = 500;

/** A quoted absolute path, possibly with spaces. */
const QUOTED_PATH = /(['"`])((?:[A-Za-z]:)?[\\/][^'"`\n]*[\\/][^'"`\n]*)\1/g;
const FILE_ADDRESS = /file:\/\/[^\s"'`<>]*/gi;
/** An absolute path of two or more names, not part of a URL. */
const ABSOLUTE_PATH = /(?<![\w/.]|:\/)(?:[A-Za-z]:)?(?:[\\/][^\s\\/"'`:;,()<>]+){2,}/g;
