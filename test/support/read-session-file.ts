import {
	type ImportedSession,
	readSessions,
	type SessionFileOptions,
} from "../../src/importers/index.ts";

/** The only session of a file. */
export async function readSessionFile(
	file: string,
	options?: SessionFileOptions,
): Promise<ImportedSession> {
	const [session, ...more] = await readSessions(file, options);
	if (!session || more.length > 0) throw new Error(`${file} has ${more.length + 1} sessions`);
	return session;
}
