import { randomBytes } from "node:crypto";
import { readPrivateFile } from "../../core/token-file.ts";

const MIN_CHARACTERS = 16;
const WHAT = "cluster secret";

/** The secret of the servers' links: from a private file, or the one in the database, which the first server creates. */
export async function loadSecret(
	file: string | undefined,
	shared: (proposed: string) => Promise<string>,
): Promise<string> {
	if (file === undefined) return shared(randomBytes(32).toString("base64url"));
	const secret = (await readPrivateFile(file, WHAT))?.trim();
	if (secret === undefined)
		throw new Error(`${WHAT} ${file} does not exist; create it on all servers`);
	if (secret.length < MIN_CHARACTERS) {
		throw new Error(
			`${WHAT} ${file} must have at least ${MIN_CHARACTERS} characters; use: openssl rand -base64 32`,
		);
	}
	return secret;
}
