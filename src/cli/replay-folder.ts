import { forEachFile } from "../core/file-workers.ts";
import { workerEntry } from "../core/worker-entry.ts";
import type { ReplayedSessions } from "../economy/replay/index.ts";
import type { ReplayJob, ReplayNote } from "./replay-file.ts";

interface ReplayFilesOptions {
	onProgress(text: string): void;
	onReplayed(replayed: ReplayedSessions): void;
	onFailure(path: string, error: unknown): void;
}

/**
 * Replays files, several at a time if there is much to read. The outcomes come in the order of the
 * files, and a request counts in the first file that has it: as if one file was replayed after the other.
 */
export async function replayFiles(
	jobs: readonly ReplayJob[],
	{ onProgress, onReplayed, onFailure }: ReplayFilesOptions,
): Promise<void> {
	const seen = new Set<string>();
	const questions = new InOrder();
	const outcomes = new InOrder();
	let done = 0;
	const entry = workerEntry("./replay-worker", import.meta.url);
	const handler = async () => (await import("./replay-file.ts")).replayFile;
	type Seen = ReadonlySet<string>;
	await forEachFile<ReplayJob, ReplayedSessions, ReplayNote, Seen>(
		jobs,
		{ entry, handler },
		async (job, run, at) => {
			const onNote = (note: ReplayNote, running: { send(message: Seen): void }) => {
				if (note.kind === "progress") {
					onProgress(jobs.length > 1 ? `${done} of ${jobs.length} done; ${note.text}` : note.text);
					return;
				}
				questions.add(at, () => {
					running.send(new Set([...note.ids].filter((id) => seen.has(id))));
					for (const id of note.ids) seen.add(id);
				});
			};
			const replayed = await run(onNote).catch((error: unknown) => {
				questions.add(at, () => {}); // later files wait for this one
				outcomes.add(at, () => onFailure(job.path, error));
			});
			if (replayed) outcomes.add(at, () => onReplayed(replayed));
			done++;
		},
	);
}

/** Runs actions in the order of their places, however they come. */
class InOrder {
	#next = 0;
	readonly #waiting = new Map<number, () => void>();

	/** Replaces an action that waits; without effect if the place had its turn. */
	add(place: number, action: () => void): void {
		if (place < this.#next) return;
		this.#waiting.set(place, action);
		for (let due = this.#waiting.get(this.#next); due; due = this.#waiting.get(this.#next)) {
			this.#waiting.delete(this.#next++);
			due();
		}
	}
}
