import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { realOrGiven } from "../core/places.ts";
import { property } from "../core/property.ts";
import { readRegularFile } from "../core/regular-file.ts";

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

interface Ran {
	readonly status: number | null;
	readonly output: string;
}

const MAX_OUTPUT_CHARS = 64 * 1024;
/** How long the last output of a program may take to arrive after its end. */
const OUTPUT_MS = 1_000;

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
	child.once("close", (status) => ended.resolve({ status, output }));
	// A process that the program left behind may hold its output open.
	let timer: NodeJS.Timeout | undefined;
	child.once("exit", (status) => {
		timer = setTimeout(() => ended.resolve({ status, output }), OUTPUT_MS);
	});
	try {
		return await ended.promise;
	} finally {
		clearTimeout(timer);
		child.stdout.destroy();
		child.stderr.destroy();
	}
}

const VERSION_MS = 10_000;
/** A program is at most so far below its package's folder. */
const MAX_FOLDERS_UP = 4;
const MAX_PACKAGE_BYTES = 1024 * 1024;

/** From the npm package that a program belongs to, since some take seconds to start; else what `--version` prints. */
export async function versionOf(
	program: string,
	packageName: string | undefined,
	options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
	const packed = packageName === undefined ? undefined : await packedVersion(program, packageName);
	if (packed !== undefined || !isStartable(program)) return packed;
	const timed = { ...options, timeoutMs: VERSION_MS };
	const { status, output } = await runProgram(program, ["--version"], timed);
	return status === 0 ? /\d+\.\d+[\w.+-]*/.exec(output)?.[0] : undefined;
}

async function packedVersion(program: string, name: string): Promise<string | undefined> {
	let folder = dirname(realOrGiven(program));
	for (let up = 0; up < MAX_FOLDERS_UP; up++) {
		try {
			const file = await readRegularFile(join(folder, "package.json"), MAX_PACKAGE_BYTES);
			const value: unknown = file.kind === "read" ? JSON.parse(file.bytes.toString("utf8")) : {};
			const version = property(value, "version");
			if (property(value, "name") === name && typeof version === "string") return version;
		} catch {
			// Not readable: it may be another one further up.
		}
		folder = dirname(folder);
	}
	return undefined;
}
