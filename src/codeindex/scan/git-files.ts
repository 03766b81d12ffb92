import { isUtf8 } from "node:buffer";
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { describeError, errnoOf } from "../../core/errno.ts";
import { property } from "../../core/property.ts";

export interface GitEntry {
	readonly path: string;
	/** `repository`: a submodule or nested repository, which git does not enter. */
	readonly kind: "file" | "link" | "repository";
}

type GitOutcome =
	| {
			readonly kind: "listed";
			readonly unreadable: readonly string[];
			/** Paths that are not UTF-8, decoded lossily. */
			readonly badNames: readonly string[];
			/** Untracked files are missing because git timed out or was not asked. */
			readonly isPartial?: true;
	  }
	/** Not an error: no work tree, or git is not installed. */
	| { readonly kind: "no-git" }
	| { readonly kind: "failed"; readonly message: string };

interface ListingOptions {
	readonly signal?: AbortSignal | undefined;
	readonly othersMs?: number;
}

/** Git processes that list a folder. They can be started before the code that reads them is loaded. */
export type GitListing = ReturnType<typeof startListing>;

export function startListing(
	folder: string,
	{ signal, othersMs = UNTRACKED_MS }: ListingOptions = {},
) {
	const stop = new AbortController();
	const signals = signal === undefined ? [stop.signal] : [stop.signal, signal];
	const options = { folder, signal: AbortSignal.any(signals) };
	const late = AbortSignal.timeout(othersMs);
	const tracked = runGit(["ls-files", "-z", "--cached", "--stage"], options);
	// Needs a time limit, since git does not limit pattern matching.
	const others =
		othersMs === 0
			? undefined
			: runGit(UNTRACKED, { folder, signal: AbortSignal.any([...signals, late]) });
	return {
		tracked,
		others,
		late,
		async stop(): Promise<void> {
			stop.abort();
			await others?.catch(() => undefined);
		},
	};
}

/**
 * Lists tracked and untracked files, without ignored ones. `take` may receive an entry twice. The
 * repository is untrusted: git runs no program that it names and writes nothing to it.
 */
export async function listGitFiles(
	folder: string,
	take: (entries: readonly GitEntry[]) => Promise<void>,
	{ listing, ...options }: ListingOptions & { readonly listing?: GitListing } = {},
): Promise<GitOutcome> {
	const { tracked, others, late, stop } = listing ?? startListing(folder, options);
	try {
		const first = await tracked;
		if (first.kind !== "done") return first;
		const found = texts(first.output);
		await take(parseTracked(found.valid));
		const badNames = found.bad.map(pathIn);
		const second = await others;
		if (!second || (late.aborted && second.kind === "failed")) {
			return { kind: "listed", unreadable: [], badNames, isPartial: true };
		}
		if (second.kind !== "done") return second;
		const more = texts(second.output);
		await take(parseOthers(more.valid));
		badNames.push(...more.bad);
		return { kind: "listed", unreadable: unreadableFolders(second.errors), badNames };
	} finally {
		await stop();
	}
}

function texts(output: Buffer): { valid: string[]; bad: string[] } {
	// Each text ends with a NUL byte.
	if (isUtf8(output)) return { valid: output.toString().split("\0").filter(Boolean), bad: [] };
	const valid: string[] = [];
	const bad: string[] = [];
	for (let start = 0; start < output.length; ) {
		const zero = output.indexOf(0, start);
		const bytes = output.subarray(start, zero < 0 ? output.length : zero);
		if (bytes.length > 0) (isUtf8(bytes) ? valid : bad).push(bytes.toString());
		start += bytes.length + 1;
	}
	return { valid, bad };
}

/** Git's configuration files for a folder, and the ignore files they name. */
export async function gitConfiguration(folder: string): Promise<string[]> {
	const options = { folder, signal: AbortSignal.timeout(MAX_MS) };
	const [listed, named] = await Promise.all([
		runGit(["config", "-z", "--list", "--show-origin", "--name-only"], options),
		excludesFiles(folder),
	]);
	// Git fails if nothing is configured or there is no repository.
	const origins = listed.kind === "done" ? texts(listed.output).valid : [];
	const files = origins.flatMap((part) => (part.startsWith("file:") ? [part.slice(5)] : []));
	return [...new Set([...files, ...named])];
}

export async function excludesFiles(folder: string): Promise<string[]> {
	const args = ["config", "-z", "--type=path", "--get-all", "core.excludesFile"];
	const run = await runGit(args, { folder, signal: AbortSignal.timeout(MAX_MS) });
	return run.kind === "done" ? texts(run.output).valid : [];
}

const UNTRACKED = ["ls-files", "-z", "--others", "--exclude-standard", "--exclude=node_modules/"];

type GitRun =
	| { readonly kind: "done"; readonly output: Buffer; readonly errors: string }
	| Exclude<GitOutcome, { kind: "listed" }>;

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const MAX_MS = 60_000;
/** Time limit for untracked files. Only huge repositories or hostile patterns take longer. */
const UNTRACKED_MS = 10_000;

/** Security: disables `core.fsmonitor`, hooks and the pager, which name programs that git would start. */
const SAFELY = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager"];

const execute = promisify(execFile);

async function runGit(
	args: readonly string[],
	{ folder, signal }: { folder: string; signal: AbortSignal },
): Promise<GitRun> {
	try {
		const run = execute("git", [...SAFELY, "-C", folder, ...args], {
			// Security: not the project folder, since Windows looks for `git` in the current folder first.
			cwd: dirname(process.execPath),
			env: gitEnvironment(),
			encoding: "buffer",
			maxBuffer: MAX_OUTPUT_BYTES,
			windowsHide: true,
			timeout: MAX_MS,
			signal,
			killSignal: "SIGKILL",
		});
		// Closes standard input. Otherwise a wrapper around git could wait for input.
		run.child.stdin?.end();
		const { stdout, stderr } = await run;
		return { kind: "done", output: stdout, errors: stderr.toString() };
	} catch (error) {
		const code = errnoOf(error);
		const errors = String(property(error, "stderr") ?? "").trim();
		if (code === "ENOENT" || /not a git repository|must be run in a work tree/.test(errors)) {
			return { kind: "no-git" };
		}
		const [complaint] = errors.split("\n");
		if (code === undefined)
			return { kind: "failed", message: complaint || "it ended without an error message" };
		const tooMuch = code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";
		return { kind: "failed", message: tooMuch ? "its output is too long" : describeError(error) };
	}
}

/** Drops `GIT_*` variables: inside a git hook, they name the hook's repository. */
function gitEnvironment(): NodeJS.ProcessEnv {
	const kept = Object.entries(process.env).filter(([name]) => !/^git_/i.test(name));
	return {
		...Object.fromEntries(kept),
		LC_ALL: "C",
		GIT_OPTIONAL_LOCKS: "0",
		GIT_NO_LAZY_FETCH: "1",
		GIT_TERMINAL_PROMPT: "0",
	};
}

function parseTracked(lines: readonly string[]): GitEntry[] {
	return lines.map((line) => {
		const mode = line.slice(0, 6);
		const kind = mode === "120000" ? "link" : mode === "160000" ? "repository" : "file";
		return { path: pathIn(line), kind };
	});
}

function pathIn(line: string): string {
	return line.slice(line.indexOf("\t") + 1);
}

function parseOthers(paths: readonly string[]): GitEntry[] {
	return paths.map((path) => {
		if (path.endsWith("/")) return { path: path.slice(0, -1), kind: "repository" };
		// Git does not report links. A path without an extension may be a link to a folder.
		return { path, kind: /\.[^/]*$/.test(path) ? "file" : "link" };
	});
}

function unreadableFolders(errors: string): string[] {
	const complaints = errors.matchAll(/could not open directory '(.*?)\/?'/g);
	return [...complaints].map((complaint) => complaint[1] ?? "");
}
