import { homedir } from "node:os";
import { basename, delimiter, isAbsolute, join } from "node:path";
import { hashBytes } from "../../core/hash.ts";

/**
 * The whole environment of an external KotaDB: where programs and the home folder are, and what was given for it.
 * Nothing else of ours is handed on, since that is where API keys are.
 */
export function childEnvironment(
	given: Readonly<Record<string, string>>,
	parent: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
	const env: Record<string, string> = {};
	for (const name of process.platform === "win32" ? WINDOWS_NAMES : POSIX_NAMES) {
		const value = parent[name];
		if (value !== undefined) env[name] = name === "PATH" ? absoluteEntries(value) : value;
	}
	return { ...env, ...given };
}

/**
 * Where KotaDB keeps its database: `KOTADB_PATH` if that is given, else a folder for each project in the user's cache.
 * Its own default lies in the repository, which we never write to; and as its queries join over all projects of a
 * database, each project needs its own.
 */
export function databaseOf(root: string, given: Readonly<Record<string, string>>): string {
	const name = `${basename(root)}-${hashBytes(root).slice(0, 12)}`;
	return given.KOTADB_PATH || join(homedir(), ".pi", "cache", "pi-kota", "kotadb", name, "kota.db");
}

const POSIX_NAMES = ["PATH", "HOME", "TMPDIR"];
const WINDOWS_NAMES = [
	"PATH",
	"PATHEXT",
	"SYSTEMROOT",
	"USERPROFILE",
	"APPDATA",
	"LOCALAPPDATA",
	"TEMP",
	"TMP",
];

/** The child works in the repository: a relative entry would let the repository bring the programs. */
function absoluteEntries(path: string): string {
	return path
		.split(delimiter)
		.filter((entry) => isAbsolute(entry))
		.join(delimiter);
}
