import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { WorkerSupervisor } from "../../core/worker-supervisor.ts";
import type { WriterReply, WriterRequest } from "./messages.ts";

/** A request it died over may or may not have been carried out. */
export type WriterThread = WorkerSupervisor<WriterRequest, WriterReply>;

export function createWriterThread(start = startJournalWorker): WriterThread {
	return new WorkerSupervisor({ start, endOnFailure: true });
}

export function startJournalWorker() {
	return thread(workerEntry("./journal-worker", import.meta.url));
}
