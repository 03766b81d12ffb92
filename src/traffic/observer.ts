import type { Transferable } from "node:worker_threads";
import { workerEntry } from "../core/worker-entry.ts";
import { thread } from "../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../core/worker-supervisor.ts";
import type { Exchange } from "../wire/exchange.ts";
import type { ObserverJob } from "./observer-worker.ts";
import type { Recorded, RecorderOptions } from "./recorder.ts";

interface ObserverOptions extends RecorderOptions {
	/** Further exchanges are dropped while more bytes wait. Default: 128 MiB. */
	readonly maxQueuedBytes?: number;
}

/**
 * Exchanges by what became of them. `other`: they ask no model. `unreadable`: their request is not
 * understood. `dropped`: too much was waiting, or the observer was closed. `failed`: not booked.
 */
interface ObserverCounts {
	readonly booked: number;
	readonly other: number;
	readonly unreadable: number;
	readonly dropped: number;
	readonly failed: number;
}

const MAX_QUEUED_BYTES = 128 * 1024 * 1024;
const MAX_QUEUED = 10_000;
const MAX_HEAP_MB = 1024;
/** Far more than the largest exchange takes. */
const DEADLINE_MS = 60_000;
/** How long `close` waits for the exchanges that are queued. */
const DRAIN_MS = 5_000;
/** How long the worker may then take to close the book. */
const CLOSE_MS = 1_000;

/** Books exchanges in a worker thread. A crash of the worker loses the exchange it was busy with. */
export class TrafficObserver {
	readonly #supervisor: WorkerSupervisor<ObserverJob, Recorded | undefined>;
	readonly #maxQueuedBytes: number;
	readonly #pending = new Set<Promise<void>>();
	readonly #conversations = new Set<number>();
	#queuedBytes = 0;
	#counts = { booked: 0, other: 0, unreadable: 0, dropped: 0, failed: 0 };
	#lastFailure: string | undefined;
	#isClosed = false;

	constructor({ maxQueuedBytes = MAX_QUEUED_BYTES, ...options }: ObserverOptions) {
		this.#maxQueuedBytes = maxQueuedBytes;
		const entry = workerEntry("./observer-worker", import.meta.url);
		this.#supervisor = new WorkerSupervisor({
			start: () =>
				thread(entry, {
					workerData: options,
					resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 16 },
				}),
			maxPending: MAX_QUEUED,
			deadlineMs: DEADLINE_MS,
			closeMs: CLOSE_MS,
		});
		// Starting a thread takes tens of milliseconds: now, not when the first exchange ends. A
		// failure is reported with that one.
		void this.#supervisor.run("open").catch(() => {});
	}

	get counts(): ObserverCounts {
		return { ...this.#counts };
	}

	/** Why the latest of the `failed` exchanges was not booked. */
	get lastFailure(): string | undefined {
		return this.#lastFailure;
	}

	/** The numbers of the conversations with an exchange of this observer. */
	get conversations(): ReadonlySet<number> {
		return this.#conversations;
	}

	/** Takes the bodies: their memory moves to the worker. Never throws, never waits. */
	add(exchange: Exchange): void {
		const bytes = bytesOf(exchange);
		if (this.#isClosed || this.#queuedBytes + bytes > this.#maxQueuedBytes) {
			this.#counts.dropped++;
			return;
		}
		this.#queuedBytes += bytes;
		const booking: Promise<void> = this.#book(exchange).finally(() => {
			this.#queuedBytes -= bytes;
			this.#pending.delete(booking);
		});
		this.#pending.add(booking);
	}

	/** Resolves when all exchanges so far are booked or have failed. */
	async drain(): Promise<void> {
		await Promise.all(this.#pending);
	}

	/** Books what is queued, as far as it takes no longer than some seconds. */
	async close(): Promise<void> {
		this.#isClosed = true;
		let timer: NodeJS.Timeout | undefined;
		const timeout = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, DRAIN_MS);
		});
		await Promise.race([this.drain(), timeout]);
		clearTimeout(timer);
		await this.#supervisor.close();
		await this.drain();
	}

	async #book(exchange: Exchange): Promise<void> {
		try {
			const { job, transfer } = movable(exchange);
			const recorded = await this.#supervisor.run(job, { transfer });
			if (!recorded) return;
			this.#counts[recorded.kind]++;
			if (recorded.kind === "booked") this.#conversations.add(recorded.conversation);
		} catch (error) {
			const { fault, message } = error as WorkerError;
			const isDropped = fault === "busy" || fault === "closed";
			this.#counts[isDropped ? "dropped" : "failed"]++;
			if (!isDropped) this.#lastFailure = message;
		}
	}
}

const BODIES = ["requestBody", "answerBody", "frames"] as const;

function bytesOf(exchange: Exchange): number {
	return BODIES.reduce((sum, name) => sum + (exchange[name]?.byteLength ?? 0), 0);
}

interface Movable {
	readonly job: Exchange;
	readonly transfer: readonly Transferable[];
}

/** A view of a part of its memory, such as a pooled buffer, is copied: the rest is not ours. */
function movable(exchange: Exchange): Movable {
	const job = { ...exchange };
	const transfer = new Set<ArrayBuffer>();
	for (const name of BODIES) {
		const body = exchange[name];
		if (!body) continue;
		const isWhole =
			body.byteLength === body.buffer.byteLength && !transfer.has(body.buffer as ArrayBuffer);
		// A slice of a Buffer would be a view of the same memory.
		const own = isWhole ? body : new Uint8Array(body);
		transfer.add(own.buffer as ArrayBuffer);
		job[name] = own;
	}
	return { job, transfer: [...transfer] };
}
