/** One benchmark as a process of its own, from its start to its end. */
import { spawn } from "node:child_process";
import { type BenchOptions, type Line, REFUSED } from "../support.ts";

/** The outcome of a benchmark. */
export type Outcome =
	| { readonly kind: "done"; readonly lines: readonly Line[] }
	/** It has printed why. */
	| { readonly kind: "refused" }
	| { readonly kind: "failed"; readonly why: string };

export interface RunOptions extends BenchOptions {
	/** Whether its tables and errors go to the terminal. Without, the last error is in the outcome. */
	readonly show: boolean;
	readonly signal: AbortSignal;
	/** Default: an hour; four minutes for a quick run, which takes seconds on a quiet machine. */
	readonly deadlineMs?: number;
}

/** A process that ignores SIGTERM for this long is killed. */
const GRACE_MS = 5_000;
const MAX_ERROR_CHARS = 20_000;

/**
 * Runs a script until its process ends by itself. A handle that it leaves open therefore shows, as a missed deadline;
 * figures that it reported before do not count.
 */
export async function runBench(script: string, run: RunOptions): Promise<Outcome> {
	const { quick, write, traces, show, signal } = run;
	const { deadlineMs = quick ? 240_000 : 3_600_000 } = run;
	const args = [
		...(quick ? ["--quick"] : []),
		...(write ? ["--write"] : []),
		...(traces === undefined ? [] : ["--traces", traces]),
	];
	const child = spawn(process.execPath, [script, ...args], {
		stdio: ["ignore", show ? "inherit" : "ignore", show ? "inherit" : "pipe", "ipc"],
		// NaN and infinity survive this serialization.
		serialization: "advanced",
	});
	let lines: readonly Line[] | undefined;
	let errors = "";
	let stopped: string | undefined;
	child.on("message", (message) => {
		lines = message as Line[];
	});
	child.stderr?.on("data", (chunk) => {
		errors = (errors + chunk).slice(-MAX_ERROR_CHARS);
	});
	let grace: NodeJS.Timeout | undefined;
	const stop = (why: string) => {
		stopped ??= why;
		child.kill("SIGTERM");
		grace ??= setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
	};
	const interrupt = () => stop("it was interrupted");
	signal.addEventListener("abort", interrupt);
	if (signal.aborted) interrupt();
	const late = setTimeout(() => stop(lateReason(deadlineMs, lines)), deadlineMs);
	const status = await new Promise<string | number | null>((resolve, reject) => {
		child.once("error", reject);
		child.once("close", (code, name) => resolve(code ?? name));
	}).finally(() => {
		clearTimeout(late);
		clearTimeout(grace);
		signal.removeEventListener("abort", interrupt);
	});
	if (stopped !== undefined) return { kind: "failed", why: stopped };
	if (status === REFUSED) return { kind: "refused" };
	if (status !== 0) return { kind: "failed", why: errorIn(errors) ?? `it ended with ${status}` };
	if (!lines || lines.length === 0) return { kind: "failed", why: "it reported no figures" };
	const unknown = lines.find(({ value }) => !Number.isFinite(value));
	if (unknown && !quick) return { kind: "failed", why: `"${unknown.case}" is ${unknown.value}` };
	return { kind: "done", lines };
}

function lateReason(deadlineMs: number, lines: readonly Line[] | undefined): string {
	const seconds = deadlineMs / 1000;
	return lines
		? `it had its figures but was still running after ${seconds} s: something is left open`
		: `it was still running after ${seconds} s`;
}

/** The message of the error that ended a process, from Node's output. */
function errorIn(text: string): string | undefined {
	return /^(?:\w*Error\b.*?: .+)$/m.exec(text)?.[0];
}
