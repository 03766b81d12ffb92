import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { CodeIndexError } from "../../codeindex/index.ts";
import { describeError } from "../../core/errno.ts";
import { packageVersion } from "../../core/package-info.ts";
import { faults } from "./faults.ts";
import {
	createKotaProcess,
	type Ending,
	type KotaProcess,
	MAX_MESSAGE_BYTES,
} from "./kota-process.ts";
import { type LogTail, printable } from "./log-tail.ts";
import { toolAnswer } from "./tool-answer.ts";
import { MAX_TIMER_MS, waitFor } from "./wait-for.ts";

export interface KotaConnectionOptions {
	readonly command: string;
	readonly args: readonly string[];
	/** The project: KotaDB indexes nothing outside its working folder. */
	readonly cwd: string;
	/** All of its environment. */
	readonly env: Readonly<Record<string, string>>;
	/** Its database; the folder is made if need be. */
	readonly database: string;
	/** Time for a start, until it answers. */
	readonly connectTimeoutMs: number;
	readonly log: LogTail;
}

/** How a tool of KotaDB is called. */
export interface ToolCall {
	readonly tool: string;
	readonly args: Readonly<Record<string, unknown>>;
	readonly timeoutMs: number;
	readonly signal?: AbortSignal | undefined;
	/** Whether it is asked again, once, if KotaDB crashes over it. */
	readonly repeat: boolean;
}

/**
 * The line to an external KotaDB, over any number of runs of it. It is started by the first call, and after a crash by
 * the next one. KotaDB does one thing at a time, so calls wait for each other here, where waiting can be given up.
 */
export interface KotaConnection {
	/** The answer, which is JSON. Every failure is a `CodeIndexError`. */
	call(call: ToolCall): Promise<unknown>;
	state(): "stopped" | "starting" | "running" | "failed";
	/** Ends the process, forgets past crashes, and starts it anew. A call under way fails. */
	restart(): Promise<void>;
	/** Ends the process for good; resolves when it is gone. Calls under way fail. */
	close(): Promise<void>;
}

/** After so many crashes without an answer in between it is not started again by itself. */
const MAX_CRASHES = 4;

/** The pause before it is started again after a first crash; doubled with each further one. */
const BACKOFF_MS = 200;

/** Makes the line; nothing is started yet. */
export function createKotaConnection(options: KotaConnectionOptions): KotaConnection {
	const { command, cwd, database, connectTimeoutMs, log } = options;
	const closing = new AbortController();
	let run: KotaProcess | undefined;
	/** Of `run`, once it has answered. */
	let client: Client | undefined;
	/** Settles when the process last stopped is gone: two of them would fight for the database. */
	let lastStop: Promise<void> = Promise.resolve();
	let queue: Promise<unknown> = Promise.resolve();
	let state: ReturnType<KotaConnection["state"]> = "stopped";
	let crashes = 0;

	return {
		async call(call) {
			const { signal } = call;
			if (signal?.aborted) throw faults.aborted();
			return await waitFor(
				inTurn(() => perform(call)),
				{ signal, aborted: faults.aborted },
			);
		},
		state: () => state,
		async restart() {
			crashes = 0;
			await stop();
			await inTurn(running);
		},
		async close() {
			closing.abort();
			await stop();
			await queue;
		},
	};

	/** Does something after all that was asked for before. */
	function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
		const turn = queue.then(work);
		queue = turn.catch(() => {});
		return turn;
	}

	async function perform(call: ToolCall): Promise<unknown> {
		for (let repeat = call.repeat; ; repeat = false) {
			if (call.signal?.aborted) throw faults.aborted();
			const line = await running();
			if (call.signal?.aborted) throw faults.aborted();
			try {
				return toolAnswer(call.tool, await ask(line, call));
			} catch (error) {
				if (!(error instanceof Crash)) throw error;
				if (!repeat) throw faults.crashed(call.tool, error.message, lastWords());
			}
		}
	}

	async function ask(line: Client, { tool, args, timeoutMs, signal }: ToolCall): Promise<unknown> {
		const asked = run;
		const params = { name: tool, arguments: { ...args } };
		try {
			const result = await waitFor(
				// Our clock decides, not the SDK's: that would leave KotaDB busy with what nobody waits for.
				line.callTool(params, undefined, { timeout: MAX_TIMER_MS }),
				{
					signal,
					timeoutMs,
					aborted: faults.aborted,
					timedOut: () => faults.timedOut(tool, timeoutMs),
				},
			);
			crashes = 0;
			return result;
		} catch (error) {
			if (error instanceof CodeIndexError) {
				// Nobody waits any more, but it works on and would keep the next one waiting.
				void stop();
				throw error;
			}
			if (asked?.ending) throw endFault(tool, asked.ending);
			throw faults.refused(tool, describeError(error));
		}
	}

	/** The client of a running process, which is started if there is none. */
	async function running(): Promise<Client> {
		for (;;) {
			if (client) return client;
			if (crashes >= MAX_CRASHES) throw faults.gaveUp(crashes, lastWords());
			if (crashes > 0) await pause(BACKOFF_MS * 2 ** (crashes - 1));
			await lastStop;
			try {
				return await start();
			} catch (error) {
				if (!(error instanceof Crash)) throw error;
			}
		}
	}

	async function start(): Promise<Client> {
		// Large, and of no use to those who never come here.
		const sdk = await import("@modelcontextprotocol/sdk/client/index.js");
		await mkdir(dirname(database), { recursive: true, mode: 0o700 }).catch(() => {
			// KotaDB will say itself that it cannot open its database.
		});
		if (closing.signal.aborted) throw faults.closed();
		state = "starting";
		const starting = createKotaProcess({ ...options, onEnd: (ending) => ended(starting, ending) });
		const fresh = new sdk.Client({ name: "pi-strata", version: packageVersion() });
		run = starting;
		try {
			await waitFor(fresh.connect(starting.transport, { timeout: MAX_TIMER_MS }), {
				timeoutMs: connectTimeoutMs,
				aborted: faults.aborted,
				timedOut: () => faults.silent(connectTimeoutMs, lastWords()),
			});
		} catch (error) {
			const stopped = run !== starting && starting.ending?.why === "stopped";
			state = stopped ? "stopped" : "failed";
			if (run === starting) run = undefined;
			lastStop = starting.stop();
			throw startFault(error, starting.ending);
		}
		client = fresh;
		state = "running";
		return fresh;
	}

	function startFault(error: unknown, ending: Ending | undefined): Error {
		if (error instanceof CodeIndexError) return error;
		if (ending?.why === "not-started") return faults.notStarted(command, cwd, error);
		return ending ? endFault("starting", ending) : faults.notUnderstood(error);
	}

	function endFault(tool: string, { why, how }: Ending): Error {
		if (why === "too-big") return faults.tooBig(tool, MAX_MESSAGE_BYTES);
		if (why === "crashed") return new Crash(how);
		return closing.signal.aborted ? faults.closed() : faults.restarted();
	}

	/** Told of every end before those who wait for an answer are. */
	function ended(which: KotaProcess, { why, how }: Ending): void {
		if (why === "crashed") {
			crashes++;
			log.note(`[KotaDB ended: ${how}]`);
		}
		if (run !== which) return;
		run = undefined;
		client = undefined;
		state = crashes >= MAX_CRASHES ? "failed" : "stopped";
	}

	function stop(): Promise<void> {
		if (run) lastStop = run.stop();
		run = undefined;
		client = undefined;
		state = "stopped";
		return lastStop;
	}

	async function pause(ms: number): Promise<void> {
		await delay(ms, undefined, { signal: closing.signal }).catch(() => {
			// Closed meanwhile, as whoever waits is about to be told.
		});
	}

	/** What KotaDB said last, as the end of a sentence. */
	function lastWords(): string {
		const words = log.lines().filter((line) => !line.startsWith("["));
		return words.length > 0 ? `; it said: ${printable(words.slice(-3).join(" / "), 400)}` : "";
	}
}

/** The process ended by itself; the message says how. */
class Crash extends Error {}
