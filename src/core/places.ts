import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** Pi's folder for user-level files: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
export function agentFolder(env: NodeJS.ProcessEnv = process.env): string {
	const named = env.PI_CODING_AGENT_DIR;
	return named ? resolve(expandHome(named)) : join(homedir(), ".pi", "agent");
}

/** Replaces a leading `~` by the user's home folder; every other path is returned as it is. */
export function expandHome(path: string): string {
	if (path === "~") return homedir();
	return path.startsWith("~/") || path.startsWith("~\\") ? join(homedir(), path.slice(2)) : path;
}

/** The nearest folder at or above `cwd` that holds `.git` (a folder, or a file in worktrees), else `cwd`. */
export function projectRoot(cwd: string): string {
	for (let folder = resolve(cwd); ; ) {
		if (existsSync(join(folder, ".git"))) return folder;
		const parent = dirname(folder);
		if (parent === folder) return resolve(cwd);
		folder = parent;
	}
}

/** A folder from the user's configuration: `~` expanded, relative ones taken from `base`. */
export function configuredFolder(path: string, base: string): string {
	const expanded = expandHome(path);
	return isAbsolute(expanded) ? resolve(expanded) : resolve(base, expanded);
}
