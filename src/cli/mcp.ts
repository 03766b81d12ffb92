import { join } from "node:path";
import { createAccess } from "../core/http-access.ts";
import { packageVersion } from "../core/package-info.ts";
import { agentFolder } from "../core/places.ts";
import { loadTokens } from "../core/token-file.ts";
import type { HttpOptions, McpOptions } from "../mcp/index.ts";
import {
	type Command,
	FLAG,
	type OptionValues,
	TEXT,
	type Terminal,
	UsageError,
} from "./command.ts";
import { portIn } from "./option-values.ts";
import { watchSignals } from "./signals.ts";

const DEFAULT_PORT = 3143;
const HOST = "127.0.0.1";

export const mcp: Command = {
	name: "mcp",
	usage: `[--demo] [--http [--port ${DEFAULT_PORT}] [--token-file <file>] [--json]]`,
	details: [
		"",
		"Serves the tools kota_*, read_page and strata_recall on standard input and output, for the project",
		"in the folder where the agent starts it, or those that the agent names as its roots. strata setup adds it to",
		"the agents on this machine.",
		"With --http it serves any number of agents on 127.0.0.1. They send a token of the token file (name:token",
		"lines; created with one entry if missing) as a bearer token. Pages in a browser are refused.",
		"--json prints one line when it is ready.",
		"--demo serves a small sample project in a temporary folder. At a terminal it calls every tool and prints the",
		"answers; no key and no agent is needed.",
	],
	options: { http: FLAG, port: TEXT, "token-file": TEXT, json: FLAG, demo: FLAG },
	async run(options, _words, terminal) {
		const { env, cwd } = terminal;
		// Claude Code names its project; other agents start us in it.
		const folder = env.CLAUDE_PROJECT_DIR || cwd;
		const served = { agentDir: agentFolder(env), cwd: folder, version: packageVersion() };
		if (options.demo) {
			if (options.http) throw new UsageError("--demo serves standard input and output only");
			const { demoAtTerminal, demoOnStdio } = await import("./mcp-demo.ts");
			return await (terminal.readInput ? demoOnStdio(served) : demoAtTerminal(served, terminal));
		}
		if (options.http) return await serveAtPort(options, served, terminal);
		for (const name of ["port", "token-file", "json"]) {
			if (options[name] !== undefined) throw new UsageError(`--${name} needs --http`);
		}
		const { serveStdio } = await import("../mcp/index.ts");
		await serveStdio(served);
		return 0;
	},
};

async function serveAtPort(
	options: OptionValues,
	served: McpOptions,
	{ print }: Terminal,
): Promise<number> {
	const { "token-file": named } = options;
	const port = portIn(options.port ?? DEFAULT_PORT);
	const path = typeof named === "string" ? named : join(served.agentDir, "strata", "mcp", "tokens");
	const tokens = await loadTokens(path);
	const access = createAccess({ host: HOST, origins: [], tls: false, tokens });
	const refuse: HttpOptions["refuse"] = (headers) => {
		if (!access.admits(headers).ok) {
			return {
				status: 403,
				why: `only programs may connect, at ${HOST}; pages of a browser may not`,
			};
		}
		if (access.principalOf(headers) !== undefined) return undefined;
		return { status: 401, why: `send a token of ${path} in the Authorization header` };
	};
	const { serveHttp } = await import("../mcp/index.ts");
	const { url, close } = await serveHttp({ ...served, port: Number(port), refuse });
	if (options.json) print(JSON.stringify({ type: "ready", url, tokenFile: path }));
	else print(`The tools are at ${url}; agents send a token of ${path} as a bearer token.`);
	await new Promise<void>((resolve) => watchSignals(() => resolve()));
	await close();
	return 0;
}
