import type { Transferable } from "node:worker_threads";
import { describeError } from "./errno.ts";
import type { FromWorker } from "./worker-entry.ts";
import type { WorkerPort } from "./worker-port.ts";

/**
 * `start`: no worker became ready in time. `crash`: the worker died. `memory`: its heap was full.
 * `busy`: too many pending jobs. `unsendable`: a job is not cloneable. `failed`: the handler threw.
 */
type WorkerFault =
	| ("start" | "crash" | "memory" | "deadline" | "failed")
	| ("aborted" | "closed" | "busy" | "unsendable");

export class WorkerError extends Error {
	readonly fault: WorkerFault;
	/** Number of jobs that the worker had answered before the fault. */
	readonly served: number;
	readonly code: string | undefined;

	constructor(fault: WorkerFault, cause: unknown, served = 0, code?: string) {
		super(describeError(cause), { cause });
		this.fault = fault;
		this.served = served;
		this.code = code;
	}
}

export interface SupervisorOptions {
	start(): WorkerPort;
	/** Maximum number of workers. Another worker starts when a job would have to wait. Default: 1. */
	readonly size?: number;
	/** Maximum number of jobs in flight per worker; a worker handles them in order. Default: 1. */
	readonly maxInFlight?: number;
	/** Maximum number of queued and in-flight jobs together. Default: 1,000. */
	readonly maxPending?: number;
	/** Time limit of a job, from its start in a ready worker. Default: no limit. */
	readonly deadlineMs?: number;
	/** An idle worker ends after this time. Default: never. */
	readonly idleMs?: number;
	/** How long `close` waits for a worker to end by itself. Default: 0. */
	readonly closeMs?: number;
	/** Whether aborting a job in flight kills its worker or signals its handler. Default: "kill". */
	readonly onAbort?: "kill" | "signal";
	/** Whether a worker is ended if its handler threw anything but the abort reason. Default: false. */
	readonly endOnFailure?: boolean;
}

interface JobOptions<Note> {
	readonly signal?: AbortSignal | undefined;
	/** Overrides `deadlineMs` of the supervisor. */
	readonly deadlineMs?: number;
	/** Moved to the worker with the job. Not with `maxInFlight` above 1: a job cannot be sent again. */
	readonly transfer?: readonly Transferable[];
	prefer?(worker: number): boolean;
	onNote?(note: Note, job: RunningJob): void;
}

export interface RunningJob {
	send(message: unknown, transfer?: readonly Transferable[]): void;
	extend(deadlineMs: number): void;
}

interface Task {
	readonly id: number;
	readonly job: unknown;
	readonly options: JobOptions<never>;
	deadlineMs: number | undefined;
	worker: WorkerHandle | undefined;
	isSettled: boolean;
	/** Idempotent. */
	settle(error: WorkerError | undefined, answer?: unknown): void;
}

interface WorkerHandle {
	readonly port: WorkerPort;
	/** Jobs in flight, in the order sent. The worker is busy with the first. */
	readonly tasks: Task[];
	readonly exited: PromiseWithResolvers<void>;
	/** Limits the start, the first task or the idle time. */
	timer?: NodeJS.Timeout | undefined;
	isReady: boolean;
	isEnding: boolean;
	served: number;
}

const START_MS = 30_000;
/** Delay after the first failed start. It doubles with each failure in a row; half of it is jitter. */
const BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/**
 * Runs jobs in call order, in workers that call `serveJobs`. Workers start on demand. When a worker dies,
 * its current job is rejected, and jobs queued behind that job are sent to another worker. Workers keep
 * our process alive only while a job is pending or while they end.
 */
export class WorkerSupervisor<Job, Answer, Note = never> {
	started = 0;
	readonly #options: SupervisorOptions;
	readonly #queue: Task[] = [];
	/** Includes workers that are ending, until they have exited. */
	readonly #workers = new Set<WorkerHandle>();
	#ids = 0;
	#pending = 0;
	#failedStarts = 0;
	#backoff: NodeJS.Timeout | undefined;
	#closing: Promise<unknown> | undefined;

	constructor(options: SupervisorOptions) {
		this.#options = options;
	}

	get workers(): number[] {
		return [...this.#workers].flatMap(({ isEnding, port }) => (isEnding ? [] : [port.id]));
	}

	/** Rejects with a {@link WorkerError}. */
	async run(job: Job, options: JobOptions<Note> = {}): Promise<Answer> {
		const { signal, deadlineMs = this.#options.deadlineMs } = options;
		if (this.#closing) throw new WorkerError("closed", "the supervisor was closed");
		if (signal?.aborted) throw new WorkerError("aborted", signal.reason);
		if (this.#pending >= (this.#options.maxPending ?? 1_000)) {
			throw new WorkerError("busy", `${this.#pending} jobs are pending`);
		}
		const { promise, resolve, reject } = Promise.withResolvers<Answer>();
		const onAbort = () => this.#abort(task, new WorkerError("aborted", signal?.reason));
		const task: Task = {
			...{ id: ++this.#ids, job, options, deadlineMs, worker: undefined, isSettled: false },
			settle: (error, answer) => {
				if (task.isSettled) return;
				task.isSettled = true;
				if (--this.#pending === 0) this.#keepAlive(false);
				signal?.removeEventListener("abort", onAbort);
				if (error) reject(error);
				else resolve(answer as Answer);
			},
		};
		signal?.addEventListener("abort", onAbort);
		if (++this.#pending === 1) this.#keepAlive(true);
		this.#queue.push(task);
		this.#assign();
		return promise;
	}

	/** Reaches only the workers that are running now. */
	broadcast(value: unknown): void {
		for (const { isEnding, port } of this.#workers)
			if (!isEnding) port.post({ kind: "broadcast", value });
	}

	async close(): Promise<void> {
		this.#closing ??= Promise.all([...this.#workers].map(({ exited }) => exited.promise));
		clearTimeout(this.#backoff);
		const error = new WorkerError("closed", "the supervisor was closed");
		for (const worker of this.#workers) {
			for (const task of worker.tasks) task.settle(error);
			if (!worker.isEnding) this.#end(worker, error, this.#options.closeMs);
		}
		for (const task of this.#queue.splice(0)) task.settle(error);
		await this.#closing;
	}

	/** Applies to every worker, since a job may wait for any of them, even for one with an aborted job. */
	#keepAlive(isNeeded: boolean): void {
		for (const { isEnding, port } of this.#workers) if (!isEnding) port.keepAlive(isNeeded);
		if (isNeeded) this.#backoff?.ref();
		else this.#backoff?.unref();
	}

	#assign(): void {
		for (let task = this.#queue[0]; task && !this.#closing; task = this.#queue[0]) {
			const worker = this.#workerFor(task);
			if (!worker) return;
			this.#queue.shift();
			this.#send(worker, task);
		}
	}

	#workerFor({ options: { prefer } }: Task): WorkerHandle | undefined {
		const { size = 1, maxInFlight = 1 } = this.#options;
		let best: WorkerHandle | undefined;
		for (const worker of this.#workers) {
			const load = worker.tasks.length;
			if (worker.isEnding || load >= maxInFlight) continue;
			if (load === 0 && prefer?.(worker.port.id)) return worker;
			if (!best || load < best.tasks.length) best = worker;
		}
		const canStart = this.#workers.size < size && !this.#backoff;
		return canStart && best?.tasks.length !== 0 ? (this.#start() ?? best) : best;
	}

	#start(): WorkerHandle | undefined {
		let port: WorkerPort;
		try {
			port = this.#options.start();
		} catch (error) {
			this.#startFailed(new WorkerError("start", error));
			return undefined;
		}
		this.started++;
		const exited = Promise.withResolvers<void>();
		const state = { isReady: false, isEnding: false, served: 0 };
		const worker: WorkerHandle = { port, tasks: [], exited, ...state };
		this.#workers.add(worker);
		port.keepAlive(true);
		this.#limit(worker, "start", START_MS);
		port.listen(
			(message) => this.#onMessage(worker, message),
			(error) => this.#onExit(worker, error),
		);
		return worker;
	}

	/** Rejects all queued jobs if no worker can take them; otherwise each would wait for another start. */
	#startFailed(error: WorkerError): void {
		const isAlone = [...this.#workers].every(({ isEnding }) => isEnding);
		if (isAlone) for (const task of this.#queue.splice(0)) task.settle(error);
		const ms = Math.min(MAX_BACKOFF_MS, BACKOFF_MS * 2 ** this.#failedStarts++);
		const retry = () => {
			this.#backoff = undefined;
			this.#assign();
		};
		clearTimeout(this.#backoff);
		this.#backoff = setTimeout(retry, ms * (0.5 + Math.random() / 2));
		if (this.#pending === 0) this.#backoff.unref();
	}

	#send(worker: WorkerHandle, task: Task): void {
		try {
			worker.port.post({ kind: "job", id: task.id, value: task.job }, task.options.transfer);
		} catch (error) {
			task.settle(new WorkerError("unsendable", error));
			return;
		}
		task.worker = worker;
		worker.tasks.push(task);
		if (worker.tasks.length === 1) this.#watch(worker);
	}

	#watch(worker: WorkerHandle): void {
		if (!worker.isReady) return;
		const [task] = worker.tasks;
		this.#limit(worker, "deadline", task ? task.deadlineMs : this.#options.idleMs);
	}

	#limit(worker: WorkerHandle, fault: "start" | "deadline", ms: number | undefined): void {
		clearTimeout(worker.timer);
		worker.timer = undefined;
		if (ms === undefined) return;
		const end = () => {
			if (worker.isEnding || worker.timer !== timer) return;
			this.#end(worker, new WorkerError(fault, `over ${ms} ms`, worker.served));
		};
		// After a stall of this thread, an expired timer runs before the messages that arrived meanwhile. They come first.
		const timer = setTimeout(() => setImmediate(end), ms).unref();
		worker.timer = timer;
	}

	#onMessage(worker: WorkerHandle, message: FromWorker): void {
		if (worker.isEnding) return;
		if (message.kind === "ready") {
			worker.isReady = true;
			this.#failedStarts = 0;
			this.#watch(worker);
			return;
		}
		const at = worker.tasks.findIndex(({ id }) => id === message.id);
		const task = worker.tasks[at];
		if (!task) return;
		if (message.kind === "note") {
			if (!task.isSettled)
				task.options.onNote?.(message.value as never, this.#running(worker, task));
			return;
		}
		if (message.kind === "answer") {
			worker.served++;
			task.settle(undefined, message.value);
		} else {
			task.settle(new WorkerError("failed", message.message, worker.served, message.code));
			if (this.#options.endOnFailure && !message.isAbort) this.#end(worker);
		}
		if (worker.isEnding) return;
		worker.tasks.splice(at, 1);
		if (at === 0) this.#watch(worker);
		this.#assign();
	}

	#running(worker: WorkerHandle, task: Task): RunningJob {
		return {
			send: (value, transfer) =>
				worker.port.post({ kind: "message", id: task.id, value }, transfer),
			extend: (deadlineMs) => {
				task.deadlineMs = deadlineMs;
				if (worker.tasks[0] === task) this.#watch(worker);
			},
		};
	}

	#abort(task: Task, error: WorkerError): void {
		task.settle(error);
		const { worker } = task;
		if (!worker) {
			this.#queue.splice(this.#queue.indexOf(task), 1);
		} else if (this.#options.onAbort === "signal") {
			worker.port.post({ kind: "abort", id: task.id });
		} else if (worker.tasks[0] === task) this.#end(worker);
	}

	/** Gives the worker `graceMs` to end by itself. Rejects its current job with `error`, if set. */
	#end(worker: WorkerHandle, error?: WorkerError, graceMs = 0): void {
		this.#release(worker, error);
		worker.port.keepAlive(true);
		if (graceMs === 0) worker.port.end();
		else {
			worker.port.post({ kind: "close" });
			worker.timer = setTimeout(() => worker.port.end(), graceMs);
		}
	}

	#release(worker: WorkerHandle, error?: WorkerError): void {
		worker.isEnding = true;
		clearTimeout(worker.timer);
		const [busyWith, ...behind] = worker.tasks.splice(0);
		for (const task of behind) task.worker = undefined;
		this.#queue.unshift(...behind.filter(({ isSettled }) => !isSettled));
		if (error) busyWith?.settle(error);
		if (error?.fault === "start") this.#startFailed(error);
	}

	#onExit(worker: WorkerHandle, cause: unknown): void {
		clearTimeout(worker.timer);
		this.#workers.delete(worker);
		if (!worker.isEnding) {
			const isMemory = (cause as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY";
			const fault = worker.isReady ? "crash" : "start";
			this.#release(worker, new WorkerError(isMemory ? "memory" : fault, cause, worker.served));
		}
		worker.exited.resolve();
		this.#assign();
	}
}
