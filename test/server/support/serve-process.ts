import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atEnd, tempDir } from "../../support/temp.ts";

const MAIN = fileURLToPath(new URL("../../../bin/strata.js", import.meta.url));

/** `strata serve` in a process of its own, with folders of its own unless given. */
export interface ServeProcess {
	readonly child: ChildProcessWithoutNullStreams;
	readonly agentDir: string;
	readonly dataDir: string;
	/** Everything it has written so far. */
	out(): string;
	err(): string;
	/** The line of `--json`. */
	ready(): Promise<{
		port?: number;
		url?: string;
		socket?: string;
		tokenFile?: string;
		pid: number;
	}>;
	/** The token that was made for `local`. */
	token(): string;
	readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export function startServe(
	words: string[],
	given: {
		agentDir?: string;
		cwd?: string;
		env?: NodeJS.ProcessEnv;
		dashboard?: true;
		/** What the shell does before it becomes the server, such as `ulimit -n 64`. */
		shell?: string;
	} = {},
): ServeProcess {
	const agentDir = given.agentDir ?? tempDir();
	const dataDir = join(agentDir, "strata", "server");
	const page = given.dashboard ? [] : ["--no-dashboard"];
	const line = [process.execPath, MAIN, "serve", ...words, ...page];
	const shell = given.shell === undefined ? [] : ["sh", "-c", `${given.shell}; exec "$@"`, "sh"];
	const [program = "", ...rest] = [...shell, ...line];
	const child = spawn(program, rest, {
		cwd: given.cwd ?? agentDir,
		env: { ...process.env, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1", ...given.env },
	});
	let out = "";
	let err = "";
	let heard = Promise.withResolvers<void>();
	const hear = () => {
		heard.resolve();
		heard = Promise.withResolvers();
	};
	child.stdout.on("data", (chunk) => {
		out += chunk;
		hear();
	});
	child.stderr.on("data", (chunk) => {
		err += chunk;
		hear();
	});
	const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
		child.on("close", (code, signal) => {
			resolve({ code, signal });
			hear();
		});
	});
	atEnd(async () => {
		child.kill("SIGKILL");
		await exited;
	});
	return {
		child,
		agentDir,
		dataDir,
		out: () => out,
		err: () => err,
		exited,
		async ready() {
			for (;;) {
				const line = `${out}\n${err}`.split("\n").find((text) => text.includes('"type":"ready"'));
				if (line !== undefined) return JSON.parse(line);
				if (child.exitCode !== null) throw new Error(`it ended before it was ready: ${err}`);
				await heard.promise;
			}
		},
		token: () => /^local:(\S+)$/m.exec(readFileSync(join(dataDir, "tokens"), "utf8"))?.[1] ?? "",
	};
}
