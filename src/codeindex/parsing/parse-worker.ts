/** Worker entry: parses the files it is told to, and answers with all of a batch at once. */
import { parentPort, workerData } from "node:worker_threads";
import { type FileOutcome, parseFile } from "./parse-file.ts";

/** What a worker is started with. */
export interface ParseWorkerStart {
	readonly root: string;
}

/** A message to the worker: the files to parse. */
export type ParseRequest = readonly string[];
/** Once at the start that it can begin, then an answer for each message, in the same order. */
export type ParseReply = "ready" | readonly FileOutcome[];

const { root } = workerData as ParseWorkerStart;

parentPort?.on("message", (paths: ParseRequest) => {
	parentPort?.postMessage(paths.map((path) => parseFile(root, path)) satisfies ParseReply);
});
parentPort?.postMessage("ready" satisfies ParseReply);
