import { realpathSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeError } from "../core/errno.ts";
import { packageVersion } from "../core/package-info.ts";
import { nearest } from "../text/nearest.ts";
import { clean } from "./clean.ts";
import { codeCommands } from "./code-commands.ts";
import { type Command, type OptionValues, type Terminal, UsageError } from "./command.ts";
import { doctor } from "./doctor.ts";
import { read } from "./read.ts";
import { replay } from "./replay.ts";
import { schema } from "./schema.ts";
import { serve } from "./serve.ts";

/** Every command of `strata`, in the order of its help. */
export const commands: Command[] = [serve, ...codeCommands, read, replay, doctor, clean, schema];

/** Runs one command line and returns its exit status: 0 done, 1 failed, 2 wrong usage. Never throws. */
export async function main(argv: string[], terminal: Terminal): Promise<number> {
	const [word, ...rest] = argv;
	if (word === undefined || word === "--help" || word === "-h" || word === "help") {
		return help(word === "help" ? rest[0] : undefined, terminal);
	}
	if (word === "--version" || word === "-v") {
		terminal.print(packageVersion());
		return 0;
	}
	const command = find(word, terminal);
	return command ? runCommand(command, rest, terminal) : 2;
}

/** Runs the command line of this process; called by `bin/strata.js`, and by this file when it is started directly. */
export async function runAtTerminal(): Promise<void> {
	// A reader that went away (strata doctor | head -1) ends the output, not with a stack trace.
	process.stdout.on("error", (error: NodeJS.ErrnoException) =>
		process.exit(error.code === "EPIPE" ? 0 : 1),
	);
	process.exitCode = await main(process.argv.slice(2), atTerminal());
	if (process.exitCode !== 0) endSoon();
}

/** How long what a failed command has left open may keep the process: a thread, a socket, a timer. */
const LEFTOVERS_MS = 1_000;

/** Ends the process after a failure, once its error is written. By itself this keeps nothing. */
function endSoon(): void {
	process.stdout.write("", () =>
		process.stderr.write("", () => {
			setTimeout(() => process.exit(), LEFTOVERS_MS).unref();
		}),
	);
}

function find(word: string, terminal: Terminal): Command | undefined {
	const command = commands.find(({ name }) => name === word);
	if (command) return command;
	const close = nearest(
		word,
		commands.map(({ name }) => name),
	);
	const hint = close ? `did you mean "${close}"?` : 'see "strata --help"';
	terminal.printError(`strata: unknown command "${word}"; ${hint}`);
	return undefined;
}

async function runCommand(command: Command, argv: string[], terminal: Terminal): Promise<number> {
	try {
		const { values, positionals } = parseCommandLine(command, argv);
		if (values.help) return help(command.name, terminal);
		return await command.run(values, positionals, terminal);
	} catch (error) {
		const message = describeError(error);
		// It may quote an untrusted name of a file, which must not steer the terminal.
		const line = message.split("\n")[0]?.replaceAll(/\p{Cc}/gu, "\uFFFD");
		terminal.printError(`strata ${command.name}: ${line}`);
		if (!(error instanceof UsageError)) return 1;
		terminal.printError(usageLine(command));
		return 2;
	}
}

function parseCommandLine(command: Command, args: string[]) {
	const options = { ...command.options, help: { type: "boolean", short: "h" } } as const;
	const parsed = (() => {
		try {
			return parseArgs({ args, options, allowPositionals: true, strict: true });
		} catch (error) {
			// The first sentence names the option; the rest is advice about Node's own conventions.
			throw new UsageError((error as Error).message.split(". ")[0], { cause: error });
		}
	})();
	// Most likely a variable of the shell that is not set, not the current folder or nothing at all.
	for (const [name, value] of Object.entries<OptionValues[string]>(parsed.values)) {
		if ([value].flat().includes("")) throw new UsageError(`--${name} is empty: give it a value`);
	}
	const surplus = parsed.positionals[command.maxArguments ?? 0];
	if (surplus !== undefined) {
		throw new UsageError(`unexpected argument "${surplus}"${aboutSurplus(command, surplus)}`);
	}
	return parsed;
}

/** Of a command that takes no words but is about a project, the surplus one is most likely its folder. */
function aboutSurplus({ name, options, maxArguments = 0 }: Command, surplus: string): string {
	if (maxArguments > 0 || !("root" in options)) return "";
	return `: name a project by --root, as in strata ${name} --root ${surplus}`;
}

function usageLine(command: Command): string {
	return `usage: strata ${[command.name, command.usage].filter(Boolean).join(" ")}`;
}

function help(name: string | undefined, terminal: Terminal): number {
	if (name !== undefined) {
		const command = find(name, terminal);
		if (!command) return 2;
		const lines = [usageLine(command), "", command.summary, ...(command.details ?? [])];
		for (const line of lines) terminal.print(line);
		return 0;
	}
	const width = Math.max(...commands.map((command) => command.name.length));
	terminal.print("strata: the context engine for pi, on the command line");
	terminal.print("");
	terminal.print("usage: strata <command> [options]");
	terminal.print("");
	for (const command of commands) {
		terminal.print(`  ${command.name.padEnd(width)}  ${command.summary}`);
	}
	terminal.print("");
	terminal.print("strata help <command> tells more; strata --version prints the version.");
	return 0;
}

function atTerminal(): Terminal {
	const terminal: Terminal = {
		cwd: process.cwd(),
		env: process.env,
		print: (line) => void process.stdout.write(`${line}\n`),
		write: (text) => void process.stdout.write(text),
		printError: (line) => void process.stderr.write(`${line}\n`),
	};
	if (process.stderr.isTTY) {
		terminal.progress = (line) => void process.stderr.write(`\r\u001b[K${line}`);
	}
	if (process.stdin.isTTY && process.stdout.isTTY) {
		terminal.confirm = async (question) => {
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

/** Whether Node was started with this file: `node src/cli/main.ts doctor`. */
function isStartedDirectly(): boolean {
	try {
		return realpathSync(process.argv[1] ?? "") === fileURLToPath(import.meta.url);
	} catch {
		return false; // started without a file, as by `node --eval`
	}
}

if (isStartedDirectly()) await runAtTerminal();
