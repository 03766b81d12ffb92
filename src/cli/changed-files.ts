import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { errnoOf } from "../core/errno.ts";
import { plainText } from "../text/one-line.ts";
import { UsageError } from "./command.ts";

/** Paths relative to the root of the project. */
export interface ChangedFiles {
	/** Changed and new files. */
	readonly modify: readonly string[];
	readonly delete: readonly string[];
}

/**
 * What git sees as changed in the working tree: since the last commit, or since the branch left `since`. New files
 * count unless git ignores them.
 */
export async function changedFiles(root: string, since?: string): Promise<ChangedFiles> {
	if (since?.startsWith("-")) throw new UsageError(`--since "${since}" is no commit or branch`);
	if (!(await isRepository(root))) {
		throw new Error(
			`${root} is not in a git repository, so nothing can be compared: name the files`,
		);
	}
	const hasCommit = since !== undefined || (await isCommit(root, "HEAD"));
	const base = since === undefined ? "HEAD" : await mergeBase(root, since);
	const compare = ["diff", "--name-status", "--no-renames", "-z", "--relative", base];
	const diff = hasCommit ? await git(root, compare) : "";
	// Before the first commit every file is new.
	const which = ["--others", "--exclude-standard", ...(hasCommit ? [] : ["--cached"])];
	const fresh = await git(root, ["ls-files", "-z", ...which]);
	const [modify, gone] = [new Set(fieldsOf(fresh)), new Set<string>()];
	const fields = fieldsOf(diff);
	for (let at = 0; at + 1 < fields.length; at += 2) {
		(fields[at] === "D" ? gone : modify).add(fields[at + 1] as string);
	}
	return { modify: [...modify].sort(), delete: [...gone].sort() };
}

async function mergeBase(root: string, since: string): Promise<string> {
	if (!(await isCommit(root, since))) {
		throw new Error(`--since "${since}": git knows no such commit or branch in ${root}`);
	}
	const base = await git(root, ["merge-base", "HEAD", since]);
	return base.trim();
}

function isRepository(root: string): Promise<boolean> {
	return succeeds(git(root, ["rev-parse", "--git-dir"]));
}

function isCommit(root: string, name: string): Promise<boolean> {
	return succeeds(git(root, ["rev-parse", "--verify", "--quiet", `${name}^{commit}`]));
}

async function succeeds(run: Promise<unknown>): Promise<boolean> {
	try {
		await run;
		return true;
	} catch (error) {
		if (errnoOf((error as Error).cause) === "ENOENT") throw error; // there is no git
		return false;
	}
}

function fieldsOf(output: string): string[] {
	return output.split("\0").filter((field) => field !== "");
}

/** Security: a repository must not name programs that git starts. */
const SAFELY = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager"];
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MS = 60_000;
const execute = promisify(execFile);

async function git(root: string, args: readonly string[]): Promise<string> {
	try {
		const noTools =
			args[0] === "diff" ? ["diff", "--no-ext-diff", "--no-textconv"] : [args[0] ?? ""];
		const { stdout } = await execute("git", [...SAFELY, "-C", root, ...noTools, ...args.slice(1)], {
			// Security: not the project, since Windows looks for `git` in the current folder first.
			cwd: dirname(process.execPath),
			maxBuffer: MAX_BYTES,
			timeout: MAX_MS,
			windowsHide: true,
		});
		return stdout;
	} catch (error) {
		if (errnoOf(error) === "ENOENT") throw new Error("git was not found", { cause: error });
		const said = String((error as { stderr?: unknown }).stderr ?? "").split("\n")[0] ?? "";
		const why = plainText(said.replace(/^fatal: /, ""), 200) || "it failed";
		throw new Error(`git ${args[0]} in ${root}: ${why}`, { cause: error });
	}
}
