import { thread } from "../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../core/worker-supervisor.ts";
import { CommandError } from "./engine/call.ts";
import { asCommandError } from "./safe-text.ts";

interface SessionFilesWorkerOptions {
	readonly entry: URL;
	readonly agentDir: string;
	/** Names the folders of agents. Default: the process's own. */
	readonly env?: NodeJS.ProcessEnv | undefined;
	readonly idleMs: number;
	readonly maxHeapMb: number;
}

/** A thread that reads the session files of this user's agents. It ends when it is idle. */
export class SessionFilesWorker<Job, Answer> {
	readonly #worker: WorkerSupervisor<Job, Answer>;

	constructor({ entry, agentDir, env, idleMs, maxHeapMb }: SessionFilesWorkerOptions) {
		this.#worker = new WorkerSupervisor({
			start: () =>
				thread(entry, {
					env: { ...(env ?? process.env), PI_CODING_AGENT_DIR: agentDir },
					resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
				}),
			idleMs,
			// Other jobs may wait for the same thread.
			onAbort: "signal",
		});
	}

	/** Rejects with a `CommandError`. */
	async run(job: Job, signal: AbortSignal): Promise<Answer> {
		try {
			return await this.#worker.run(job, { signal });
		} catch (error) {
			const { fault } = error as WorkerError;
			throw fault === "failed"
				? asCommandError(error)
				: new CommandError("failed", `the session files could not be read (${fault}); try again`);
		}
	}

	close(): Promise<void> {
		return this.#worker.close();
	}
}
