import type { MISS_CAUSES } from "./miss-causes.ts";

/** What a user can do about a cause of cache misses. Absent where there is nothing to do. */
export const MISS_ADVICE: Readonly<Partial<Record<keyof typeof MISS_CAUSES, string>>> = {
	compaction: "A larger window or smaller results postpone it: page long files, fold output.",
	pruning: "Nothing to do: each later request is cheaper by what was removed.",
	edit: "Nothing to do: each later request is cheaper by what was removed.",
	model: "Change the model at the start of a task, not in the middle of it.",
	thinking: "Change the thinking level at the start of a task, not in the middle of it.",
	setting: "Change settings between tasks.",
	expired: "Answer sooner, or turn on cache warming or the one-hour cache, if pauses are common.",
	tools: "Choose the tools before the first message; each change rewrites the whole prompt.",
	system:
		"Look for an extension that writes something new, such as the time, into the system prompt.",
	branch: "Nothing to do: another branch has other text.",
	messages: "Look for an extension that changes earlier messages.",
	dropped: "Nothing to do: the provider drops thinking whose context has changed.",
	cleared:
		"Nothing to do: the provider cleared old results, which later requests no longer pay for.",
};

export function missAdvice(cause: string): string | undefined {
	return new Map<string, string>(Object.entries(MISS_ADVICE)).get(cause);
}
