import { PagingError } from "../errors.ts";
import { type Call, Lane, type LaneLimits, type Source } from "./lane.ts";
import type { PageRange, ReadReply, WorkerState } from "./worker-messages.ts";

/** Threads that read PDFs. They start when there is work, and end when there has been none for a while. */
export interface PdfWorkers {
	/** Opens or reads. Calls are taken in order, each by one worker; a dead worker is replaced. */
	run(source: Source, range: Omit<PageRange, "budgetMs">, signal?: AbortSignal): Promise<ReadReply>;
	/** Frees what the workers hold of a document. */
	forget(source: Source): void;
	/** How many workers were started so far, and what each living one last said. */
	state(): { started: number; workers: WorkerState[] };
	/** Ends all workers; unfinished calls fail as aborted. */
	close(): Promise<void>;
}

export interface PdfWorkersOptions extends LaneLimits {
	/** Most workers at a time. Another one starts only when a call would have to wait. */
	size: number;
}

/** Creates the workers' keeper; it starts none yet. */
export function createPdfWorkers(options: PdfWorkersOptions): PdfWorkers {
	const lanes: Lane[] = [];
	const waiting: Call[] = [];
	/** Calls over which a worker has died. */
	const secondTries = new WeakSet<Call>();
	let calls = 0;
	let started = 0;
	let isClosed = false;

	const assign = () => {
		while (waiting[0]) {
			const lane = freeLane(waiting[0].source);
			if (!lane) return;
			lane.take(waiting.shift() as Call);
		}
	};
	const freeLane = (source: Source): Lane | undefined => {
		const free = lanes.filter((lane) => lane.isFree);
		const best = free.find((lane) => lane.holds(source)) ?? free[0];
		if (best || lanes.length >= options.size) return best;
		const lane = new Lane(options, { onFree: assign, onDeath });
		started++;
		lanes.push(lane);
		return lane;
	};
	const onDeath = (lane: Lane, call: Call | undefined, error: Error) => {
		lanes.splice(lanes.indexOf(lane), 1);
		if (call && !call.isSettled) {
			// The fault may lie with what the worker did before: a fresh one gets a chance.
			const isOwnFault = lane.served === 0 || secondTries.has(call) || isTimeout(error);
			if (isOwnFault || isClosed) call.reject(error);
			else waiting.unshift(call);
			secondTries.add(call);
		}
		assign();
	};

	return {
		run: (source, range, signal) =>
			new Promise((resolve, reject) => {
				if (isClosed) return reject(closedError());
				if (signal?.aborted) return reject(abortedError());
				const settle = () => {
					call.isSettled = true;
					signal?.removeEventListener("abort", abort);
				};
				const call: Call = {
					id: ++calls,
					source,
					// A quarter of the deadline: only a single page that hangs overruns, never a long list of pages.
					range: { ...range, budgetMs: options.deadlineMs / 4 },
					isSettled: false,
					resolve: (reply) => {
						settle();
						resolve(reply);
					},
					reject: (error) => {
						settle();
						reject(error);
					},
				};
				const abort = () => {
					call.reject(abortedError());
					const place = waiting.indexOf(call);
					if (place >= 0) waiting.splice(place, 1);
					for (const lane of lanes) lane.cancel(call);
				};
				signal?.addEventListener("abort", abort);
				waiting.push(call);
				assign();
			}),
		forget: ({ id }) => {
			for (const lane of lanes) lane.forget(id);
		},
		state: () => ({ started, workers: lanes.flatMap(({ state }) => (state ? [state] : [])) }),
		close: async () => {
			isClosed = true;
			for (const call of waiting.splice(0)) call.reject(closedError());
			await Promise.all([...lanes].map((lane) => lane.end(closedError())));
		},
	};
}

function isTimeout(error: Error): boolean {
	return error instanceof PagingError && error.code === "timeout";
}

function abortedError(): PagingError {
	return new PagingError("aborted", "reading the PDF was aborted");
}

function closedError(): PagingError {
	return new PagingError("aborted", "the PDF reader was closed");
}
