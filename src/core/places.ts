import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** Pi's folder for user-level files: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
export function agentFolder(env: NodeJS.ProcessEnv = process.env): string {
	const named = env.PI_CODING_AGENT_DIR;
	return named ? resolve(expandHome(named)) : join(homedir(), ".pi", "agent");
}

/**
 * The folder for what can be made again at any time: `pi-strata` in `XDG_CACHE_HOME`, else where the system keeps
 * such things (`~/.cache`, on macOS `~/Library/Caches`, on Windows `%LOCALAPPDATA%`).
 */
export function cacheFolder(
	env: NodeJS.ProcessEnv = process.env,
	platform: NodeJS.Platform = process.platform,
): string {
	const xdg = env.XDG_CACHE_HOME;
	// The XDG specification: a relative path is invalid and to be ignored.
	if (xdg && isAbsolute(xdg)) return join(xdg, "pi-strata");
	if (platform === "darwin") return join(homedir(), "Library", "Caches", "pi-strata");
	if (platform !== "win32") return join(homedir(), ".cache", "pi-strata");
	return join(env.LOCALAPPDATA || join(homedir(), "AppData", "Local"), "pi-strata", "Cache");
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

/**
 * The folder the user is in. A script of npm runs in the package's folder, and `INIT_CWD` has the place where npm was
 * called. `undefined` if that is `own`, the folder of this package, or in it: no work of the user's is there.
 */
export function userFolder(
	{ cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
	own: string,
): string | undefined {
	const ownReal = realOrGiven(own);
	const isOwn = (folder: string) => {
		const real = realOrGiven(folder);
		return real === ownReal || isWithin(ownReal, real);
	};
	const folder = isOwn(cwd) && env.INIT_CWD ? resolve(env.INIT_CWD) : cwd;
	return isOwn(folder) ? undefined : folder;
}

/** The path without links, or as it is if nothing is there. */
export function realOrGiven(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return resolve(path);
	}
}

/** A folder from the user's configuration: `~` expanded, relative ones taken from `base`. */
export function configuredFolder(path: string, base: string): string {
	const expanded = expandHome(path);
	return isAbsolute(expanded) ? resolve(expanded) : resolve(base, expanded);
}

/**
 * Whether a path leads to something in a folder, not to the folder itself. Neither is looked up: links are not
 * followed.
 */
export function isWithin(folder: string, path: string): boolean {
	const way = relative(folder, path);
	return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
