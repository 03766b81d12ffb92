import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** The first of the programs that is on the path. */
export async function findProgram(
	names: readonly string[],
	{ env, platform }: { readonly env: NodeJS.ProcessEnv; readonly platform: NodeJS.Platform },
): Promise<string | undefined> {
	const endings = platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
	const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean);
	for (const name of names) {
		for (const folder of folders) {
			for (const ending of endings) {
				const path = join(folder, name + ending);
				if (await isProgram(path)) return path;
			}
		}
	}
	return undefined;
}

async function isProgram(path: string): Promise<boolean> {
	try {
		await access(path, constants.X_OK);
		return (await stat(path)).isFile();
	} catch {
		return false;
	}
}

/** Windows starts its scripts through a shell only, with rules of quoting that no list of words survives. */
export function isStartable(program: string): boolean {
	return !/\.(?:cmd|bat)$/i.test(program);
}

export interface Ran {
	readonly status: number | null;
	readonly output: string;
}

const MAX_OUTPUT_CHARS = 64 * 1024;

/** Runs a program to its end, or ends it. Never rejects. */
export async function runProgram(
	program: string,
	args: readonly string[],
	options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly timeoutMs: number },
): Promise<Ran> {
	const { cwd, env, timeoutMs } = options;
	const ended = Promise.withResolvers<Ran>();
	let output = "";
	const child = spawn(program, args, {
		...{ cwd, env, stdio: ["ignore", "pipe", "pipe"] },
		...{ timeout: timeoutMs, killSignal: "SIGKILL", windowsHide: true },
	});
	const keep = (part: Buffer) => {
		output = (output + part.toString("utf8")).slice(0, MAX_OUTPUT_CHARS);
	};
	child.stdout.on("data", keep);
	child.stderr.on("data", keep);
	child.once("error", (error) => ended.resolve({ status: null, output: error.message }));
	// Not `close`: a process that the program left behind may hold its output open.
	child.once("exit", (status) => setImmediate(() => ended.resolve({ status, output })));
	return await ended.promise;
}

const VERSION_MS = 10_000;

/** What `--version` prints first that looks like one. */
export async function versionOf(
	program: string,
	options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
	if (!isStartable(program)) return undefined;
	const { status, output } = await runProgram(program, ["--version"], {
		...options,
		timeoutMs: VERSION_MS,
	});
	return status === 0 ? /\d+\.\d+[\w.+-]*/.exec(output)?.[0] : undefined;
}
