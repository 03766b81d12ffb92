import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { wantsColours } from "../core/colours.ts";
import { describeError } from "../core/errno.ts";
import { packageVersion } from "../core/package-info.ts";
import { nearest } from "../text/nearest.ts";
import {
	type Command,
	hintFor,
	type OptionValues,
	splitProgram,
	type Terminal,
	UsageError,
} from "./command.ts";
import { readUpTo } from "./standard-input.ts";

const code = () => import("./code-commands.ts");

interface ListedCommand {
	readonly name: string;
	readonly summary: string;
	load(): Promise<Command>;
}

export const commands: readonly ListedCommand[] = [
	listed(
		"serve",
		"Serve agent sessions to programs, with a dashboard.",
		() => import("./serve.ts"),
	),
	listed(
		"watch",
		"Watch sessions of pi that run in terminals, in the browser.",
		() => import("./watch.ts"),
	),
	listed("index", "Index the code of a project, or update its index.", code),
	listed("search", "Find files and symbols by words and names, best match first.", code),
	listed("deps", "Show the dependencies and dependents of a file.", code),
	listed("outline", "Show what a file or symbol contains: signatures, members and lines.", code),
	listed("symbol", "Print the source of one symbol, with the imports it needs.", code),
	listed("usages", "Show where a symbol is used, for each definition of that name.", code),
	listed("impact", "Show which files a change affects, and which tests to run.", code),
	listed("context", "Show the dependencies, dependents and tests of files to work on.", code),
	listed("map", "Print the most used files with their symbols, within a token budget.", code),
	listed("read", "Read a web page, PDF or file as text, in chunks.", () => import("./read.ts")),
	listed(
		"replay",
		"Show what a session cost, why caches missed, and what would have cost less.",
		() => import("./replay.ts"),
	),
	listed(
		"usage",
		"Show what agents cost: by day, model, agent or project, and why caches missed.",
		() => import("./usage.ts"),
	),
	listed(
		"run",
		"Run an agent through a local proxy that counts its requests to models.",
		() => import("./run.ts"),
	),
	listed(
		"proxy",
		"Forward requests of agents to model providers, as they are unless asked to save.",
		() => import("./proxy.ts"),
	),
	listed(
		"hook",
		"Shorten results inside Claude Code and opencode, without the proxy.",
		() => import("./hook.ts"),
	),
	listed(
		"traffic",
		"Show what agents asked through the proxy: cost, cache misses, what fills the window.",
		() => import("./traffic.ts"),
	),
	listed("mcp", "Serve the tools for code and pages to an agent.", () => import("./mcp.ts")),
	listed("acp", "Serve pi's sessions to an editor, such as Zed.", () => import("./acp.ts")),
	listed(
		"setup",
		"Add the tools to the agents on this machine, or take them away again.",
		() => import("./setup.ts"),
	),
	listed(
		"demo",
		"Try pi-strata in pi with a scripted model, without a key.",
		() => import("./demo.ts"),
	),
	listed(
		"tokens",
		"Add, revoke and list the tokens of servers that share a database.",
		() => import("./tokens.ts"),
	),
	listed(
		"journal",
		"Copy a server's journal into a database that servers share.",
		() => import("./journal.ts"),
	),
	listed("doctor", "Check this machine and print all settings.", () => import("./doctor.ts")),
	listed("clean", "List rebuildable data; delete it on request.", () => import("./clean.ts")),
	listed("schema", "Print the JSON Schema of settings or protocol.", () => import("./schema.ts")),
	listed("completions", "Print a script that completes strata's words in a shell.", async () => {
		const { completionsOf } = await import("./completions.ts");
		return { completions: completionsOf(() => commands) };
	}),
];

function listed<Name extends string>(
	name: Name,
	summary: string,
	module: () => Promise<Record<Name, Command>>,
) {
	return { name, summary, load: async () => (await module())[name] };
}

/** Returns the exit status: 0 done, 1 failed, 2 wrong usage (of `hook`: 1), 3 nothing found. Throws if a command's code cannot be loaded. */
export async function main(argv: string[], terminal: Terminal): Promise<number> {
	const [word, ...rest] = argv;
	if (word === undefined || word === "--help" || word === "-h" || word === "help") {
		return help(word === "help" ? rest[0] : undefined, terminal);
	}
	if (word === "--version" || word === "-v") {
		terminal.print(packageVersion());
		return 0;
	}
	const listed = findCommand(word, terminal);
	return listed ? runCommand(listed, rest, terminal) : 2;
}

export async function runAtTerminal(): Promise<void> {
	// A closed pipe (strata doctor | head -1) ends the output without a stack trace.
	process.stdout.on("error", (error: NodeJS.ErrnoException) =>
		process.exit(error.code === "EPIPE" ? 0 : 1),
	);
	process.exitCode = await main(process.argv.slice(2), atTerminal());
	if (process.exitCode !== 0) endWithinGrace();
}

/** How long a thread, socket or timer of a failed command may keep the process alive. */
const GRACE_MS = 1_000;

/** Ends the process after its error is flushed. The timer itself does not keep it alive. */
function endWithinGrace(): void {
	process.stdout.write("", () =>
		process.stderr.write("", () => {
			setTimeout(() => process.exit(), GRACE_MS).unref();
		}),
	);
}

function findCommand(word: string, terminal: Terminal): ListedCommand | undefined {
	const command = commands.find(({ name }) => name === word);
	if (command) return command;
	const names = commands.map(({ name }) => name);
	const hint = hintFor(word, names, 'see "strata --help"');
	terminal.printError(`strata: unknown command "${word}"; ${hint}`);
	return undefined;
}

async function runCommand({ load }: ListedCommand, argv: string[], terminal: Terminal) {
	const command = await load();
	try {
		const { values, positionals } = parseCommandLine(command, argv);
		if (values.help) return await help(command.name, terminal);
		return await command.run(values, positionals, terminal);
	} catch (error) {
		const message = describeError(error);
		// The message may quote an untrusted file name, which must not control the terminal.
		const line = message.split("\n")[0]?.replaceAll(/\p{Cc}/gu, "\uFFFD");
		terminal.printError(`strata ${command.name}: ${line}`);
		if (!(error instanceof UsageError)) return 1;
		terminal.printError(usageLine(command));
		return command.usageStatus ?? 2;
	}
}

function parseCommandLine(command: Command, args: string[]) {
	const options = { ...command.options, help: { type: "boolean", short: "h" } } as const;
	const { own, program } = splitProgram(command, args);
	const parsed = (() => {
		try {
			return parseArgs({ args: own, options, allowPositionals: true, strict: true });
		} catch (error) {
			// The first sentence names the option; the rest is advice on Node's own conventions.
			const [message = ""] = (error as Error).message.split(". ");
			const [, unknown] = /^Unknown option '(--[^']+)'/.exec(message) ?? [];
			const known = Object.keys(options).map((name) => `--${name}`);
			const close = unknown === undefined ? undefined : nearest(unknown, known, { swaps: true });
			const hint = close === undefined ? "" : `; did you mean "${close}"?`;
			throw new UsageError(`${message}${hint}`, { cause: error });
		}
	})();
	// An empty value is most likely an unset shell variable, not the current folder.
	for (const [name, value] of Object.entries<OptionValues[string]>(parsed.values)) {
		if ([value].flat().includes("")) throw new UsageError(`--${name} is empty: give it a value`);
	}
	const surplus = parsed.positionals[command.maxArguments ?? 0];
	if (surplus !== undefined) {
		throw new UsageError(`unexpected argument "${surplus}"${aboutSurplus(command, surplus)}`);
	}
	return { values: parsed.values, positionals: [...parsed.positionals, ...program] };
}

/** A surplus argument of a command about a project is most likely the project's folder. */
function aboutSurplus({ name, options, maxArguments = 0 }: Command, surplus: string): string {
	if (maxArguments > 0 || !("root" in options)) return "";
	return `; use --root for a project: strata ${name} --root ${surplus}`;
}

function usageLine(command: Command): string {
	return `usage: strata ${[command.name, command.usage].filter(Boolean).join(" ")}`;
}

async function help(name: string | undefined, terminal: Terminal): Promise<number> {
	if (name !== undefined) {
		const listed = findCommand(name, terminal);
		if (!listed) return 2;
		const command = await listed.load();
		const lines = [usageLine(command), "", listed.summary, ...(command.details ?? [])];
		for (const line of lines) terminal.print(line);
		return 0;
	}
	const width = Math.max(...commands.map((command) => command.name.length));
	const lines = [
		"strata: the context engine for pi, on the command line",
		"",
		"usage: strata <command> [options]",
		"",
		...commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`),
		"",
		'Run "strata help <command>" for its options, "strata --version" for the version.',
		"Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing found.",
	];
	for (const line of lines) terminal.print(line);
	return 0;
}

function atTerminal(): Terminal {
	const terminal: Terminal = {
		cwd: process.cwd(),
		env: process.env,
		isColoured: wantsColours(process.env, process.stdout.isTTY === true),
		print: (line) => void process.stdout.write(`${line}\n`),
		write: (text) => void process.stdout.write(text),
		printError: (line) => void process.stderr.write(`${line}\n`),
	};
	if (!process.stdin.isTTY) terminal.readInput = (maxBytes) => readUpTo(process.stdin, maxBytes);
	if (process.stderr.isTTY) {
		terminal.progress = (line) => void process.stderr.write(`\r\u001b[K${line}`);
	}
	if (process.stdin.isTTY && process.stdout.isTTY) {
		terminal.confirm = async (question) => {
			const { createInterface } = await import("node:readline/promises");
			const prompt = createInterface({ input: process.stdin, output: process.stdout });
			try {
				return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim());
			} finally {
				prompt.close();
			}
		};
	}
	return terminal;
}

function isStartedDirectly(): boolean {
	try {
		return realpathSync(process.argv[1] ?? "") === fileURLToPath(import.meta.url);
	} catch {
		return false;
	}
}

if (isStartedDirectly()) await runAtTerminal();
