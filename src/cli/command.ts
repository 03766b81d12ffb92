import type { ParseArgsConfig } from "node:util";

/** Where a command runs, writes and asks. Tests hand in their own. */
export interface Terminal {
	cwd: string;
	env: NodeJS.ProcessEnv;
	/** Writes one line to standard output. */
	print(line: string): void;
	/** Writes text to standard output as it is. */
	write(text: string): void;
	/** Shows what is going on, on one line that the next call replaces; absent where nobody watches. */
	progress?: (line: string) => void;
	/** Writes one line to standard error. */
	printError(line: string): void;
	/** Asks the person at the terminal; `undefined` where there is none. */
	confirm?: (question: string) => Promise<boolean>;
}

export type OptionValues = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** One `strata <name>` command. */
export interface Command {
	name: string;
	/** Everything after `strata <name>` in the usage line, e.g. `[--json]`. */
	usage: string;
	/** Further lines of `strata help <name>`. */
	details?: string[];
	options: NonNullable<ParseArgsConfig["options"]>;
	/** How many words may follow the options; the default is none. */
	maxArguments?: number;
	/** Exit status: 0 done, 1 failed. Throw {@link UsageError} for status 2. */
	run(options: OptionValues, words: string[], terminal: Terminal): Promise<number>;
}

/** The call itself was wrong (exit status 2), as opposed to the work having failed (1). */
export class UsageError extends Error {}
