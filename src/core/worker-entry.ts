import { parentPort, type Transferable } from "node:worker_threads";
import { describeError, errnoOf } from "./errno.ts";

/** The worker's file: TypeScript in a clone, JavaScript in the package, where Node refuses to strip types. */
export function workerEntry(name: string, moduleUrl: string): URL {
	return new URL(`${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl);
}

export type ToWorker =
	| { kind: "job"; id: number; value: unknown }
	| { kind: "message"; id: number; value: unknown }
	| { kind: "abort"; id: number }
	| { kind: "broadcast"; value: unknown }
	| { kind: "close" };

export type FromWorker =
	| { kind: "ready" }
	| { kind: "note"; id: number; value: unknown }
	| { kind: "answer"; id: number; value: unknown }
	/** `isAbort`: the handler threw the abort reason of its signal. */
	| { kind: "failure"; id: number; message: string; code: string | undefined; isAbort: boolean };

export interface JobContext<Note, Message> {
	/** Aborts when the supervisor closes and, if `onAbort` is "signal", when the caller aborts. */
	readonly signal: AbortSignal;
	notify(note: Note, transfer?: readonly Transferable[]): void;
	/** Resolves to the caller's next message. Rejects when the job is aborted. */
	receive(): Promise<Message>;
}

export type JobHandler<Job, Answer, Note = never, Message = never> = (
	job: Job,
	context: JobContext<Note, Message>,
) => Answer | Promise<Answer>;

/** Runs a job in this thread, as a worker would. */
export async function runHere<Job, Answer, Note, Message>(
	handle: JobHandler<Job, Answer, Note, Message>,
	job: Job,
	onNote?: (note: Note, job: { send(message: unknown): void }) => void,
): Promise<Answer> {
	const inbox = new JobInbox<Message>();
	const running = { send: (message: unknown) => inbox.add(message as Message) };
	return handle(job, {
		signal: inbox.controller.signal,
		notify: (note) => onNote?.(note, running),
		receive: () => inbox.next(),
	});
}

/** Handles a worker's jobs in order. A thrown error rejects the job; its string `code` is passed on. */
export function serveJobs<Job, Answer, Note = never, Message = never>(
	handle: JobHandler<Job, Answer, Note, Message>,
	{ onBroadcast, onClose }: { onBroadcast?(value: never): void; onClose?(): void } = {},
): void {
	const jobs = new Map<number, JobInbox<Message>>();
	let last: Promise<void> = Promise.resolve();
	const reply = (message: FromWorker, transfer?: readonly Transferable[]) => {
		if (parentPort) parentPort.postMessage(message, transfer);
		else process.send?.(message);
	};

	const run = async (id: number, value: Job, inbox: JobInbox<Message>) => {
		const notify = (note: Note, transfer?: readonly Transferable[]) =>
			reply({ kind: "note", id, value: note }, transfer);
		const { signal } = inbox.controller;
		try {
			signal.throwIfAborted();
			const answer = await handle(value, { signal, notify, receive: () => inbox.next() });
			reply({ kind: "answer", id, value: answer });
		} catch (error) {
			const isAbort = signal.aborted && error === signal.reason;
			reply({ kind: "failure", id, message: describeError(error), code: errnoOf(error), isAbort });
		} finally {
			jobs.delete(id);
		}
	};

	const onMessage = (message: ToWorker) => {
		switch (message.kind) {
			case "job": {
				const inbox = new JobInbox<Message>();
				jobs.set(message.id, inbox);
				last = last.then(() => run(message.id, message.value as Job, inbox));
				return;
			}
			case "message":
				return jobs.get(message.id)?.add(message.value as Message);
			case "abort":
				return jobs.get(message.id)?.abort();
			case "broadcast":
				return onBroadcast?.(message.value as never);
			case "close":
				for (const inbox of jobs.values()) inbox.abort();
				void last.then(() => {
					onClose?.();
					if (parentPort) parentPort.close();
					else process.exit();
				});
		}
	};

	if (parentPort) {
		dropOutput(process.stdout);
		dropOutput(process.stderr);
		parentPort.on("message", onMessage);
	} else process.on("message", onMessage).on("disconnect", () => process.exit());
	reply({ kind: "ready" });
}

/** Discards output. Unread output would fill memory, and reading it would keep the parent process alive. */
function dropOutput(stream: NodeJS.WriteStream): void {
	stream.write = (...given: unknown[]) => {
		const done = given.at(-1);
		if (typeof done === "function") process.nextTick(done);
		return true;
	};
}

class JobInbox<Message> {
	readonly controller = new AbortController();
	readonly #messages: Message[] = [];
	#waiting: PromiseWithResolvers<Message> | undefined;

	add(message: Message): void {
		if (this.#waiting) this.#waiting.resolve(message);
		else this.#messages.push(message);
		this.#waiting = undefined;
	}

	abort(): void {
		this.controller.abort();
		this.#waiting?.reject(this.controller.signal.reason);
		this.#waiting = undefined;
	}

	async next(): Promise<Message> {
		this.controller.signal.throwIfAborted();
		if (this.#messages.length > 0) return this.#messages.shift() as Message;
		this.#waiting = Promise.withResolvers<Message>();
		return await this.#waiting.promise;
	}
}
