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
	const base = since === undefined ? "HEAD" : await mergeBase(root, since);
	const diff = await git(root, ["diff", "--name-status", "--no-renames", "-z", "--relative", base]);
	const untracked = await git(root, ["ls-files", "-z", "--others", "--exclude-standard"]);
	const [modify, gone] = [new Set(fieldsOf(untracked)), new Set<string>()];
	const fields = fieldsOf(diff);
	for (let at = 0; at + 1 < fields.length; at += 2) {
		(fields[at] === "D" ? gone : modify).add(fields[at + 1] as string);
	}
	return { modify: [...modify].sort(), delete: [...gone].sort() };
}

async function mergeBase(root: string, since: string): Promise<string> {
	const base = await git(root, ["merge-base", "HEAD", since]);
	return base.trim();
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
