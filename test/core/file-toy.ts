/** What the tests of file workers do with a file, in a worker and in this thread. */
import { threadId } from "node:worker_threads";
import type { FileJob } from "../../src/core/file-workers.ts";
import type { JobContext } from "../../src/core/worker-entry.ts";

export interface FileToyJob extends FileJob {
	readonly do: "thread" | "ask" | "throw" | "crash" | "eat-memory";
}

export async function handleToy(
	job: FileToyJob,
	{ notify, receive }: JobContext<string, string>,
): Promise<string> {
	switch (job.do) {
		case "thread":
			return String(threadId);
		case "ask":
			notify(`who reads ${job.path}?`);
			return `${job.path} is read by ${await receive()}`;
		case "throw":
			throw new Error(`${job.path} is not a session`);
		case "crash":
			return process.exit(7);
		case "eat-memory": {
			const eaten: number[][] = [];
			for (;;) eaten.push(new Array(100_000).fill(1));
		}
	}
}
