import type { ParseArgsConfig } from "node:util";

/** Where a command runs, writes and asks. Tests pass their own. */
export interface Terminal {
	cwd: string;
	env: NodeJS.ProcessEnv;
	print(line: string): void;
	write(text: string): void;
	/** Shows progress on one line that the next call replaces; absent without a terminal. */
	progress?: (line: string) => void;
	printError(line: string): void;
	/** Absent without a person to ask. */
	confirm?: (question: string) => Promise<boolean>;
}

export type OptionValues = Record<string, string | boolean | (string | boolean)[] | undefined>;

export interface Command {
	name: string;
	/** Everything after `strata <name>` in the usage line, e.g. `[--json]`. */
	usage: string;
	details?: string[];
	options: NonNullable<ParseArgsConfig["options"]>;
	/** Most words after the options. Default: 0. */
	maxArguments?: number;
	/** Exit status: 0 done, 1 failed. Throw {@link UsageError} for status 2. */
	run(options: OptionValues, words: string[], terminal: Terminal): Promise<number>;
}

/** The call was wrong (exit status 2); the work did not fail (1). */
export class UsageError extends Error {}
