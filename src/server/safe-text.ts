import { basename } from "node:path";
import { describeError } from "../core/errno.ts";
import type { Data } from "../protocol/index.ts";
import { CommandError } from "./engine/call.ts";

/**
 * An error's text for a client: one line, no stack, no folders of the server. Absolute paths keep their last name, unless
 * the client itself gave them.
 */
export function safeText(error: unknown, given: readonly string[] = []): string {
	const text = describeError(error);
	const [line = ""] = text.trim().split(/\r?\n/, 1);
	const lastName = (path: string) => {
		if (given.includes(path)) return path;
		return basename(path.replaceAll("\\", "/"));
	};
	const safe = line
		.replaceAll(QUOTED_PATH, (_all, quote: string, path: string) => quote + lastName(path) + quote)
		.replaceAll(FILE_ADDRESS, lastName)
		.replaceAll(ABSOLUTE_PATH, lastName);
	return safe.length <= MAX_TEXT ? safe : `${safe.slice(0, MAX_TEXT)}…`;
}

/** Turns whatever was thrown into a failure that may travel; one that may already stays as it is. */
export function asCommandError(
	error: unknown,
	code: Data<"ErrorCode"> = "failed",
	given: readonly string[] = [],
): CommandError {
	if (error instanceof CommandError) return error;
	return new CommandError(code, safeText(error, given) || "The command failed", { cause: error });
}

const MAX_TEXT = 500;

/** Whatever stands between quotes and begins like an absolute path, spaces included. */
const QUOTED_PATH = /(['"`])((?:[A-Za-z]:)?[\\/][^'"`\n]*[\\/][^'"`\n]*)\1/g;
const FILE_ADDRESS = /file:\/\/[^\s"'`<>]*/gi;
/** Two folders deep at least, and not the path of a web address. */
const ABSOLUTE_PATH = /(?<![\w/.]|:\/)(?:[A-Za-z]:)?(?:[\\/][^\s\\/"'`:;,()<>]+){2,}/g;
