import type { ParseArgsConfig } from "node:util";
import { nearest } from "../text/nearest.ts";

/** Where a command runs, writes output and asks questions. Tests pass their own. */
export interface Terminal {
	readonly cwd: string;
	readonly env: NodeJS.ProcessEnv;
	print(line: string): void;
	write(text: string): void;
	/** Shows progress on one line that the next call replaces; absent without a terminal. */
	progress?: (line: string) => void;
	printError(line: string): void;
	/** What another program writes to this one, up to its end; `undefined` if that is longer. Absent at a terminal. */
	readInput?: (maxBytes: number) => Promise<Buffer | undefined>;
	/** Whether to print colours, and places as `path:line`. Default: no. */
	readonly isColoured?: boolean;
	/** Asks the user. Absent without a terminal. */
	confirm?: (question: string) => Promise<boolean>;
}

export type OptionValues = Record<string, string | boolean | (string | boolean)[] | undefined>;

export interface Command {
	readonly name: string;
	/** Everything after `strata <name>` in the usage line, e.g. `[--json]`. */
	readonly usage: string;
	readonly details?: string[];
	readonly options: NonNullable<ParseArgsConfig["options"]>;
	/** Maximum number of positional arguments. Default: 0. */
	readonly maxArguments?: number;
	/** What the first argument can be, for completions. Default: files. */
	readonly words?: readonly string[];
	/** From the first argument on, all words belong to another program, its options too. */
	readonly runsProgram?: true;
	/** The exit status after {@link UsageError}. Default: 2. */
	readonly usageStatus?: 1;
	/** Exit status: 0 done, 1 failed, {@link NOTHING_FOUND}. Throw {@link UsageError} for wrong usage. */
	run(options: OptionValues, words: string[], terminal: Terminal): Promise<number>;
}

/** The exit status of a question that has no answer: a script can tell it from a failure. */
export const NOTHING_FOUND = 3;

export const FLAG = { type: "boolean" } as const;
export const TEXT = { type: "string" } as const;
/** An option that may be given several times. */
export const TEXTS = { type: "string", multiple: true } as const;

/** Thrown if the command line is wrong (exit status 2, unless a command has another one). Other failures have exit status 1. */
export class UsageError extends Error {}

/** Returns a hint for an unknown word: the nearest known word, or else `otherwise`. */
export function hintFor(
	word: string,
	known: readonly string[],
	otherwise = `known: ${known.join(", ")}`,
): string {
	const close = nearest(word, known);
	return close ? `did you mean "${close}"?` : otherwise;
}

/** Splits the words of a command line at the first that is for another program. */
export function splitProgram({ runsProgram, options }: Command, args: readonly string[]) {
	const takesWord = (word: string | undefined) => options[word?.slice(2) ?? ""]?.type === "string";
	const isProgram = (word: string, at: number) =>
		word === "--" || (!word.startsWith("-") && !takesWord(args[at - 1]));
	const at = runsProgram ? args.findIndex(isProgram) : -1;
	if (at < 0) return { own: [...args], program: [] };
	return { own: args.slice(0, at), program: args.slice(args[at] === "--" ? at + 1 : at) };
}
