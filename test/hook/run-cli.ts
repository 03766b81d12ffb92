import { main } from "../../src/cli/main.ts";

interface CliOptions {
	readonly env?: NodeJS.ProcessEnv;
	readonly cwd?: string;
	/** What another program writes to it; `null` at a terminal. */
	readonly input?: string | null;
}

/** Runs a command in this process. */
export async function runCli(
	argv: string[],
	{ env = {}, cwd = process.cwd(), input = "" }: CliOptions = {},
) {
	const out: string[] = [];
	const errors: string[] = [];
	const status = await main(argv, {
		...{ cwd, env },
		print: (line) => void out.push(line),
		write: (text) => void out.push(text),
		printError: (line) => void errors.push(line),
		...(input !== null && { readInput: async () => Buffer.from(input) }),
	});
	return { status, stdout: out.join("\n"), stderr: errors.join("\n") };
}
