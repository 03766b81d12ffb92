import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describeError } from "../../core/errno.ts";
import { inTime } from "../../core/in-time.ts";
import type { LogTail } from "./log-tail.ts";

export interface EngineProcessOptions {
	readonly command: string;
	readonly args: readonly string[];
	readonly cwd: string;
	/** The complete environment; nothing is inherited. */
	readonly env: Readonly<Record<string, string>>;
	readonly log: LogTail;
}

export interface ProcessExit {
	readonly reason: "crashed" | "stopped" | "too-big" | "not-started";
	/** `exit status 3`, `signal SIGSEGV`, or why the start failed. */
	readonly detail: string;
}

/** Maximum size of one MCP message. */
export const MAX_MESSAGE_BYTES = 20 * 1024 * 1024;
/** Time to exit after SIGTERM, and again after SIGKILL. */
const GRACE_MS = 2000;
/** Time for the remaining output after the exit. */
const DRAIN_MS = 500;

/**
 * One process of KotaDB as an MCP transport. With the SDK's own transport, KotaDB would keep our process
 * alive, outlive it, leak its children (`bun x` starts one), inherit variables and lose its exit status.
 */
export class EngineProcess implements Transport {
	readonly #options: EngineProcessOptions;
	readonly #onEnd: (exit: ProcessExit) => void;
	readonly #gone = Promise.withResolvers<true>();
	readonly #ended = Promise.withResolvers<true>();
	#child: ChildProcessWithoutNullStreams | undefined;
	#exitStatus: string | undefined;
	#stopReason: "stopped" | "too-big" | undefined;
	#stopping: Promise<void> | undefined;
	exit: ProcessExit | undefined;
	onmessage?: NonNullable<Transport["onmessage"]>;
	onclose?: () => void;

	/** `onEnd` is called once, before pending requests are rejected. */
	constructor(options: EngineProcessOptions, onEnd: (exit: ProcessExit) => void) {
		this.#options = options;
		this.#onEnd = onEnd;
	}

	start(): Promise<void> {
		return new Promise((resolve, reject) => {
			if (this.#stopReason) throw new Error("it was stopped before it had started");
			const { command, args, cwd, env, log } = this.#options;
			const child = spawn(command, args, {
				cwd,
				env: { ...env },
				// A separate process group, so that KotaDB's children can be killed with it.
				detached: process.platform !== "win32",
				windowsHide: true,
			});
			child.unref();
			this.#child = child;
			child.once("spawn", () => {
				process.once("exit", this.#killAtExit);
				resolve();
			});
			child.once("error", (error) => {
				reject(error);
				if (child.pid === undefined)
					this.#end({ reason: "not-started", detail: describeError(error) });
			});
			child.once("exit", (code, signal) => {
				// Kills the group immediately, before the system can reuse its id.
				this.#signalAll("SIGKILL");
				this.#exitStatus = code === null ? `signal ${signal}` : `exit status ${code}`;
				process.off("exit", this.#killAtExit);
				this.#gone.resolve(true);
				// After a turn of the event loop, which may have been blocked until now.
				setTimeout(() => setImmediate(() => this.#endAsExited()), DRAIN_MS).unref();
			});
			child.once("close", () => this.#endAsExited());
			const receive = (line: string) => this.#receive(line);
			const tooLong = () => void this.stop("too-big");
			child.stdout.on("data", splitLines(MAX_MESSAGE_BYTES, receive, tooLong));
			child.stderr.on("data", (chunk: Buffer) => log.write(chunk));
			for (const stream of [child.stdin, child.stdout, child.stderr]) {
				stream.on("error", (error: Error) => log.note(`[pipe error: ${error.message}]`));
				(stream as Socket).unref();
			}
		});
	}

	/** If the process has exited, rejects when `exit` is known: its input breaks first. */
	async send(message: unknown): Promise<void> {
		try {
			await this.#write(`${JSON.stringify(message)}\n`);
		} catch (error) {
			await inTime(this.#ended.promise, 2 * DRAIN_MS);
			throw error;
		}
	}

	#write(line: string): Promise<void> {
		return new Promise((resolve, reject) => {
			if (!this.#child || this.#exitStatus !== undefined) throw new Error("KotaDB is not running");
			this.#child.stdin.write(line, (error) => (error ? reject(error) : resolve()));
		});
	}

	close(): Promise<void> {
		return this.stop();
	}

	stop(reason: "stopped" | "too-big" = "stopped"): Promise<void> {
		this.#stopReason ??= reason;
		this.#stopping ??= this.#stop();
		return this.#stopping;
	}

	async #stop(): Promise<void> {
		if (this.#child?.pid === undefined || this.#exitStatus !== undefined) return;
		this.#child.stdin.end();
		for (const signal of ["SIGTERM", "SIGKILL"] as const) {
			this.#signalAll(signal);
			if (await inTime(this.#gone.promise, GRACE_MS)) return;
		}
	}

	#receive(line: string): void {
		if (line.trim() === "") return;
		let message: unknown;
		try {
			message = JSON.parse(line);
		} catch {
			// Not a message: launchers often print a greeting to stdout.
			this.#options.log.note(`[stdout] ${line.slice(0, 500)}`);
			return;
		}
		this.onmessage?.(message as Parameters<NonNullable<Transport["onmessage"]>>[0]);
	}

	#endAsExited(): void {
		this.#end({ reason: this.#stopReason ?? "crashed", detail: this.#exitStatus ?? "unknown" });
	}

	#end(exit: ProcessExit): void {
		if (this.exit) return;
		this.exit = exit;
		this.#gone.resolve(true);
		this.#ended.resolve(true);
		this.#onEnd(exit);
		this.onclose?.();
	}

	/** Windows has no process groups: only the process itself is signalled. */
	#signalAll(signal: "SIGTERM" | "SIGKILL"): void {
		const child = this.#child;
		if (child?.pid === undefined || this.#exitStatus !== undefined) return;
		try {
			if (process.platform === "win32") child.kill(signal);
			else process.kill(-child.pid, signal);
		} catch {
			// The process has already exited.
		}
	}

	readonly #killAtExit = () => this.#signalAll("SIGKILL");
}

/** Stops reading at a line over `maxBytes` and reports it. Takes linear time, even for tiny chunks. */
export function splitLines(
	maxBytes: number,
	onLine: (line: string) => void,
	onTooLong: () => void,
): (chunk: Buffer) => void {
	let parts: Buffer[] = [];
	let bytes = 0;
	return (chunk) => {
		for (let from = 0; bytes <= maxBytes; ) {
			const end = chunk.indexOf("\n", from);
			const part = chunk.subarray(from, end < 0 ? chunk.length : end);
			bytes += part.length;
			if (bytes > maxBytes) {
				parts = [];
				onTooLong();
				return;
			}
			parts.push(part);
			if (end < 0) return;
			const line = Buffer.concat(parts).toString("utf8");
			parts = [];
			bytes = 0;
			onLine(line);
			from = end + 1;
		}
	};
}
