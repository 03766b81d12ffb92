import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { WorkerSupervisor } from "../../core/worker-supervisor.ts";
import type { WriterReply, WriterRequest } from "./messages.ts";

/** The thread that writes the journal. A request it died over may have been carried out or not. */
export type WriterThread = WorkerSupervisor<WriterRequest, WriterReply>;

/** Tests give a `start` of their own, to get at the worker. */
export function createWriterThread(start = startJournalWorker): WriterThread {
	return new WorkerSupervisor({ start, endOnFailure: true });
}

export function startJournalWorker() {
	return thread(workerEntry("./journal-worker", import.meta.url));
}
