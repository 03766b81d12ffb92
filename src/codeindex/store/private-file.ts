import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { describeError } from "../../core/errno.ts";
import { UnavailableStore } from "./failures.ts";

/**
 * Makes sure that there is a file which only its owner can read, in a folder of which the same is true. An empty
 * one is a new database; SQLite gives the files it puts beside a database the same permissions.
 */
export function makePrivateFile(path: string): void {
	const folder = dirname(path);
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		chmodSync(folder, 0o700);
		closeSync(openSync(path, "a", 0o600));
		chmodSync(path, 0o600);
	} catch (error) {
		const message = `The code index cannot be kept in ${folder}: ${describeError(error)}`;
		throw new UnavailableStore(message, error);
	}
}
