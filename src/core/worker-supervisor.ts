import type { Transferable } from "node:worker_threads";
import { describeError } from "./errno.ts";
import type { FromWorker } from "./worker-entry.ts";
import type { WorkerPort } from "./worker-port.ts";

/**
 * `start`: no worker became ready in time. `crash`: the worker died. `memory`: at its heap limit.
 * `busy`: too many pending jobs. `unsendable`: not cloneable. `failed`: the handler threw.
 */
export type WorkerFault =
	| ("start" | "crash" | "memory" | "deadline" | "failed")
	| ("aborted" | "closed" | "busy" | "unsendable");

export class WorkerError extends Error {
	readonly fault: WorkerFault;
	/** Jobs the worker had answered before. */
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
	/** Most workers; another starts when a job would have to wait. Default: 1. */
	size?: number;
	/** Jobs in flight per worker, handled in order. Default: 1. */
	ahead?: number;
	/** Bound of queued and in-flight jobs. Default: 1,000. */
	maxPending?: number;
	/** Counts from when a ready worker starts the job. Default: no limit. */
	deadlineMs?: number;
	/** An idle worker ends after this time. Default: never. */
	idleMs?: number;
	/** `close` gives a worker this time to end by itself. Default: none. */
	closeMs?: number;
	/** Aborting a job in flight kills its worker, or only signals the handler. Default: "kill". */
	onAbort?: "kill" | "signal";
	/** Ends a worker whose handler threw anything but its abort reason. Default: false. */
	endOnFailure?: boolean;
}

export interface JobOptions<Note> {
	signal?: AbortSignal | undefined;
	/** Overrides the supervisor's. */
	deadlineMs?: number;
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
	slot: Slot | undefined;
	isSettled: boolean;
	/** Idempotent. */
	settle(error: WorkerError | undefined, answer?: unknown): void;
}

interface Slot {
	readonly port: WorkerPort;
	/** In flight, in send order. The worker is busy with the first. */
	readonly tasks: Task[];
	readonly exited: PromiseWithResolvers<void>;
	/** Limits the start, the first task or the idle time. */
	timer?: NodeJS.Timeout;
	isReady: boolean;
	isEnding: boolean;
	served: number;
}

const START_MS = 30_000;
/** Exponential back-off after failed starts in a row; half of it is jitter. */
const BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/**
 * Runs jobs in workers that call `serveJobs`, in call order. A worker starts on demand and is
 * replaced when it dies; its current job is rejected, and jobs queued behind it are sent to
 * another. Workers keep our process alive only while a job is pending or while they end.
 */
export class WorkerSupervisor<Job, Answer, Note = never> {
	started = 0;
	readonly #options: SupervisorOptions;
	readonly #queue: Task[] = [];
	/** A worker that is ending keeps its slot until it has exited. */
	readonly #slots = new Set<Slot>();
	#ids = 0;
	#pending = 0;
	#failedStarts = 0;
	#backoff: NodeJS.Timeout | undefined;
	#closing: Promise<unknown> | undefined;

	constructor(options: SupervisorOptions) {
		this.#options = options;
	}

	get workers(): number[] {
		return [...this.#slots].flatMap(({ isEnding, port }) => (isEnding ? [] : [port.id]));
	}

	/** Rejects with a {@link WorkerError}. */
	async run(job: Job, options: JobOptions<Note> = {}): Promise<Answer> {
		const { signal, deadlineMs = this.#options.deadlineMs } = options;
		if (this.#closing) throw new WorkerError("closed", "it was closed");
		if (signal?.aborted) throw new WorkerError("aborted", signal.reason);
		if (this.#pending >= (this.#options.maxPending ?? 1_000)) {
			throw new WorkerError("busy", `${this.#pending} jobs are pending`);
		}
		const { promise, resolve, reject } = Promise.withResolvers<Answer>();
		const onAbort = () => this.#abort(task, new WorkerError("aborted", signal?.reason));
		const task: Task = {
			...{ id: ++this.#ids, job, options, deadlineMs, slot: undefined, isSettled: false },
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

	tell(value: unknown): void {
		for (const { isEnding, port } of this.#slots) if (!isEnding) port.post({ kind: "tell", value });
	}

	async close(): Promise<void> {
		this.#closing ??= Promise.all([...this.#slots].map(({ exited }) => exited.promise));
		clearTimeout(this.#backoff);
		const error = new WorkerError("closed", "it was closed");
		for (const slot of this.#slots) {
			for (const task of slot.tasks) task.settle(error);
			if (!slot.isEnding) this.#end(slot, error, this.#options.closeMs);
		}
		for (const task of this.#queue.splice(0)) task.settle(error);
		await this.#closing;
	}

	/** A job may wait for any worker, even one that is busy with an aborted job. */
	#keepAlive(isNeeded: boolean): void {
		for (const { isEnding, port } of this.#slots) if (!isEnding) port.keepAlive(isNeeded);
		if (isNeeded) this.#backoff?.ref();
		else this.#backoff?.unref();
	}

	#assign(): void {
		for (let task = this.#queue[0]; task && !this.#closing; task = this.#queue[0]) {
			const slot = this.#slotFor(task);
			if (!slot) return;
			this.#queue.shift();
			this.#send(slot, task);
		}
	}

	#slotFor({ options: { prefer } }: Task): Slot | undefined {
		const { size = 1, ahead = 1 } = this.#options;
		let best: Slot | undefined;
		for (const slot of this.#slots) {
			const load = slot.tasks.length;
			if (slot.isEnding || load >= ahead) continue;
			if (load === 0 && prefer?.(slot.port.id)) return slot;
			if (!best || load < best.tasks.length) best = slot;
		}
		const canStart = this.#slots.size < size && !this.#backoff;
		return canStart && best?.tasks.length !== 0 ? (this.#start() ?? best) : best;
	}

	#start(): Slot | undefined {
		let port: WorkerPort;
		try {
			port = this.#options.start();
		} catch (error) {
			this.#startFailed(new WorkerError("start", error));
			return undefined;
		}
		this.started++;
		const exited = Promise.withResolvers<void>();
		const slot: Slot = { port, tasks: [], exited, isReady: false, isEnding: false, served: 0 };
		this.#slots.add(slot);
		port.keepAlive(true);
		this.#limit(slot, "start", START_MS);
		port.listen(
			(message) => this.#onMessage(slot, message),
			(error) => this.#onExit(slot, error),
		);
		return slot;
	}

	/** Rejects jobs that no other worker can take: the last would wait for as many starts. */
	#startFailed(error: WorkerError): void {
		const isAlone = [...this.#slots].every(({ isEnding }) => isEnding);
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

	#send(slot: Slot, task: Task): void {
		try {
			slot.port.post({ kind: "job", id: task.id, value: task.job });
		} catch (error) {
			task.settle(new WorkerError("unsendable", error));
			return;
		}
		task.slot = slot;
		slot.tasks.push(task);
		if (slot.tasks.length === 1) this.#watch(slot);
	}

	#watch(slot: Slot): void {
		if (!slot.isReady) return;
		const [task] = slot.tasks;
		this.#limit(slot, "deadline", task ? task.deadlineMs : this.#options.idleMs);
	}

	#limit(slot: Slot, fault: "start" | "deadline", ms: number | undefined): void {
		clearTimeout(slot.timer);
		if (ms === undefined) return;
		const end = () => this.#end(slot, new WorkerError(fault, `over ${ms} ms`, slot.served));
		slot.timer = setTimeout(end, ms).unref();
	}

	#onMessage(slot: Slot, message: FromWorker): void {
		if (slot.isEnding) return;
		if (message.kind === "ready") {
			slot.isReady = true;
			this.#failedStarts = 0;
			this.#watch(slot);
			return;
		}
		const at = slot.tasks.findIndex(({ id }) => id === message.id);
		const task = slot.tasks[at];
		if (!task) return;
		if (message.kind === "note") {
			if (!task.isSettled) task.options.onNote?.(message.value as never, this.#running(slot, task));
			return;
		}
		if (message.kind === "answer") {
			slot.served++;
			task.settle(undefined, message.value);
		} else {
			task.settle(new WorkerError("failed", message.message, slot.served, message.code));
			if (this.#options.endOnFailure && !message.isAbort) this.#end(slot);
		}
		if (slot.isEnding) return;
		slot.tasks.splice(at, 1);
		if (at === 0) this.#watch(slot);
		this.#assign();
	}

	#running(slot: Slot, task: Task): RunningJob {
		return {
			send: (value, transfer) => slot.port.post({ kind: "message", id: task.id, value }, transfer),
			extend: (deadlineMs) => {
				task.deadlineMs = deadlineMs;
				if (slot.tasks[0] === task) this.#watch(slot);
			},
		};
	}

	#abort(task: Task, error: WorkerError): void {
		task.settle(error);
		const { slot } = task;
		if (!slot) {
			this.#queue.splice(this.#queue.indexOf(task), 1);
		} else if (this.#options.onAbort === "signal") {
			slot.port.post({ kind: "abort", id: task.id });
		} else if (slot.tasks[0] === task) this.#end(slot);
	}

	/** The worker may end by itself within `graceMs`. `error` is for its current job. */
	#end(slot: Slot, error?: WorkerError, graceMs = 0): void {
		this.#release(slot, error);
		slot.port.keepAlive(true);
		if (graceMs === 0) slot.port.end();
		else {
			slot.port.post({ kind: "close" });
			slot.timer = setTimeout(() => slot.port.end(), graceMs);
		}
	}

	#release(slot: Slot, error?: WorkerError): void {
		slot.isEnding = true;
		clearTimeout(slot.timer);
		const [busyWith, ...behind] = slot.tasks.splice(0);
		for (const task of behind) task.slot = undefined;
		this.#queue.unshift(...behind.filter(({ isSettled }) => !isSettled));
		if (error) busyWith?.settle(error);
		if (error?.fault === "start") this.#startFailed(error);
	}

	#onExit(slot: Slot, cause: unknown): void {
		clearTimeout(slot.timer);
		this.#slots.delete(slot);
		if (!slot.isEnding) {
			const isMemory = (cause as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY";
			const fault = slot.isReady ? "crash" : "start";
			this.#release(slot, new WorkerError(isMemory ? "memory" : fault, cause, slot.served));
		}
		slot.exited.resolve();
		this.#assign();
	}
}
