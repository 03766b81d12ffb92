import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync } from "node:fs";
import { describeError, errnoOf } from "../core/errno.ts";
import { type Command, TEXT, UsageError } from "./command.ts";
import { type Launch, launchOf } from "./launch.ts";
import { oneOf, SAVINGS } from "./option-values.ts";
import { openProxy, SAVINGS_DETAILS } from "./proxy.ts";
import { statusOf } from "./signals.ts";

const SECRET_BYTES = 16;
/** The agent has ended: what is still open has no reader. */
const DRAIN_MS = 500;
/** As shells answer for a program that they cannot start. */
const NOT_STARTED = 127;

export const run: Command = {
	name: "run",
	usage: "[--savings off|shadow|birth] [--] <agent> [arguments…]",
	details: [
		"",
		"Starts a proxy for this one process, runs the agent with base URLs that lead to it, and prints one line at",
		"the end. It knows claude, codex, gemini and opencode; other programs get the usual variables, such as",
		"ANTHROPIC_BASE_URL and OPENAI_BASE_URL. No configuration is written, so nothing is left behind. Hashes,",
		"sizes and bills of the requests go into the book that strata traffic shows; texts and keys do not.",
		"The exit status is the agent's.",
		...SAVINGS_DETAILS,
	],
	options: { savings: TEXT },
	maxArguments: Number.POSITIVE_INFINITY,
	runsProgram: true,
	async run(values, [program, ...args], terminal) {
		if (program === undefined) throw new UsageError("name a program, such as claude");
		const secret = randomBytes(SECRET_BYTES).toString("hex");
		const { running, upstreams, close, summary } = await openProxy(terminal, {
			port: 0,
			secret,
			drainMs: DRAIN_MS,
			savings: oneOf(values, "savings", SAVINGS),
		});
		try {
			const { env, cwd, printError } = terminal;
			const baseUrl = (upstream: string) => running.baseUrl(upstream);
			const launch = launchOf({ program, args, env, upstreams, baseUrl });
			const status = await statusOfChild(program, launch, cwd);
			await close();
			printError(`strata: ${await summary().catch(describeError)}`);
			return status;
		} catch (error) {
			if (error instanceof UsageError) throw error;
			const why = errnoOf(error) === "ENOENT" ? "not found" : (errnoOf(error) ?? "unknown error");
			terminal.printError(`strata run: cannot start "${program}": ${why}`);
			return NOT_STARTED;
		} finally {
			await close();
		}
	},
};

/** Rejects if the program cannot be started. */
export async function statusOfChild(
	program: string,
	{ args, env }: Launch,
	cwd: string,
): Promise<number> {
	const child = spawn(program, args, { cwd, env, stdio: "inherit" });
	const ended = Promise.withResolvers<number>();
	child.once("error", ended.reject);
	child.once("exit", (code, signal) => ended.resolve(signal ? statusOf(signal) : (code ?? 1)));
	// A terminal sends its interrupt to both; a second one could end the agent.
	const forward = (signal: NodeJS.Signals) => {
		if (signal !== "SIGINT" || !isInForeground()) child.kill(signal);
	};
	const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
	for (const signal of signals) process.on(signal, forward);
	try {
		return await ended.promise;
	} finally {
		for (const signal of signals) process.off(signal, forward);
	}
}

/**
 * Whether interrupts of a terminal reach this process, wherever its input and output lead. One that was sent to it
 * alone looks the same. Where groups are not known, a terminal counts as one that has it in front.
 */
function isInForeground(): boolean {
	if (process.platform === "win32") return true; // a console, which does the same
	try {
		// Behind the program's name, which may have spaces: state, parent, group, session, terminal, its group in front.
		const fields = readFileSync("/proc/self/stat", "latin1")
			.replace(/^.*\) /s, "")
			.split(" ");
		return fields[2] === fields[5];
	} catch {
		// Not Linux.
	}
	try {
		closeSync(openSync("/dev/tty", "r"));
		return true;
	} catch {
		return false;
	}
}
