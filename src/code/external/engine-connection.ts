import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { CodeIndexError } from "../../codeindex/index.ts";
import { describeError } from "../../core/errno.ts";
import { packageVersion } from "../../core/package-info.ts";
import { AnswerPart, toolAnswer } from "./answer-part.ts";
import {
	EngineProcess,
	type EngineProcessOptions,
	MAX_MESSAGE_BYTES,
	type ProcessExit,
} from "./engine-process.ts";
import { faults } from "./faults.ts";
import { printable } from "./log-tail.ts";

interface EngineConnectionOptions extends EngineProcessOptions {
	readonly database: string;
	readonly connectTimeoutMs: number;
}

interface ToolCall {
	readonly tool: string;
	readonly args: Readonly<Record<string, unknown>>;
	readonly timeoutMs: number;
	readonly signal?: AbortSignal | undefined;
	/** Whether to retry once if KotaDB crashes during the call. */
	readonly retry: boolean;
}

/** Automatic restarts stop after this many crashes without an answer in between. */
const MAX_CRASHES = 4;
/** Backoff after the first crash. Doubles with each further crash. */
const BACKOFF_MS = 200;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Starts KotaDB on demand. It runs one call at a time; others queue here and can be aborted. */
export class EngineConnection {
	readonly #options: EngineConnectionOptions;
	readonly #closing = new AbortController();
	#run: EngineProcess | undefined;
	#client: Client | undefined;
	/** Settles when the last stopped process has exited. Two would compete for the database. */
	#lastStop: Promise<void> = Promise.resolve();
	#queue: Promise<unknown> = Promise.resolve();
	#crashes = 0;

	constructor(options: EngineConnectionOptions) {
		this.#options = options;
	}

	/** Returns the parsed JSON. Every failure is a `CodeIndexError`. */
	async call(call: ToolCall): Promise<AnswerPart> {
		const { signal } = call;
		if (signal?.aborted) throw faults.aborted();
		const turn = this.#queue.then(() => this.#perform(call));
		this.#queue = turn.catch(() => {});
		return await waitFor(turn, { signal });
	}

	/** Resolves when the process has exited. Calls in flight fail. */
	async close(): Promise<void> {
		this.#closing.abort();
		await this.#stop();
		await this.#queue;
	}

	async #perform(call: ToolCall): Promise<AnswerPart> {
		for (let retry = call.retry; ; retry = false) {
			if (call.signal?.aborted) throw faults.aborted();
			const client = await this.#running();
			if (call.signal?.aborted) throw faults.aborted();
			try {
				const result = await this.#ask(client, call);
				return new AnswerPart(call.tool, toolAnswer(call.tool, result));
			} catch (error) {
				if (!(error instanceof Crash)) throw error;
				if (!retry) throw faults.crashed(call.tool, error.message, this.#lastWords());
			}
		}
	}

	async #ask(client: Client, { tool, args, timeoutMs, signal }: ToolCall): Promise<unknown> {
		const asked = this.#run;
		const params = { name: tool, arguments: { ...args } };
		try {
			// Our own timeout applies, since the SDK's would leave KotaDB busy.
			const answer = client.callTool(params, undefined, { timeout: MAX_TIMER_MS });
			const timedOut = () => faults.timedOut(tool, timeoutMs);
			const result = await waitFor(answer, { signal, timeoutMs, timedOut });
			this.#crashes = 0;
			return result;
		} catch (error) {
			if (error instanceof CodeIndexError) {
				// Otherwise KotaDB would keep working and block the next call.
				void this.#stop();
				throw error;
			}
			if (asked?.exit) throw this.#endFault(tool, asked.exit);
			throw faults.refused(tool, describeError(error));
		}
	}

	async #running(): Promise<Client> {
		for (;;) {
			if (this.#client) return this.#client;
			const crashes = this.#crashes;
			if (crashes >= MAX_CRASHES) throw faults.gaveUp(crashes, this.#lastWords());
			if (crashes > 0) {
				const { signal } = this.#closing;
				await delay(BACKOFF_MS * 2 ** (crashes - 1), undefined, { signal }).catch(() => {
					// The connection was closed meanwhile. `#start` reports that.
				});
			}
			await this.#lastStop;
			try {
				return await this.#start();
			} catch (error) {
				if (!(error instanceof Crash)) throw error;
			}
		}
	}

	async #start(): Promise<Client> {
		const { database, connectTimeoutMs } = this.#options;
		// The SDK is large, so it is loaded on first use.
		const sdk = await import("@modelcontextprotocol/sdk/client/index.js");
		await mkdir(dirname(database), { recursive: true, mode: 0o700 }).catch(() => {
			// Ignored: KotaDB itself reports that it cannot open its database.
		});
		if (this.#closing.signal.aborted) throw faults.closed();
		const run = new EngineProcess(this.#options, (exit) => this.#ended(run, exit));
		const client = new sdk.Client({ name: "pi-strata", version: packageVersion() });
		this.#run = run;
		try {
			await waitFor(client.connect(run, { timeout: MAX_TIMER_MS }), {
				timeoutMs: connectTimeoutMs,
				timedOut: () => faults.silent(connectTimeoutMs, this.#lastWords()),
			});
		} catch (error) {
			if (this.#run === run) this.#run = undefined;
			this.#lastStop = run.stop();
			throw this.#startFault(error, run.exit);
		}
		this.#client = client;
		return client;
	}

	#startFault(error: unknown, exit: ProcessExit | undefined): Error {
		if (error instanceof CodeIndexError) return error;
		const { command, cwd } = this.#options;
		if (exit?.reason === "not-started") return faults.notStarted(command, cwd, error);
		return exit ? this.#endFault("starting", exit) : faults.notUnderstood(error);
	}

	#endFault(tool: string, { reason, detail }: ProcessExit): Error {
		if (reason === "too-big") return faults.tooBig(tool, MAX_MESSAGE_BYTES);
		return reason === "crashed" ? new Crash(detail) : faults.closed();
	}

	#ended(run: EngineProcess, { reason, detail }: ProcessExit): void {
		if (reason === "crashed") {
			this.#crashes++;
			this.#options.log.note(`[KotaDB exited: ${detail}]`);
		}
		if (this.#run !== run) return;
		this.#run = undefined;
		this.#client = undefined;
	}

	#stop(): Promise<void> {
		if (this.#run) this.#lastStop = this.#run.stop();
		this.#run = undefined;
		this.#client = undefined;
		return this.#lastStop;
	}

	#lastWords(): string {
		const words = this.#options.log.lines().filter((line) => !line.startsWith("["));
		return words.length > 0 ? `; it said: ${printable(words.slice(-3).join(" / "), 400)}` : "";
	}
}

class Crash extends Error {}

/** Rejects on abort or timeout, and then ignores the promise. The timer keeps our process alive. */
async function waitFor<Result>(
	promise: Promise<Result>,
	limits: { signal?: AbortSignal | undefined; timeoutMs?: number; timedOut?: () => Error },
): Promise<Result> {
	const { signal, timeoutMs, timedOut } = limits;
	promise.catch(() => {
		// Avoids an unhandled rejection after the wait.
	});
	const end = Promise.withResolvers<never>();
	const onAbort = () => end.reject(faults.aborted());
	signal?.addEventListener("abort", onAbort, { once: true });
	const timer =
		timeoutMs !== undefined && timedOut
			? setTimeout(() => end.reject(timedOut()), Math.min(timeoutMs, MAX_TIMER_MS))
			: undefined;
	try {
		return await Promise.race([promise, end.promise]);
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", onAbort);
	}
}
