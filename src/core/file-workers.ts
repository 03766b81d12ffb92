import { availableParallelism } from "node:os";
import { describeError } from "./errno.ts";
import { type JobHandler, runHere } from "./worker-entry.ts";
import { thread } from "./worker-port.ts";
import { type RunningJob, WorkerError, WorkerSupervisor } from "./worker-supervisor.ts";

/** A job about one file. Sent to a worker, so it is plain data. */
export interface FileJob {
	readonly path: string;
	/** In bytes. */
	readonly size: number;
}

/** How a file is handled: in a worker, or in this thread if there is little to read. */
export interface FileWork<Job extends FileJob, Answer, Note = never, Message = never> {
	/** The worker's file, which serves the jobs with the same handler. */
	readonly entry: URL;
	handler(): Promise<JobHandler<Job, Answer, Note, Message>>;
}

/** Rejects with an error that names the file. */
type RunJob<Answer, Note> = (
	onNote?: (note: Note, job: Pick<RunningJob, "send">) => void,
) => Promise<Answer>;

const MAX_WORKERS = 4;
/** With less to read, starting another worker takes longer than it saves. */
const BYTES_PER_WORKER = 16 * 1024 * 1024;
/** Of each worker, for the largest session that importers accept. */
const MAX_HEAP_MB = 768;
/** Parsed lines die young. With Node's default, each worker takes 40 MB more and is no faster. */
const YOUNG_HEAP_MB = 24;

/**
 * Calls `use` for each job in order, for as many at a time as there are workers. A file on which a
 * worker dies harms no other. `at` is the job's place in the list.
 */
export async function forEachFile<Job extends FileJob, Answer, Note = never, Message = never>(
	jobs: readonly Job[],
	work: FileWork<Job, Answer, Note, Message>,
	use: (job: Job, run: RunJob<Answer, Note>, at: number) => Promise<void>,
): Promise<void> {
	const bytes = jobs.reduce((sum, { size }) => sum + size, 0);
	const useful = Math.min(jobs.length, Math.ceil(bytes / BYTES_PER_WORKER));
	const workers = Math.min(MAX_WORKERS, availableParallelism(), useful);
	const supervisor = workers > 1 ? supervisorOf<Job, Answer, Note>(work.entry, workers) : undefined;
	const run = async (job: Job, onNote?: Parameters<RunJob<Answer, Note>>[0]) => {
		if (!supervisor) return runHere(await work.handler(), job, onNote);
		return supervisor.run(job, { ...(onNote && { onNote }) }).catch((error: unknown) => {
			throw namingFile(job, error);
		});
	};
	const queue = jobs.entries();
	const lane = async () => {
		for (const [at, job] of queue) await use(job, (onNote) => run(job, onNote), at);
	};
	try {
		await Promise.all(Array.from({ length: Math.max(1, workers) }, lane));
	} finally {
		for (const _ of queue); // if one call threw, the other lanes begin no further job
		await supervisor?.close();
	}
}

function supervisorOf<Job, Answer, Note>(entry: URL, size: number) {
	const resourceLimits = {
		maxOldGenerationSizeMb: MAX_HEAP_MB,
		maxYoungGenerationSizeMb: YOUNG_HEAP_MB,
	};
	const start = () => thread(entry, { resourceLimits });
	return new WorkerSupervisor<Job, Answer, Note>({ start, size });
}

/** What a handler throws names its file already. */
function namingFile({ path }: FileJob, error: unknown): unknown {
	if (!(error instanceof WorkerError) || error.fault === "failed") return error;
	const reason =
		error.fault === "memory"
			? `reading ${path} takes too much memory`
			: `the worker that read ${path} ended: ${describeError(error)}`;
	return new Error(reason, { cause: error });
}
