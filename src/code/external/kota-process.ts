import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describeError } from "../../core/errno.ts";
import { inTime } from "../../core/in-time.ts";
import { createLineSplitter } from "./line-splitter.ts";
import type { LogTail } from "./log-tail.ts";

export interface KotaProcessOptions {
	readonly command: string;
	readonly args: readonly string[];
	readonly cwd: string;
	/** All of its environment. */
	readonly env: Readonly<Record<string, string>>;
	readonly log: LogTail;
	/** Told once, before anyone who waits for an answer hears that there will be none. */
	onEnd(ending: Ending): void;
}

/** Why a process is no more: by itself, because we ended it, because we had to as it said too much; or never was. */
export interface Ending {
	readonly why: "crashed" | "stopped" | "too-big" | "not-started";
	/** `exit status 3`, `signal SIGSEGV`, or why it could not be started. */
	readonly how: string;
}

/**
 * One run of an external KotaDB, and the way MCP messages go to and from it. The SDK's own stdio transport is not used
 * as its child keeps our process alive, outlives it, and may leave processes of its own behind: `bun x` starts another.
 * This one never keeps our process alive; whoever waits for an answer holds a timer that does.
 */
export interface KotaProcess {
	/** For the SDK's client, which starts the process through it. */
	readonly transport: Transport;
	/** Set when it has ended. */
	readonly ending: Ending | undefined;
	/** Ends it and all it started: asks first, then forces. Resolves when it is gone. */
	stop(why?: "stopped" | "too-big"): Promise<void>;
}

/** An MCP message, and so an answer, has at most this many bytes. */
export const MAX_MESSAGE_BYTES = 20 * 1024 * 1024;

/** How long a process may take to end when asked to, before it is made to. */
const GRACE_MS = 2000;

/** How long output may still arrive after the process is gone. */
const DRAIN_MS = 500;

/** Prepares a run; `transport.start` begins it, and rejects with the system's error if the program cannot be run. */
export function createKotaProcess(options: KotaProcessOptions): KotaProcess {
	const { command, args, cwd, env, log, onEnd } = options;
	const gone = Promise.withResolvers<void>();
	let child: ReturnType<typeof spawnChild> | undefined;
	let exit: string | undefined;
	let stopReason: "stopped" | "too-big" | undefined;
	let stopping: Promise<void> | undefined;
	let ending: Ending | undefined;

	const transport: Transport = { start, send, close: () => stop() };
	return {
		transport,
		get ending() {
			return ending;
		},
		stop,
	};

	function start(): Promise<void> {
		return new Promise((resolve, reject) => {
			if (stopReason) throw new Error("it was stopped before it had started");
			const started = spawnChild({ command, args, cwd, env });
			child = started;
			started.once("spawn", () => {
				process.once("exit", killAtExit);
				resolve();
			});
			started.once("error", (error) => {
				reject(error);
				if (started.pid === undefined) end({ why: "not-started", how: describeError(error) });
			});
			started.once("exit", (code, signal) => {
				// First of all, while its number cannot be another's yet: nothing it started stays behind.
				signalAll("SIGKILL");
				exit = code === null ? `signal ${signal}` : `exit status ${code}`;
				process.off("exit", killAtExit);
				gone.resolve();
				setTimeout(endAsExited, DRAIN_MS).unref();
			});
			started.once("close", endAsExited);
			connect(started);
		});
	}

	function connect({ stdin, stdout, stderr }: NonNullable<typeof child>): void {
		const splitter = createLineSplitter({
			maxBytes: MAX_MESSAGE_BYTES,
			onLine: receive,
			onTooLong: () => void stop("too-big"),
		});
		stdout.on("data", (chunk: Buffer) => splitter.write(chunk));
		stderr.on("data", (chunk: Buffer) => log.write(chunk));
		for (const stream of [stdin, stdout, stderr]) {
			stream.on("error", (error: Error) => log.note(`[pipe: ${error.message}]`));
			(stream as Socket).unref();
		}
	}

	function receive(line: string): void {
		if (line.trim() === "") return;
		let message: unknown;
		try {
			message = JSON.parse(line);
		} catch {
			// Programs that start others like to greet on standard output.
			log.note(`[stdout] ${line.slice(0, 500)}`);
			return;
		}
		transport.onmessage?.(message as Parameters<NonNullable<Transport["onmessage"]>>[0]);
	}

	function send(message: unknown): Promise<void> {
		return new Promise((resolve, reject) => {
			if (!child || exit !== undefined) throw new Error("KotaDB is not running");
			child.stdin.write(`${JSON.stringify(message)}\n`, (error) =>
				error ? reject(error) : resolve(),
			);
		});
	}

	function endAsExited(): void {
		end({ why: stopReason ?? "crashed", how: exit ?? "unknown" });
	}

	function end(as: Ending): void {
		if (ending) return;
		ending = as;
		gone.resolve();
		onEnd(ending);
		transport.onclose?.();
	}

	function stop(why: "stopped" | "too-big" = "stopped"): Promise<void> {
		stopReason ??= why;
		stopping ??= stopChild();
		return stopping;
	}

	async function stopChild(): Promise<void> {
		if (child?.pid === undefined || exit !== undefined) return;
		child.stdin.end();
		signalAll("SIGTERM");
		if (
			await inTime(
				gone.promise.then(() => true),
				GRACE_MS,
			)
		)
			return;
		signalAll("SIGKILL");
		await inTime(gone.promise, GRACE_MS);
	}

	/** To the process and all it started, which share its group; on Windows, which has no groups, to it alone. */
	function signalAll(signal: "SIGTERM" | "SIGKILL"): void {
		if (child?.pid === undefined || exit !== undefined) return;
		try {
			if (process.platform === "win32") child.kill(signal);
			else process.kill(-child.pid, signal);
		} catch {
			// Nobody is left to be signalled, which is what was wanted.
		}
	}

	function killAtExit(): void {
		signalAll("SIGKILL");
	}
}

function spawnChild({
	command,
	args,
	cwd,
	env,
}: Pick<KotaProcessOptions, "command" | "args" | "cwd" | "env">) {
	const child = spawn(command, [...args], {
		cwd,
		env: { ...env },
		stdio: ["pipe", "pipe", "pipe"],
		// A group of its own, so that it can be ended together with what it started.
		detached: process.platform !== "win32",
		windowsHide: true,
	});
	child.unref();
	return child;
}
