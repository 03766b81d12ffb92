import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Transferable, Worker, type WorkerOptions } from "node:worker_threads";
import type { FromWorker, ToWorker } from "./worker-entry.ts";

export interface WorkerPort {
	readonly id: number;
	post(message: ToWorker, transfer?: readonly Transferable[]): void;
	keepAlive(isNeeded: boolean): void;
	end(): void;
	/** `onExit` is called once. `onMessage` is never called after `onExit`. */
	listen(onMessage: (message: FromWorker) => void, onExit: (error: unknown) => void): void;
}

/** A worker thread. Its output never reaches the terminal or a protocol on stdout: `serveJobs` drops it. */
export function thread(
	entry: URL,
	options: Pick<WorkerOptions, "workerData" | "resourceLimits" | "env"> = {},
): WorkerPort {
	const worker = new Worker(entry, { ...options, execArgv: [], stdout: true, stderr: true });
	worker.unref();
	return {
		id: worker.threadId,
		post: (message, transfer) => worker.postMessage(message, transfer),
		keepAlive: (isNeeded) => (isNeeded ? worker.ref() : worker.unref()),
		end: () => void worker.terminate(),
		listen(onMessage, onExit) {
			let failure: unknown;
			worker.on("message", onMessage);
			worker.on("error", (error) => {
				failure = error;
			});
			worker.on("exit", (status) => onExit(failure ?? `exit status ${status}`));
		},
	};
}

interface ChildOptions {
	readonly args: readonly string[];
	readonly maxHeapMb: number;
	/** Bound of V8's space for new objects. Default: V8's own. */
	readonly nurseryMb?: number;
	/** Where Node keeps compiled code. Default: nowhere. */
	readonly compileCache?: string | undefined;
}

/** A stateless process without our environment, for native code that untrusted data can crash or hang. */
export function childProcess(
	entry: URL,
	{ args, maxHeapMb, nurseryMb, compileCache }: ChildOptions,
): WorkerPort {
	const child = fork(fileURLToPath(entry), args, {
		serialization: "advanced",
		execArgv: [
			`--max-old-space-size=${maxHeapMb}`,
			...(nurseryMb === undefined ? [] : [`--max-semi-space-size=${nurseryMb}`]),
		],
		env: {
			...(process.platform === "win32" && { SystemRoot: process.env.SystemRoot }),
			...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
		},
		stdio: ["ignore", "ignore", "ignore", "ipc"],
	});
	const keepAlive = (isNeeded: boolean) => {
		for (const held of [child, child.channel]) isNeeded ? held?.ref() : held?.unref();
	};
	keepAlive(false);
	return {
		id: child.pid ?? -1,
		// Ignores errors: a dead process reports its exit, and a process that failed to start has no `send`.
		post: (message) => void child.send?.(message, () => {}),
		keepAlive,
		end: () => void child.kill("SIGKILL"),
		listen(onMessage, onExit) {
			child.on("message", onMessage);
			child.on("exit", (status, signal) => onExit(`exit status ${status ?? signal}`));
			child.on("error", (error) => {
				if (child.pid === undefined) onExit(error);
			});
		},
	};
}
