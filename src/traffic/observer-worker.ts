import { workerData } from "node:worker_threads";
import { serveJobs } from "../core/worker-entry.ts";
import type { Exchange } from "../wire/exchange.ts";
import { type Recorded, Recorder, type RecorderOptions } from "./recorder.ts";

let opening: Promise<Recorder> | undefined;

/** Without an exchange, the worker only opens the book. */
export type ObserverJob = Exchange | "open";

serveJobs<ObserverJob, Recorded | undefined>(
	async (job) => {
		opening ??= Recorder.open(workerData as RecorderOptions);
		try {
			const recorder = await opening;
			return job === "open" ? undefined : await recorder.add(job);
		} catch (error) {
			// A book that could not be opened is tried again with the next exchange.
			await opening.catch(() => {
				opening = undefined;
			});
			throw error;
		}
	},
	{
		onClose() {
			const close = (recorder: Recorder) => recorder.close();
			opening?.then(close, () => {}); // one that did not open has reported it
		},
	},
);
