import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

export function agentFolder(env: NodeJS.ProcessEnv = process.env): string {
	const named = env.PI_CODING_AGENT_DIR;
	return named ? resolve(expandHome(named)) : join(homedir(), ".pi", "agent");
}

/** The folder for data that can be rebuilt. */
export function cacheFolder(
	env: NodeJS.ProcessEnv = process.env,
	platform: NodeJS.Platform = process.platform,
): string {
	const xdg = env.XDG_CACHE_HOME;
	// The XDG specification says to ignore a relative path.
	if (xdg && isAbsolute(xdg)) return join(xdg, "pi-strata");
	if (platform === "darwin") return join(homedir(), "Library", "Caches", "pi-strata");
	if (platform !== "win32") return join(homedir(), ".cache", "pi-strata");
	return join(env.LOCALAPPDATA || join(homedir(), "AppData", "Local"), "pi-strata", "Cache");
}

export function expandHome(path: string): string {
	if (path === "~") return homedir();
	return path.startsWith("~/") || path.startsWith("~\\") ? join(homedir(), path.slice(2)) : path;
}

/** Writes the home folder as `~`, which `read` accepts. */
export function shownPath(path: string): string {
	const home = join(homedir(), "/");
	return path.startsWith(home) ? `~/${path.slice(home.length)}` : path;
}

/** The nearest folder at or above `cwd` with `.git` (a file in worktrees), else `cwd`. */
export function projectRoot(cwd: string): string {
	for (let folder = resolve(cwd); ; ) {
		if (existsSync(join(folder, ".git"))) return folder;
		const parent = dirname(folder);
		if (parent === folder) return resolve(cwd);
		folder = parent;
	}
}

/** The folder the user started in: `cwd`, or `INIT_CWD` if an npm script runs in `own`, this package. `undefined` within `own`. */
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

export function realOrGiven(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return resolve(path);
	}
}

/** Expands `~`. Resolves a relative path against `base`. */
export function configuredFolder(path: string, base: string): string {
	const expanded = expandHome(path);
	return isAbsolute(expanded) ? resolve(expanded) : resolve(base, expanded);
}

/** Compares paths only, without following links. A folder is not within itself. */
export function isWithin(folder: string, path: string): boolean {
	const way = relative(folder, path);
	return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
