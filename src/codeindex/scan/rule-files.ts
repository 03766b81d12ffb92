import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { tickMs } from "./changed-files.ts";
import { excludesFiles, gitConfiguration } from "./git-files.ts";
import type { OuterRules } from "./walk-files.ts";

export type RuleFiles = ReadonlyMap<string, RuleFile>;

interface RulePlaces {
	readonly folders: Iterable<string>;
	readonly repositories: Iterable<string>;
	readonly now: () => number;
}

interface RuleFile {
	readonly state: string;
	/** The later of mtime and ctime, or 0. */
	readonly changedMs: number;
	readonly takenMs: number;
}

/** Call before the files are listed. */
export async function lookAtRules(
	root: string,
	{ folders, repositories, now }: RulePlaces,
): Promise<RuleFiles> {
	const paths = new Set<string>();
	for (const folder of folders) paths.add(join(root, folder, ".gitignore"));
	for (const folder of ancestorsOf(root)) {
		paths.add(join(folder, ".git"));
		paths.add(join(folder, ".gitignore"));
	}
	const nested = [...repositories].map((folder) => join(root, folder));
	for (const folder of [...nested, ...ancestorsOf(root)]) {
		for (const path of filesOfRepository(join(folder, ".git"))) paths.add(path);
	}
	for (const path of await configurationFiles(root)) paths.add(path);
	return new Map([...paths].map((path) => [path, { takenMs: now(), ...look(path) }]));
}

/** Outside the tree's own `.gitignore` files. Higher precedence comes later. */
export async function rulesAround(folder: string): Promise<OuterRules[]> {
	const top = [folder, ...ancestorsOf(folder)].find((path) => existsSync(join(path, ".git")));
	if (top === undefined) return [];
	const namesFrom = (path: string) => relative(path, folder).split(sep).filter(Boolean);
	const names = namesFrom(top);
	const excludes = (await excludesFiles(folder)).at(-1) ?? join(userFolder(), "ignore");
	const inner = ancestorsOf(folder).slice(0, names.length).reverse();
	return [
		{ path: resolve(top, excludes), names },
		{ path: join(commonFolder(join(top, ".git")) ?? top, "info/exclude"), names },
		...inner.map((path) => ({ path: join(path, ".gitignore"), names: namesFrom(path) })),
	];
}

/** False also for a file changed so recently that a second change would not show. */
export function rulesStillHold(rules: RuleFiles): boolean {
	for (const [path, before] of rules) {
		if (before.changedMs >= before.takenMs - tickMs) return false;
		if (look(path).state !== before.state) return false;
	}
	return true;
}

function look(path: string): Pick<RuleFile, "state" | "changedMs"> {
	let stats: ReturnType<typeof lstatSync>;
	try {
		stats = lstatSync(path, { throwIfNoEntry: false });
		// Git follows links to its own files.
		if (stats?.isSymbolicLink()) stats = statSync(path, { throwIfNoEntry: false });
	} catch {
		return { state: "unreadable", changedMs: 0 };
	}
	if (!stats) return { state: "missing", changedMs: 0 };
	// `.git` changes all the time; its relevant files are checked separately.
	if (stats.isDirectory()) return { state: `folder ${stats.ino}`, changedMs: 0 };
	const { size, mtimeMs, ctimeMs, ino } = stats;
	const state = `${size} ${mtimeMs} ${ctimeMs} ${ino}`;
	return { state, changedMs: Math.max(mtimeMs, ctimeMs) };
}

function ancestorsOf(root: string): string[] {
	const folders: string[] = [];
	for (let at = root; ; at = dirname(at)) {
		if (at !== root) folders.push(at);
		if (at === dirname(at)) return folders;
	}
}

/** `.git` is a file in submodules and linked work trees. */
function filesOfRepository(marker: string): string[] {
	const folder = gitFolder(marker);
	if (folder === undefined) return [marker];
	const common = commonFolder(marker) ?? folder;
	return [
		marker,
		...["index", "HEAD", "config.worktree"].map((name) => join(folder, name)),
		...["config", "info/exclude"].map((name) => join(common, name)),
	];
}

function commonFolder(marker: string): string | undefined {
	const folder = gitFolder(marker);
	return folder && resolve(folder, textOf(join(folder, "commondir")) ?? ".");
}

function gitFolder(marker: string): string | undefined {
	try {
		if (statSync(marker, { throwIfNoEntry: false })?.isDirectory()) return marker;
	} catch {
		return undefined;
	}
	const pointer = textOf(marker)?.match(/^gitdir: (.+)$/)?.[1];
	return pointer === undefined ? undefined : resolve(dirname(marker), pointer);
}

/** Includes files that do not exist yet. */
async function configurationFiles(root: string): Promise<string[]> {
	const folder = userFolder();
	const usual = [join(homedir(), ".gitconfig"), join(folder, "config"), join(folder, "ignore")];
	// Git names some relative to the top of the repository, at or above the root.
	const around = [root, ...ancestorsOf(root)];
	const named = (await gitConfiguration(root)).flatMap((path) =>
		isAbsolute(path) ? [path] : around.map((top) => join(top, path)),
	);
	return [...usual, ...named];
}

function userFolder(): string {
	return join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "git");
}

/** Small regular files only: opening a pipe would block. */
function textOf(path: string): string | undefined {
	try {
		const stats = statSync(path, { throwIfNoEntry: false });
		if (!stats?.isFile() || stats.size > maxPointerBytes) return undefined;
		return readFileSync(path, "utf8").trim();
	} catch {
		return undefined;
	}
}

const maxPointerBytes = 16 * 1024;
